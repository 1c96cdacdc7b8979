"""A store that is taken up again: what the last run left, and what it can not have left."""

from __future__ import annotations

import pytest

from mercator.config import CrawlConfig
from mercator.store.memory_tables import MemoryTables
from mercator.testing import Answer, ManualClock, MemoryDocuments
from mercator.values import FailureKind, FetchRequest, Kind
from tests.harness import Harness

HTML = {"Content-Type": "text/html"}


def script(request: FetchRequest) -> Answer | FailureKind:
    if request.url.endswith("robots.txt"):
        return (200, {}, b"User-agent: *\nCrawl-delay: 5\n" if "slow" in request.url else b"")
    links = "".join(f"<a href=/{n}>x</a>" for n in range(6))
    return (200, HTML, f"{links}<p>{request.url}".encode())


class Run:
    """Several runs over one store and one clock."""

    def __init__(self, **settings: object) -> None:
        self.clock = ManualClock()
        self.tables = MemoryTables()
        self.documents = MemoryDocuments()
        self.settings = settings

    def open(self, **settings: object) -> Harness:
        config = CrawlConfig(**{"threads": 2, **self.settings, **settings})  # type: ignore[arg-type]
        return Harness(
            script, config, clock=self.clock, tables=self.tables, documents=self.documents
        )


@pytest.mark.parametrize("steps", range(1, 12))
def test_a_host_waits_a_full_gap_whenever_the_last_run_died(steps: int) -> None:
    run = Run(delay_s=2.0)
    first = run.open()
    first.seed("http://a.test/")
    for _ in range(steps):
        first.step()
    died_at = run.clock.unix_s()
    second = run.open()
    assert second.run() == "finished"
    if first.fetcher.requests:
        # Even when the first request of all was not committed, so that its host has no gap yet.
        assert second.fetcher.requests[0][0] >= died_at + 2.0


def test_a_crawl_delay_outlives_the_run() -> None:
    run = Run(delay_s=0.1, max_pages=1)
    first = run.open()
    first.seed("http://slow.test/")
    assert first.run() == "max_pages"
    ended_at = run.clock.unix_s()
    second = run.open(max_pages=2)
    assert second.run() == "max_pages"
    assert second.fetcher.requests[0][0] >= ended_at + 5.0


def test_a_crash_is_marked_in_the_ledger_and_an_orderly_end_is_not() -> None:
    run = Run()
    first = run.open(max_pages=1)
    first.seed("http://a.test/")
    first.run()
    first.shard.writer.close({})
    run.open()
    second = run.open()
    with second.tables.read() as txn:
        marks = [row for _, row in txn.visits.scan() if row.kind is Kind.UNCLEAN_STOP]
    assert len(marks) == 1


def test_a_finished_crawl_that_is_continued_makes_no_request() -> None:
    run = Run()
    first = run.open()
    first.seed("http://a.test/")
    assert first.run() == "finished"
    second = run.open()
    assert second.run() == "finished"
    assert not second.fetcher.requests


def test_fewer_front_levels_than_before_lose_nothing() -> None:
    run = Run(max_pages=1, front_levels=8)
    first = run.open()
    first.seed("http://a.test/")
    first.run()
    second = run.open(max_pages=None, front_levels=1)
    assert second.run() == "finished"
    assert second.status().stored == 7


def test_an_unknown_url_costs_a_page_only_once_over_all_runs() -> None:
    run = Run(max_pages=3)
    first = run.open()
    first.seed("http://a.test/")
    assert first.run() == "max_pages"
    second = run.open(max_pages=5)
    assert second.run() == "max_pages"
    assert second.status().stored == 5
    asked = [*first.fetcher.urls(), *second.fetcher.urls()]
    assert len(asked) == len(set(asked))
