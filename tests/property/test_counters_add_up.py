"""The summary's identity after every step of whole crawls over random webs, crashes included.

The webs have redirects, loops, errors, busy hosts, unknown robots files, poison and copies. After each
step the counters must add up and agree with the rows; at the end nothing is lost, and the requests,
as the servers saw them, were polite.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercator.config import CrawlConfig
from mercator.frontier.lifecycle import COUNTER_OF
from mercator.records import Status
from mercator.store.memory_tables import MemoryTables
from mercator.testing import Answer, ManualClock, MemoryDocuments, Script
from mercator.values import FailureKind, FetchRequest
from tests.harness import Harness

HTML = {"Content-Type": "text/html"}
HOSTS = ("a.test", "b.test", "c.test")
PATHS = ("/", "/1", "/private/x")
URLS = tuple(f"http://{host}{path}" for host in HOSTS for path in PATHS)
DELAY_S = 1.0
TOOK_S = 0.05

links = st.lists(st.sampled_from(URLS), max_size=5, unique=True)
pages = links.map(
    lambda urls: (200, HTML, "".join(f"<a href='{url}'>x</a>" for url in urls).encode())
)
redirects = st.sampled_from([*URLS, "/1", "mailto:x@a.test", "http://", "http://u@a.test/"]).map(
    lambda url: (302, {"Location": url}, b"")
)
errors = st.sampled_from(
    [
        (404, HTML, b""),
        (500, HTML, b""),
        (503, {"Retry-After": "5"}, b""),
        (429, {}, b""),
        (403, HTML, b""),
        (200, {"Content-Type": "image/png"}, b"x"),
        FailureKind.CONNECTION_REFUSED,
        FailureKind.READ_TIMEOUT,
        FailureKind.INCOMPLETE_BODY,
        FailureKind.DNS_NXDOMAIN,
        "poison",
    ]
)
answers = st.lists(st.one_of(pages, pages, pages, redirects, errors), min_size=1, max_size=3)
robots = st.lists(
    st.sampled_from(
        [
            (200, {}, b"User-agent: *\nDisallow: /private/\n"),
            (404, {}, b""),
            (503, {}, b""),
            (302, {"Location": "http://c.test/robots.txt"}, b""),
            FailureKind.CONNECTION_RESET,
        ]
    ),
    min_size=1,
    max_size=2,
)
webs = st.fixed_dictionaries(
    {
        **dict.fromkeys(URLS, answers),
        **{f"http://{host}/robots.txt": robots for host in HOSTS},
    }
)
settings_of_a_crawl = st.fixed_dictionaries(
    {
        "max_pages": st.sampled_from([None, None, 1, 3]),
        "max_depth": st.sampled_from([None, 1]),
        "max_pages_per_host": st.sampled_from([None, 2]),
        "retries": st.sampled_from([0, 2]),
        "threads": st.sampled_from([1, 3]),
        "obey_nofollow": st.sampled_from(["page", "all"]),
    }
)


def script_of(web: dict[str, list[object]]) -> Script:
    asked: Counter[str] = Counter()

    def script(request: FetchRequest) -> Answer | FailureKind:
        turns = web.get(request.url, [(404, HTML, b"")])
        answer = turns[min(asked[request.url], len(turns) - 1)]
        asked[request.url] += 1
        if answer == "poison":
            raise ZeroDivisionError("poison")
        return answer  # type: ignore[return-value]

    return script


def assert_adds_up(status: Status) -> None:
    s = status
    ended = s.stored + s.redirects + s.gone + s.failed + s.robots_refused + s.refused
    assert s.seen == ended + s.pending + s.in_flight
    assert sum(s.reasons.values()) == s.gone + s.failed + s.robots_refused + s.refused
    assert min(s.pending, s.in_flight, *s.reasons.values(), 0) == 0


def assert_agrees_with_rows(harness: Harness) -> None:
    with harness.tables.read() as txn:
        states = Counter(COUNTER_OF[row.state] for _, row in txn.urls.scan())
        reasons = Counter(str(row.reason) for _, row in txn.urls.scan() if row.reason)
        dead = Counter(str(row.reason) for _, row in txn.dead.scan())
        pages = txn.pages.count()
        hosts = Counter()  # type: Counter[str]
        for _, row in txn.hosts.scan():
            hosts.update(pending=row.pending, stored=row.stored, failed=row.failed)
    status = harness.status()
    assert states["stored"] == status.stored == pages == hosts["stored"]
    assert states["pending"] == status.pending + status.in_flight == hosts["pending"]
    assert states["failed"] == status.failed == hosts["failed"]
    assert states.total() == status.seen
    assert dict(reasons) == dict(dead) == dict(status.reasons)


def assert_polite(requests: list[tuple[float, str]], took_s: float) -> None:
    starts: dict[str, list[float]] = defaultdict(list)
    for at, url in requests:
        starts[url.split("/")[2]].append(at)
    for times in starts.values():
        for before, after in itertools.pairwise(times):
            assert after - before >= DELAY_S + took_s - 1e-6


@pytest.fixture(autouse=True)
def no_tracebacks_of_poison() -> Iterator[None]:
    """Poison is meant here, and its log would bury what a failing example says."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    web=webs,
    chosen=settings_of_a_crawl,
    seeds=st.lists(st.sampled_from(URLS), min_size=1, max_size=3, unique=True),
    crashes=st.lists(st.integers(1, 60), max_size=3),
)
def test_it_always_adds_up(
    web: dict[str, list[object]],
    chosen: dict[str, object],
    seeds: list[str],
    crashes: list[int],
) -> None:
    config = CrawlConfig(delay_s=DELAY_S, scope="any", patience_s=3600.0, **chosen)  # type: ignore[arg-type]
    clock, tables, documents, script = (
        ManualClock(),
        MemoryTables(),
        MemoryDocuments(),
        script_of(web),
    )
    requests: list[tuple[float, str]] = []
    harness = Harness(
        script, config, clock=clock, tables=tables, documents=documents, took_s=TOOK_S
    )
    harness.seed(*seeds)
    for steps in [*crashes, 5000]:
        running = True
        for _ in range(steps):
            running = harness.step()
            assert_adds_up(harness.status())
            if not running:
                break
        assert_agrees_with_rows(harness)
        requests += harness.fetcher.requests
        if not running:
            break
        # The process dies here: memory is gone, the tables and the synced documents stay.
        with tables.read() as txn:
            documents.rollback(txn.meta.get("warc") or {"offset": 0})  # type: ignore[arg-type]
        harness = Harness(
            script, config, clock=clock, tables=tables, documents=documents, took_s=TOOK_S
        )
        harness.seed(*seeds)
    assert not running, "the crawl ends"
    assert harness.reason in ("finished", "max_pages", "patience")
    # A fetcher that raises ends its request at once.
    raises = any("poison" in turns for turns in web.values())
    assert_polite(requests, 0.0 if raises else TOOK_S)
    status = harness.status()
    assert status.in_flight == 0
    if harness.reason == "finished":
        assert status.pending == 0
    if config.max_pages is not None:
        assert status.stored <= config.max_pages
        assert harness.reason != "max_pages" or status.stored == config.max_pages
    asked = [url for _, url in requests]
    for host in HOSTS:
        files = web[f"http://{host}/robots.txt"]
        if all(isinstance(f, tuple) and f[0] == 200 for f in files):
            assert f"http://{host}/private/x" not in asked
