"""What a kill can cost is bounded by what is out: 2 x threads requests without their ledger row."""

from __future__ import annotations

from collections import Counter

import pytest

from mercator.config import CrawlConfig
from mercator.testing import Answer
from mercator.values import Errand, FetchRequest, Ticket
from tests.harness import Harness

THREADS = 2
HOSTS = 30

WAYS: dict[str, tuple[Answer, Answer]] = {
    "pages": ((404, {}, b""), (200, {"Content-Type": "text/html"}, b"<p>page")),
    "robots files": ((200, {}, b"User-agent: *"), (200, {}, b"")),
    "unknown robots files": ((503, {}, b""), (200, {}, b"")),
    "busy hosts": ((404, {}, b""), (503, {}, b"")),
    "robots files elsewhere": (
        (302, {"Location": "http://a0.test/robots.txt"}, b""),
        (404, {}, b""),
    ),
}
"""What every host answers: to the request for robots.txt, to all others."""


@pytest.mark.parametrize("way", WAYS)
def test_requests_that_wait_for_their_commit_are_bounded(way: str) -> None:
    """However long a commit takes, and whether the URL comes to its end or goes back to its queue."""
    robots, page = WAYS[way]
    crawl = Harness(
        lambda request: _answer(request, robots, page), CrawlConfig(threads=THREADS, delay_s=0.0)
    )
    crawl.seed(*(f"http://a{n}.test/{path}" for n in range(HOSTS) for path in range(3)))
    most = 0
    for _ in range(40):
        crawl.shard.writer.commit(crawl.shard.inbox.collect(), starving=True, run={})
        recorded = len(crawl.fetcher.requests)
        while isinstance(task := crawl.shard.dispatcher.try_take(), (Ticket, Errand)):
            crawl.shard.worker.do(task)
        most = max(most, len(crawl.fetcher.requests) - recorded)
        crawl.clock.advance_s(1.0)
    assert most == 2 * THREADS


def _answer(request: FetchRequest, robots: Answer, page: Answer) -> Answer:
    return robots if request.url.endswith("/robots.txt") else page


def test_every_request_is_recorded_when_the_bound_is_reached() -> None:
    """The bound holds workers up for a commit, never for good."""
    robots, page = WAYS["robots files elsewhere"]
    crawl = Harness(
        lambda request: _answer(request, robots, page), CrawlConfig(threads=THREADS, delay_s=0.1)
    )
    crawl.seed(*(f"http://a{n}.test/" for n in range(HOSTS)))
    assert crawl.run() == "finished"
    with crawl.tables.read() as txn:
        ledger = Counter(row.url for _, row in txn.visits.scan())
    assert ledger == Counter(crawl.fetcher.urls())
