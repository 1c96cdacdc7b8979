"""Equal hosts get equal turns, more hosts than back queues get their turn, and a known URL changes
nothing: whole crawls on a manual clock."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from mercator.config import CrawlConfig
from mercator.engine.inbox import Add
from mercator.engine.intake import SEED
from mercator.testing import Answer
from mercator.values import FailureKind, FetchRequest
from tests.harness import Harness

HTML = {"Content-Type": "text/html"}
PAGES = 12


def equal_hosts(request: FetchRequest) -> Answer | FailureKind:
    if request.url.endswith("robots.txt"):
        return (404, {}, b"")
    links = "".join(f"<a href=/{n}>x</a>" for n in range(PAGES))
    return (200, HTML, f"{links}<p>{request.url}".encode())


def crawl(hosts: int, **fields: object) -> Harness:
    h = Harness(equal_hosts, CrawlConfig(**fields))  # type: ignore[arg-type]
    h.seed(*(f"http://h{n}.test/" for n in range(hosts)))
    return h


@settings(max_examples=25, deadline=None)
@given(hosts=st.integers(2, 8), threads=st.integers(1, 4), delay_s=st.sampled_from([0.0, 1.0]))
def test_equal_hosts_never_differ_by_more_than_one_page(
    hosts: int, threads: int, delay_s: float
) -> None:
    h = crawl(hosts, threads=threads, delay_s=delay_s, delay_factor=0.0)
    # All of it is known from the start: a host without a URL cannot have its turn.
    h.seed(*(f"http://h{host}.test/{n}" for host in range(hosts) for n in range(PAGES)))
    assert h.run() == "finished"
    served: Counter[str] = Counter()
    asked = [url for url in h.fetcher.urls() if not url.endswith("robots.txt")]
    for url in asked:
        served[url.split("/")[2]] += 1
        if len(served) == hosts and min(served.values()) < PAGES + 1:
            assert max(served.values()) - min(served.values()) <= 1
    assert set(served.values()) == {PAGES + 1}
    total = sum(served.values())
    jain = total * total / (len(served) * sum(n * n for n in served.values()))
    assert jain >= 0.99


def test_back_queues_grow_while_workers_starve_and_shrink_again() -> None:
    h = crawl(40, threads=1, delay_s=100.0, max_active_hosts=40)
    most = 0
    for _ in range(20_000):
        if not h.step():
            break
        most = max(most, len(h.shard.frontier.schedule))
    assert h.reason == "finished"
    # Three a thread would leave 37 hosts waiting behind three gaps of 100 s.
    assert most == 40
    assert h.clock.monotonic_s() - 1000 < 100 * (PAGES + 4)


def test_more_hosts_than_may_be_active_are_all_crawled() -> None:
    h = crawl(9, threads=1, max_active_hosts=2)
    assert h.run() == "finished"
    assert h.status().stored == 9 * (PAGES + 1)


@settings(max_examples=20, deadline=None)
@given(again=st.lists(st.integers(0, PAGES - 1), max_size=20))
def test_offering_a_known_url_again_changes_nothing(again: list[int]) -> None:
    h = crawl(1, threads=1, delay_s=0.0, delay_factor=0.0)
    assert h.run() == "finished"
    before = h.status()
    with h.tables.read() as txn:
        rows = list(txn.urls.scan())
    parse = h.shard.intake.canonicalizer.parse
    urls = [parse(f"http://h0.test/{n}") for n in again]
    found = [h.shard.intake.offer_one(url, "seed", SEED) for url in urls if url is not None]
    h.shard.inbox.put(Add(found, lambda: None))
    assert h.run() == "finished"
    after = h.status()
    with h.tables.read() as txn:
        assert list(txn.urls.scan()) == rows
        assert txn.front.count() == txn.back.count() == txn.delayed.count() == 0
    assert after.known_again == before.known_again + len(again)
    assert (after.seen, after.stored, after.pending) == (before.seen, before.stored, 0)
    assert len(h.fetcher.requests) == PAGES + 2
