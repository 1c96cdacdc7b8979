"""What once could hold a crawl up for ever, or make it forget a request: one case a test."""

from __future__ import annotations

import itertools

import pytest

from mercator.config import CrawlConfig
from mercator.store.memory_tables import MemoryTables
from mercator.testing import Answer, ManualClock, MemoryDocuments
from mercator.values import FailureKind, FetchRequest, Kind
from tests.harness import Harness

HTML = {"Content-Type": "text/html"}


def page(*links: str) -> Answer:
    return (200, HTML, "".join(f"<a href={link}>x</a>" for link in links).encode())


@pytest.mark.parametrize("hosts", [2, 3, 4])
def test_hosts_whose_robots_redirect_to_each_other_do_not_wait_for_ever(hosts: int) -> None:
    names = [f"h{n}.test" for n in range(hosts)]
    following = dict(zip(names, [*names[1:], names[0]], strict=True))

    def script(request: FetchRequest) -> Answer | FailureKind:
        host = request.url.split("/")[2]
        if request.url.endswith("robots.txt"):
            return (301, {"Location": f"http://{following[host]}/robots.txt"}, b"")
        return page()

    h = Harness(script, CrawlConfig(threads=hosts))
    h.seed(*(f"http://{name}/" for name in names))
    # All hosts are handed out before the first commit.
    assert h.run() == "finished"
    assert h.status().stored == hosts
    starts: dict[str, list[float]] = {}
    for at, url in h.fetcher.requests:
        starts.setdefault(url.split("/")[2], []).append(at)
    for times in starts.values():
        assert all(b - a >= 1.05 - 1e-6 for a, b in itertools.pairwise(times))


def test_a_crawl_delay_holds_after_an_errand_too() -> None:
    def script(request: FetchRequest) -> Answer | FailureKind:
        if request.url == "http://a.test/robots.txt":
            return (301, {"Location": "http://b.test/robots.txt"}, b"")
        if request.url == "http://b.test/robots.txt":
            return (200, {}, b"User-agent: *\nCrawl-delay: 10\n")
        return page(*(f"/{n}" for n in range(3)))

    h = Harness(script, CrawlConfig(threads=2))
    h.seed("http://b.test/")
    for _ in range(12):
        h.step()
    h.seed("http://a.test/")
    assert h.run() == "finished"
    starts = [at for at, url in h.fetcher.requests if "//b.test/" in url]
    assert all(b - a >= 10.0 for a, b in itertools.pairwise(starts))


def test_a_request_whose_visit_raises_is_in_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("mercator.engine.visit.parse_page", raises)
    h = Harness(lambda request: page(), CrawlConfig(threads=1))
    h.seed("http://a.test/")
    assert h.run() == "finished"
    with h.tables.read() as txn:
        rows = [row for _, row in txn.visits.scan() if row.kind is Kind.PAGE]
        (url,) = (row for _, row in txn.urls.scan())
    assert len(rows) == sum(u == "http://a.test/" for u in h.fetcher.urls()) == 2
    assert (h.status().fetched, url.attempts, url.reason) == (2, 2, "poison")


def test_paused_hosts_do_not_keep_live_ones_waiting() -> None:
    def script(request: FetchRequest) -> Answer | FailureKind:
        if "dead" in request.url:
            return (503, {}, b"")
        return (404, {}, b"") if request.url.endswith("robots.txt") else page()

    config = CrawlConfig(threads=1, max_active_hosts=1, patience_s=60.0)
    h = Harness(script, config)
    h.seed(*(f"http://dead{n}.test/" for n in range(3)), "http://good.test/")
    assert h.run() == "patience"
    assert h.status().stored == 1
    # More of them than may have a back queue at all: the crawl ends by its patience all the same.
    h = Harness(script, config)
    h.seed(*(f"http://dead{n}.test/" for n in range(12)))
    assert h.run() == "patience"


def test_a_block_counts_as_a_pause_after_a_restart_too() -> None:
    def script(request: FetchRequest) -> Answer | FailureKind:
        if request.url.endswith("robots.txt"):
            return (404, {}, b"")
        return (429, {"Retry-After": "80000"}, b"")

    clock, tables, documents = ManualClock(), MemoryTables(), MemoryDocuments()
    config = CrawlConfig(threads=1, patience_s=60.0)
    for _ in range(2):
        began_s = clock.monotonic_s()
        h = Harness(script, config, clock=clock, tables=tables, documents=documents)
        h.seed("http://a.test/")
        assert h.run() == "patience"
        assert clock.monotonic_s() - began_s < 120


@pytest.mark.parametrize("dies_at", range(5, 30))
def test_a_host_that_dies_at_any_moment_ends_soon(dies_at: int) -> None:
    asked = itertools.count()

    def script(request: FetchRequest) -> Answer | FailureKind:
        if next(asked) >= dies_at:
            return FailureKind.CONNECTION_REFUSED
        if request.url.endswith("robots.txt"):
            return (404, {}, b"")
        return page(*(f"/{n}" for n in range(40)))

    h = Harness(script, CrawlConfig(threads=2, delay_s=0.1))
    h.seed("http://a.test/")
    began_s = h.clock.monotonic_s()
    assert h.run() == "finished"
    assert h.status().failed > 0
    assert h.clock.monotonic_s() - began_s < 60


def test_a_later_seed_opens_what_its_scope_had_refused() -> None:
    def script(request: FetchRequest) -> Answer | FailureKind:
        if request.url.endswith("robots.txt"):
            return (404, {}, b"")
        return page("http://b.test/x") if "//a." in request.url else page()

    h = Harness(script, CrawlConfig(threads=1))
    h.seed("http://a.test/")
    assert h.run() == "finished"
    assert h.status().reasons == {"out_of_scope": 1}
    h.seed("http://b.test/")
    assert h.run() == "finished"
    assert h.status().reasons == {}
    assert h.status().stored == 3


def test_two_long_urls_with_the_same_beginning_are_two() -> None:
    long = "http://a.test/" + "x" * 9000

    def script(request: FetchRequest) -> Answer | FailureKind:
        if request.url.endswith("robots.txt"):
            return (404, {}, b"")
        return page(long + "1", long + "2")

    h = Harness(script, CrawlConfig(threads=1))
    h.seed("http://a.test/")
    h.run()
    assert h.status().reasons == {"url_too_long": 2}


def test_a_list_of_seeds_is_admitted_in_short_transactions() -> None:
    h = Harness(lambda request: page(), CrawlConfig(threads=1))
    for n in range(3):
        h.seed(f"http://h{n}.test/")
    assert len(h.shard.inbox.collect()) == 1
    assert len(h.shard.inbox) == 2
