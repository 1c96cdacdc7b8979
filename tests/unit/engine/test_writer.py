"""The writer's transaction: the order of a commit, and what a commit that fails leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from mercator.config import CrawlConfig
from mercator.engine.inbox import Add, Fault, Job
from mercator.engine.intake import SEED
from mercator.engine.outcome import Finished
from mercator.errors import StoreFullError
from mercator.ports import Txn
from mercator.records import Status
from mercator.store.memory_tables import MemoryTables
from mercator.testing import Answer, ManualClock, MemoryDocuments
from mercator.urls.url_key import host_id, url_key
from mercator.values import Errand, FailureKind, FetchRequest, State, Ticket
from tests.harness import Harness

POINTS = ["applied", "appended", "synced", "committed", "published"]
HTML = {"Content-Type": "text/html"}
SEED_URL = "http://a.test/"


def script(request: FetchRequest) -> Answer | FailureKind:
    if request.url.endswith("robots.txt"):
        return (404, {}, b"")
    return (200, HTML, f"<a href=/1>x</a><a href=/2>y</a>{request.url}".encode())


class FullTables:
    """Tables whose commits fail while `full`, as a disk without room does. Threads: the test's."""

    def __init__(self) -> None:
        self.inner = MemoryTables()
        self.full = False

    def read(self) -> AbstractContextManager[Txn]:
        return self.inner.read()

    @contextmanager
    def write(self) -> Iterator[Txn]:
        with self.inner.write() as txn:
            yield txn
            if self.full:
                raise StoreFullError("the disk is full")

    def close(self) -> None:
        self.inner.close()


