"""The same seed and the same script: the same requests and the same rows, byte for byte.

A crawl on fakes has one source of chance, the seed of its jitter. Whatever else moved it (the order of
a set, the address of an object, the system's clock) would make a failure that cannot be shown again.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercator.config import CrawlConfig
from mercator.store.memory_tables import MemoryTables
from mercator.testing import Answer, Script
from mercator.values import FailureKind, FetchRequest
from tests.harness import Harness
from tests.property.test_counters_add_up import URLS, script_of, webs

ROOT = Path(__file__).parent.parent.parent
HTML = {"Content-Type": "text/html"}
BUSY_HOSTS, BUSY_PAGES = 7, 40


class Crawled(NamedTuple):
    """All that a crawl leaves: requests with their times, rows and bodies as bytes."""

    reason: str
    requests: list[tuple[float, str]]
    rows: dict[str, list[tuple[bytes, bytes]]]
    bodies: list[tuple[str, bytes]]


def crawled(script: Script, config: CrawlConfig, *seeds: str, took_s: float = 0.05) -> Crawled:
    tables = MemoryTables()
    h = Harness(script, config, tables=tables, took_s=took_s)
    h.seed(*seeds)
    reason = h.run()
    rows = {name: list(table.items()) for name, table in tables._tables.items()}
    return Crawled(
        reason, h.fetcher.requests, rows, [(r.url, r.content) for r in h.documents.records]
    )


@pytest.fixture(autouse=True)
def no_tracebacks_of_poison() -> Iterator[None]:
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    web=webs,
    seeds=st.lists(st.sampled_from(URLS), min_size=1, max_size=3, unique=True),
    random_seed=st.integers(1, 99),
    threads=st.sampled_from([1, 3]),
)
def test_two_crawls_are_one(
    web: dict[str, list[object]], seeds: list[str], random_seed: int, threads: int
) -> None:
    config = CrawlConfig(
        scope="any", patience_s=3600.0, threads=threads, retries=1, random_seed=random_seed
    )
    first, second = (crawled(script_of(web), config, *seeds) for _ in range(2))
    assert first == second


def test_another_seed_gives_other_times() -> None:
    """The law above would hold of a crawl without any chance, too."""

    def script(request: FetchRequest) -> Answer | FailureKind:
        return (404, {}, b"") if request.url.endswith("robots.txt") else (500, HTML, b"")

    one, other = (
        crawled(script, CrawlConfig(threads=1, random_seed=seed), "http://a.test/")
        for seed in (1, 2)
    )
    assert [url for _, url in one.requests] == [url for _, url in other.requests]
    assert one.requests != other.requests
    assert one.rows != other.rows


# -- over processes ---------------------------------------------------------------------------------


def busy_digest() -> str:
    """Of a crawl in which many hosts want the same thing at the same moment."""
    urls = [
        f"http://h{host}.test/{page}"
        for host, page in itertools.product(range(BUSY_HOSTS), range(BUSY_PAGES))
    ]
    page = "".join(f"<a href={url}>x</a>" for url in urls).encode()

    def script(request: FetchRequest) -> Answer | FailureKind:
        if request.url.endswith("robots.txt"):
            return (404, {}, b"")
        return (200, HTML, page)

    config = CrawlConfig(scope="any", delay_s=0.0, threads=32, random_seed=5)
    left = crawled(script, config, urls[0], took_s=0.0)
    assert left.reason == "finished"
    assert len(left.requests) == len(urls) + BUSY_HOSTS
    return hashlib.sha256(repr(left).encode()).hexdigest()


def test_two_processes_crawl_alike_whatever_their_hashes() -> None:
    code = "from tests.property.test_repeatable import busy_digest; print(busy_digest())"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    digests = {process.communicate(timeout=60)[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert len(digests) == 1
    assert len(digests.pop()) == 64
