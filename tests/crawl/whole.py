"""A whole crawl of the test site, and what must hold after every one of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mercator import Crawl, CrawlConfig, Status
from mercator.records import FailureRecord, PageRecord
from testsite.fixture import Site

DELAY_S = 0.05
END_S = 60.0
"""Longest that a crawl of the suite may take; one that hangs fails instead of stopping the suite."""


def config(site: Site, **fields: Any) -> CrawlConfig:
    """Settings for a crawl of the site, with gaps that a suite can afford."""
    return CrawlConfig(
        **{
            "resolve": (site.resolve,),
            "allow_net": ("127.0.0.0/8",),
            "delay_s": DELAY_S,
            "delay_factor": 0.0,
            "threads": 8,
            "patience_s": 0.5,
            "retry_base_s": 0.05,
            "retry_cap_s": 0.2,
            "timeout_s": 10.0,
            "map_bytes": 1 << 28,
            **fields,
        }
    )


def run(site: Site, store: Path, seeds: Iterable[str] = (), **fields: Any) -> Crawl:
    """A crawl from its start to its end, judged by `judge`; stopped, and ready to be read."""
    settings = config(site, **fields)
    crawl = Crawl(store, seeds=seeds, config=settings)
    with crawl:
        assert crawl.wait(timeout_s=END_S), f"the crawl has not ended: {crawl.status()}"
    judge(crawl, site, settings.delay_s)
    return crawl


def judge(crawl: Crawl, site: Site | None = None, delay_s: float = DELAY_S) -> None:
    """What holds after every crawl: the summary adds up and is what the tables say, the site's log
    shows nothing impolite, and the store is whole."""
    status = crawl.status()
    adds_up(status)
    rows = list(crawl.failures())
    assert Counter(row.reason for row in rows) == {k: n for k, n in status.reasons.items() if n}
    assert len(list(crawl.pages())) == status.stored
    if site is not None:
        assert site.audit(delay_s=delay_s) == []
    report = crawl.check()
    assert report.ok, [str(finding) for finding in report.findings]


def adds_up(status: Status) -> None:
    """The identity of the summary."""
    ended_with_reason = status.gone + status.failed + status.robots_refused + status.refused
    ended = status.stored + status.redirects + ended_with_reason
    assert status.seen == ended + status.pending + status.in_flight, status
    assert sum(status.reasons.values()) == ended_with_reason, status


def pages(crawl: Crawl) -> dict[str, PageRecord]:
    """The stored pages by `key_url`."""
    return {page.key_url: page for page in crawl.pages()}


def failures(crawl: Crawl) -> dict[str, FailureRecord]:
    """The URLs with a reason, by `url`."""
    return {row.url: row for row in crawl.failures()}


def reasons(crawl: Crawl) -> dict[str, str]:
    """`url` -> reason."""
    return {row.url: row.reason for row in crawl.failures()}


def served(site: Site) -> list[str]:
    """URLs of pages (not robots.txt) that the site answered with 200, in order."""
    return [
        f"http://{entry['host']}{entry['path']}"
        for entry in site.entries()
        if entry["status"] == 200 and entry["path"] != "/robots.txt"
    ]


def until(true: Any, timeout_s: float = END_S) -> None:
    """Waits for a state of a running crawl, looking every few milliseconds."""
    end_s = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < end_s, "what the test waits for did not come"
        time.sleep(0.005)