class Store:
    """Runs over one store of which the disk may be full."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.tables = FullTables()
        self.documents = MemoryDocuments()

    def open(self, **settings: Any) -> Harness:
        return Harness(
            script,
            CrawlConfig(**{"threads": 2, **settings}),
            clock=self.clock,
            tables=self.tables,
            documents=self.documents,
        )

    def rows(self) -> dict[str, list[tuple[bytes, bytes]]]:
        """All tables, as bytes."""
        return {name: list(rows.items()) for name, rows in self.tables.inner._tables.items()}


def seeds(h: Harness, *urls: str, done: Callable[[], None] = lambda: None, owed: str = "") -> Add:
    parsed = [h.shard.intake.canonicalizer.parse(url) for url in urls]
    return Add([h.shard.intake.offer_one(url, "seed", SEED) for url in parsed if url], done, owed)


def commit(h: Harness, *jobs: Job) -> None:
    h.shard.writer.commit(jobs, starving=True, run={"elapsed_s": 1.5})


def page_in_hand(store: Store, **settings: Any) -> tuple[Harness, list[Job]]:
    """A shard of which a page was fetched, and the job that stores it."""
    h = store.open(**settings)
    h.seed(SEED_URL)
    while SEED_URL not in h.fetcher.urls():
        h.step()
    return h, list(h.shard.inbox.collect())


def state_of(h: Harness, url: str = SEED_URL) -> State | None:
    with h.tables.read() as txn:
        row = txn.urls.get(url_key(url, "a.test"))
    return row.state if row else None


def meta(h: Harness, name: str) -> object:
    with h.tables.read() as txn:
        return txn.meta.get(name)


# -- the order of a commit -------------------------------------------------------------------------


def test_the_points_of_a_commit_come_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    h, jobs = page_in_hand(Store())
    points: list[str] = []
    monkeypatch.setattr(h.shard.writer, "_at", points.append)
    commit(h, *jobs)
    assert points == POINTS


def test_what_is_durable_and_what_is_shown_at_each_point(monkeypatch: pytest.MonkeyPatch) -> None:
    h, jobs = page_in_hand(Store())
    already = len(h.documents.records)
    seen: dict[str, tuple[int, int, State | None, int, bool]] = {}
    key = url_key(SEED_URL, "a.test")

    def look(point: str) -> None:
        seen[point] = (
            len(h.documents.records) - already,
            h.documents._synced - already,
            state_of(h),
            h.shard.writer.published[0]["stored"],
            key in h.shard.frontier.schedule.leases,
        )

    monkeypatch.setattr(h.shard.writer, "_at", look)
    commit(h, *jobs)
    assert seen == {
        "applied": (1, 0, State.PENDING, 0, True),
        "appended": (1, 0, State.PENDING, 0, True),
        "synced": (1, 1, State.PENDING, 0, True),
        "committed": (1, 1, State.STORED, 0, True),
        "published": (1, 1, State.STORED, 1, False),
    }


def test_links_are_handed_out_only_after_the_commit_that_names_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    h, jobs = page_in_hand(Store())
    h.clock.advance_s(100.0)
    offered: list[object] = []
    monkeypatch.setattr(
        h.shard.writer, "_at", lambda point: offered.append(h.shard.dispatcher.try_take())
    )
    commit(h, *jobs)
    assert offered[:4] == [None] * 4
    assert isinstance(offered[4], Ticket)


def test_the_tables_name_the_position_up_to_which_documents_are_whole() -> None:
    h, jobs = page_in_hand(Store())
    assert meta(h, "warc") == {"file": "memory", "offset": 1, "sequence": 0}
    commit(h, *jobs)
    assert meta(h, "warc") == {"file": "memory", "offset": 2, "sequence": 0}


def test_a_new_store_names_a_position_before_its_first_commit() -> None:
    h = Store().open()
    assert meta(h, "warc") == {"file": "memory", "offset": 0, "sequence": 0}


def test_counters_and_run_are_in_the_transaction_of_what_they_count() -> None:
    h, jobs = page_in_hand(Store())
    commit(h, *jobs)
    counters = meta(h, "counters")
    assert isinstance(counters, dict)
    assert (counters["stored"], counters["pending"], counters["seen"]) == (1, 2, 3)
    assert meta(h, "reasons") == {}
    assert meta(h, "run") == {"elapsed_s": 1.5}
    assert h.shard.writer.published == (counters, {})


def test_the_numbers_of_the_queues_are_in_the_transaction() -> None:
    h = Store().open(max_active_hosts=1)
    commit(h, seeds(h, SEED_URL, "http://b.test/", "http://c.test/"))
    assert meta(h, "next") == h.shard.frontier.sequence
    assert meta(h, "front_counts") == h.shard.frontier.front_counts()
    with h.tables.read() as txn:
        assert sum(h.shard.frontier.front_counts()) == txn.front.count() == 2


def test_seeds_are_told_of_after_their_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    h = Store().open()
    points: list[str] = []
    told: list[tuple[str, State | None]] = []
    monkeypatch.setattr(h.shard.writer, "_at", points.append)
    commit(h, seeds(h, SEED_URL, done=lambda: told.append((points[-1], state_of(h)))))
    assert told == [("published", State.PENDING)]
    commit(h)
    assert len(told) == 1


def test_a_store_is_marked_as_closed_only_by_its_last_commit() -> None:
    h = Store().open()
    assert meta(h, "clean") is False
    commit(h, seeds(h, SEED_URL))
    assert meta(h, "clean") is False
    h.shard.writer.close({"stop_reason": "finished"})
    assert meta(h, "clean") is True
    assert meta(h, "run") == {"stop_reason": "finished"}


def test_records_are_given_back_after_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    h, jobs = page_in_hand(Store())
    closed: list[str] = []
    monkeypatch.setattr(Finished, "close", lambda self: closed.append(self.host))
    commit(h, *jobs)
    assert closed == ["a.test"]


def test_a_budget_is_counted_from_what_is_committed() -> None:
    h, jobs = page_in_hand(Store(), max_pages=5)
    assert h.shard.dispatcher.pages_left == 5
    commit(h, *jobs)
    assert h.shard.dispatcher.pages_left == 4


def test_without_a_budget_none_is_counted() -> None:
    h, jobs = page_in_hand(Store())
    commit(h, *jobs)
    assert h.shard.dispatcher.pages_left is None


def test_urls_that_ended_are_counted_whatever_their_end() -> None:
    h, jobs = page_in_hand(Store())
    assert h.shard.writer.ended() == 0
    commit(h, *jobs)
    assert h.shard.writer.ended() == 1
    commit(h, seeds(h, "http://me@a.test/"))
    assert h.shard.writer.ended() == 2


# -- a commit without a job ------------------------------------------------------------------------


def test_a_url_whose_time_has_come_is_work_for_a_commit_without_a_job() -> None:
    h = Store().open(max_active_hosts=1)
    commit(h, seeds(h, SEED_URL))
    writer = h.shard.writer
    assert not writer.can_work(starving=True)
    with h.tables.write() as txn:
        h.shard.frontier.delay(txn, h.clock.unix_s() + 5.0, url_key("http://a.test/x", "a.test"))
        writer.next_due_at = h.shard.frontier.next_due_at(txn)
    assert not writer.has_background_work()
    h.clock.advance_s(5.0)
    assert writer.has_background_work()
    assert writer.can_work(starving=False)


def test_hosts_without_a_back_queue_are_work_only_for_workers_that_starve() -> None:
    h = Store().open(max_active_hosts=4, threads=1)
    commit(h, seeds(h, *(f"http://h{n}.test/" for n in range(5))))
    while h.shard.writer.can_work(starving=False):
        commit(h)
    assert len(h.shard.frontier.active_hosts()) == 3
    assert h.shard.writer.can_work(starving=True)
    commit(h)
    assert len(h.shard.frontier.active_hosts()) == 4


# -- a commit that fails ---------------------------------------------------------------------------


@pytest.fixture
def failed() -> tuple[Store, Harness, list[Job], dict[str, list[tuple[bytes, bytes]]]]:
    """A page's commit that met a full disk, and the rows as they were before it."""
    store = Store()
    h, jobs = page_in_hand(store)
    before = store.rows()
    store.tables.full = True
    with pytest.raises(StoreFullError):
        commit(h, *jobs)
    store.tables.full = False
    return store, h, jobs, before


Failed = tuple[Store, Harness, list[Job], dict[str, list[tuple[bytes, bytes]]]]


def test_it_leaves_the_tables_as_they_were(failed: Failed) -> None:
    store, _, _, before = failed
    assert store.rows() == before


def test_it_leaves_the_documents_as_the_tables_name_them(failed: Failed) -> None:
    store, h, _, _ = failed
    position = meta(h, "warc")
    assert isinstance(position, dict)
    assert len(store.documents.records) == position["offset"] == 1


def test_it_shows_nothing_to_anybody(failed: Failed) -> None:
    _, h, _, _ = failed
    status: Status = h.status()
    assert (status.stored, status.seen, status.in_flight) == (0, 1, 1)
    assert url_key(SEED_URL, "a.test") in h.shard.frontier.schedule.leases


def test_the_next_run_asks_again_what_it_lost_and_nothing_else(failed: Failed) -> None:
    store, first, _, _ = failed
    second = store.open()
    assert second.run() == "finished"
    assert second.status().stored == 3
    lost = [url for url in first.fetcher.urls() if url == SEED_URL]
    asked = [url for url in second.fetcher.urls() if not url.endswith("robots.txt")]
    assert len(lost) == 1
    assert sorted(asked) == [SEED_URL, f"{SEED_URL}1", f"{SEED_URL}2"]
    assert len(store.documents.records) == second.status().stored + sum(
        url.endswith("robots.txt") for url in [*first.fetcher.urls(), *second.fetcher.urls()]
    )


@pytest.mark.parametrize("point", ["applied", "appended", "synced"])
def test_a_fault_before_the_commit_takes_everything_back(
    monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    store = Store()
    h, jobs = page_in_hand(store)
    before = store.rows()

    def fault(at: str) -> None:
        if at == point:
            raise ZeroDivisionError

    monkeypatch.setattr(h.shard.writer, "_at", fault)
    with pytest.raises(ZeroDivisionError):
        commit(h, *jobs)
    assert store.rows() == before
    assert len(store.documents.records) == 1


@pytest.mark.parametrize("point", ["committed", "published"])
def test_a_fault_behind_the_commit_takes_nothing_back(
    monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    store = Store()
    h, jobs = page_in_hand(store)

    def fault(at: str) -> None:
        if at == point:
            raise ZeroDivisionError

    monkeypatch.setattr(h.shard.writer, "_at", fault)
    with pytest.raises(ZeroDivisionError):
        commit(h, *jobs)
    assert state_of(h) is State.STORED
    assert len(store.documents.records) == 2
    assert store.open().status().stored == 1


def test_records_are_given_back_when_the_commit_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    h, jobs = page_in_hand(store)
    closed: list[str] = []
    monkeypatch.setattr(Finished, "close", lambda self: closed.append(self.host))
    store.tables.full = True
    with pytest.raises(StoreFullError):
        commit(h, *jobs)
    assert closed == ["a.test"]


def test_seeds_of_a_commit_that_failed_are_not_told_of() -> None:
    store = Store()
    h = store.open()
    told: list[str] = []
    store.tables.full = True
    with pytest.raises(StoreFullError):
        commit(h, seeds(h, SEED_URL, done=lambda: told.append("done"), owed="owed/seeds/00000000"))
    assert told == []
    assert state_of(h) is None


def test_what_a_worker_could_not_go_on_with_ends_the_commit() -> None:
    store = Store()
    h, jobs = page_in_hand(store)
    before = store.rows()
    with pytest.raises(StoreFullError, match="no room for a body"):
        commit(h, *jobs, Fault(StoreFullError("no room for a body")))
    assert store.rows() == before
    assert len(store.documents.records) == 1


# -- errands ---------------------------------------------------------------------------------------


def errand_job(h: Harness, url: str) -> Finished:
    """What a visit hands over whose robots.txt leads to another host."""
    got = h.shard.dispatcher.try_take()
    assert isinstance(got, Ticket)
    h.shard.dispatcher.give_back(got, asked=True)
    host = url.split("/")[2]
    return Finished(
        ticket=got,
        host_id=got.host_id,
        host=got.host,
        clock=h.shard.clocks.get(got.host_id),
        returned=True,
        errand=Errand(host, host_id(host), url, f"http://{got.host}", got.host_id, 1),
    )


def test_an_errand_is_handed_out_after_its_commit_and_before_its_hosts_own_urls() -> None:
    h = Store().open()
    commit(h, seeds(h, SEED_URL))
    commit(h, errand_job(h, "http://b.test/robots.txt"))
    got = h.shard.dispatcher.try_take()
    assert isinstance(got, Errand)
    assert (got.host, got.url) == ("b.test", "http://b.test/robots.txt")


def test_an_errands_host_is_pinned_so_that_a_restart_lets_it_wait() -> None:
    store = Store()
    h = store.open(delay_s=3.0)
    commit(h, seeds(h, SEED_URL))
    commit(h, errand_job(h, "http://b.test/robots.txt"))
    with h.tables.read() as txn:
        assert txn.pins.get(host_id("b.test")) is not None
    store.open(delay_s=3.0)
    with h.tables.read() as txn:
        host = txn.hosts.get(host_id("b.test"))
    assert host is not None
    assert host.due_at >= store.clock.unix_s() + 3.0


def test_an_errand_to_a_host_that_waits_for_one_is_not_posted_and_the_asker_goes_on() -> None:
    h = Store().open()
    commit(h, seeds(h, SEED_URL, "http://b.test/"))
    there = errand_job(h, "http://b.test/robots.txt")
    back = errand_job(h, f"http://{there.host}/robots.txt")
    assert back.host_id != there.host_id
    there.errand = Errand(
        back.host,
        back.host_id,
        f"http://{back.host}/r",
        f"http://{there.host}",
        there.host_id,
        1,
    )
    commit(h, there, back)
    schedule = h.shard.frontier.schedule
    assert schedule.queue(there.host_id).in_flight
    assert not schedule.queue(back.host_id).in_flight
    assert not schedule.queue(there.host_id).errands
    assert len(schedule.queue(back.host_id).errands) == 1
