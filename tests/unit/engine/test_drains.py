"""Draining a host: all that waits for it ends with one reason, piece by piece, across no visit."""

from __future__ import annotations

from collections import Counter

import pytest

from mercator.config import CrawlConfig
from mercator.engine.drains import Drains
from mercator.engine.outcome import Drain, Finished
from mercator.rows import DeadRow, UrlRow
from mercator.store.memory_tables import MemoryTables
from mercator.testing import Answer, ManualClock, MemoryDocuments
from mercator.urls.url_key import host_id, url_key
from mercator.values import FailureKind, FetchRequest, Reason, State, Ticket
from tests.harness import Harness

A = host_id("a.test")
B = host_id("b.test")
NXDOMAIN = Drain(A, Reason.DNS_FAILED, "", "no such name")


def script(request: FetchRequest) -> Answer | FailureKind:
    if request.url.endswith("robots.txt"):
        return (404, {}, b"")
    return (200, {"Content-Type": "text/html"}, request.url.encode())


class Queued:
    """A shard whose back queues hold the seeds; nothing was asked yet."""

    def __init__(self, *seeds: str) -> None:
        self.h = Harness(script, CrawlConfig(threads=2))
        self.h.seed(*seeds)
        self.commit()
        while self.h.shard.writer.can_work(starving=True):
            self.commit()

    @property
    def drains(self) -> Drains:
        return self.h.shard.writer._drains

    def add(self, drain: Drain = NXDOMAIN) -> None:
        self.drains.add(drain, self.h.shard.dispatcher)

    def commit(self, *jobs: Finished) -> int:
        """One commit; how many URLs have ended then, of the whole crawl."""
        group = [*self.h.shard.inbox.collect(), *jobs]
        self.h.shard.writer.commit(group, starving=True, run={})
        return self.h.shard.writer.ended()

    def take(self) -> Ticket:
        got = self.h.shard.dispatcher.try_take()
        assert isinstance(got, Ticket)
        return got

    def refused(self, ticket: Ticket) -> Finished:
        """A visit that ended without a request."""
        return Finished(
            ticket=ticket,
            host_id=ticket.host_id,
            host=ticket.host,
            clock=self.h.shard.clocks.get(ticket.host_id),
            state=State.ROBOTS_REFUSED,
            reason=Reason.ROBOTS_REFUSED,
        )

    def runnable(self) -> bool:
        with self.h.shard.dispatcher.lock:
            return self.drains.runnable_locked()

    def row(self, url: str) -> UrlRow:
        with self.h.tables.read() as txn:
            row = txn.urls.get(url_key(url, "a.test"))
        assert row is not None
        return row


def urls(count: int, origin: str = "http://a.test") -> list[str]:
    return [f"{origin}/{n}" for n in range(count)]


def test_all_that_waits_for_the_host_ends_with_the_reason() -> None:
    queued = Queued(*urls(3), "http://b.test/")
    queued.add()
    assert queued.commit() == 3
    assert queued.h.status().reasons == {"dns_failed": 3}
    assert queued.h.status().pending == 1
    assert queued.row("http://a.test/1").state is State.FAILED


def test_each_url_has_its_dead_row_with_the_error() -> None:
    queued = Queued(*urls(2))
    queued.add()
    queued.commit()
    with queued.h.tables.read() as txn:
        rows = [row for _, row in txn.dead.scan()]
    assert rows == [DeadRow(Reason.DNS_FAILED, 0, "no such name")] * 2


def test_the_host_row_counts_what_failed() -> None:
    queued = Queued(*urls(3))
    queued.add()
    queued.commit()
    with queued.h.tables.read() as txn:
        host = txn.hosts.get(A)
        waiting = [key for _, key in txn.back.scan()]
    assert host is not None
    assert (host.pending, host.failed, host.stored) == (0, 3, 0)
    assert waiting == []


def test_a_commit_ends_two_thousand_at_most() -> None:
    queued = Queued(*urls(4500))
    queued.add()
    ended = [queued.commit() for _ in range(3)]
    assert ended == [2000, 4000, 4500]


def test_the_pieces_of_several_hosts_are_bounded_together() -> None:
    queued = Queued(*urls(2000), *urls(100, "http://b.test"))
    queued.add()
    queued.add(NXDOMAIN._replace(host_id=B))
    assert [queued.commit() for _ in range(2)] == [2000, 2100]


def test_draining_is_under_way_until_the_last_piece() -> None:
    queued = Queued(*urls(2001))
    assert not queued.drains.active()
    queued.add()
    queued.commit()
    assert queued.drains.active()
    assert queued.runnable()
    queued.commit()
    assert not queued.drains.active()
    assert not queued.runnable()


def test_nothing_of_the_host_is_handed_out_meanwhile() -> None:
    queued = Queued(*urls(2001))
    queued.add()
    queued.commit()
    assert queued.h.shard.dispatcher.try_take() is None


def test_a_piece_that_is_exactly_full_ends_with_the_next_commit() -> None:
    queued = Queued(*urls(2000))
    queued.add()
    assert queued.commit() == 2000
    assert queued.drains.active()
    assert queued.commit() == 2000
    assert not queued.drains.active()


# -- not across a visit ----------------------------------------------------------------------------


def test_nothing_ends_while_a_ticket_of_the_host_is_on_lease() -> None:
    queued = Queued(*urls(3))
    ticket = queued.take()
    queued.add()
    assert not queued.runnable()
    assert queued.commit() == 0
    queued.h.shard.dispatcher.release(A, 0.0)
    assert not queued.runnable()
    assert queued.commit() == 0
    assert queued.commit(queued.refused(ticket)) == 1
    assert queued.runnable()
    assert queued.commit() == 3
    assert queued.h.status().reasons == {"robots_refused": 1, "dns_failed": 2}


def test_nothing_ends_while_the_host_is_in_flight_without_a_ticket() -> None:
    queued = Queued(*urls(3))
    ticket = queued.take()
    queued.add()
    queued.h.shard.dispatcher.give_back(ticket, asked=False)
    assert not queued.runnable()
    assert queued.commit() == 0
    queued.h.shard.dispatcher.release(A, 0.0)
    assert queued.commit() == 3


def test_a_host_on_lease_does_not_hold_another_up() -> None:
    queued = Queued(*urls(2), "http://b.test/")
    held = queued.take()
    other = NXDOMAIN._replace(host_id=B if held.host_id == A else A)
    queued.add(NXDOMAIN._replace(host_id=held.host_id))
    queued.add(other)
    assert queued.commit() == (1 if other.host_id == B else 2)


# -- one origin of a host --------------------------------------------------------------------------


def test_one_origin_of_a_host_ends_and_the_others_go_on() -> None:
    origins = ["http://a.test", "https://a.test", "http://a.test:8080"]
    queued = Queued(*(f"{origin}/{n}" for n in range(2) for origin in origins))
    queued.add(NXDOMAIN._replace(origin="http://a.test:8080"))
    assert queued.commit() == 2
    assert queued.row("http://a.test:8080/1").reason is Reason.DNS_FAILED
    assert queued.h.run() == "finished"
    assert queued.h.status().stored == 4
    assert not any(":8080" in url for url in queued.h.fetcher.urls())


def test_a_default_port_is_the_origin_without_it() -> None:
    queued = Queued("http://a.test/1", "https://a.test/1")
    queued.add(NXDOMAIN._replace(origin="https://a.test"))
    assert queued.commit() == 1
    assert queued.row("https://a.test/1").state is State.FAILED


def test_each_origin_of_a_host_ends_with_its_own_reason() -> None:
    queued = Queued("http://a.test/1", "https://a.test/1")
    queued.add(NXDOMAIN._replace(origin="http://a.test"))
    queued.add(Drain(A, Reason.TLS_FAILED, "https://a.test", "no certificate"))
    assert queued.commit() == 2
    assert queued.h.status().reasons == {"dns_failed": 1, "tls_failed": 1}


def test_a_host_is_handed_out_again_after_the_last_of_its_orders() -> None:
    queued = Queued(*urls(750), *urls(750, "https://a.test"))
    queued.add(NXDOMAIN._replace(origin="http://a.test"))
    queued.add(NXDOMAIN._replace(origin="https://a.test"))
    # The first order has walked all 1500, so 500 of the piece are left for the second.
    assert queued.commit() == 750 + 500
    assert queued.h.shard.frontier.schedule.queue(A).draining
    assert queued.commit() == 1500
    assert not queued.h.shard.frontier.schedule.queue(A).draining


# -- orders ----------------------------------------------------------------------------------------


def test_an_order_that_is_under_way_keeps_its_reason() -> None:
    queued = Queued(*urls(2001))
    queued.add()
    queued.commit()
    queued.add(Drain(A, Reason.TLS_FAILED, "", "later"))
    queued.commit()
    assert queued.h.status().reasons == {"dns_failed": 2001}


def test_a_url_of_the_host_that_comes_afterwards_is_asked() -> None:
    queued = Queued(*urls(2))
    queued.add()
    queued.commit()
    queued.h.seed("http://a.test/new")
    assert queued.h.run() == "finished"
    assert queued.h.status().stored == 1


def test_a_host_can_be_drained_a_second_time() -> None:
    queued = Queued(*urls(2))
    queued.add()
    queued.commit()
    queued.h.seed("http://a.test/new")
    for _ in range(3):
        queued.commit()
    queued.add()
    assert queued.commit() == 3


def test_a_host_over_its_budget_ends_as_refused_and_not_as_failed() -> None:
    queued = Queued(*urls(3))
    queued.h.shard.frontier.schedule.drain(A)
    queued.drains.add_over_budget(A)
    assert queued.commit() == 3
    status = queued.h.status()
    assert (status.refused, status.failed, status.reasons) == (3, 0, {"host_budget": 3})
    with queued.h.tables.read() as txn:
        host = txn.hosts.get(A)
    assert host is not None
    assert (host.pending, host.failed) == (0, 0)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (FailureKind.CONNECT_TIMEOUT, Reason.CONNECT_FAILED),
        (FailureKind.DNS_SERVFAIL, Reason.DNS_FAILED),
        (FailureKind.TLS_HANDSHAKE_FAILURE, Reason.TLS_FAILED),
    ],
)
def test_a_host_that_could_not_be_reached_ends_with_the_reason_of_its_last_failure(
    kind: FailureKind, reason: Reason
) -> None:
    queued = Queued(*urls(2))
    queued.h.shard.frontier.schedule.drain(A)
    clock = queued.h.shard.clocks.get(A)._replace(
        unreachable=3, unreachable_since=10.0, unreachable_at=20.0, unreachable_kind=kind
    )
    queued.drains.add_unreachable(A, clock)
    queued.commit()
    with queued.h.tables.read() as txn:
        ends = Counter((row.reason, row.error) for _, row in txn.dead.scan())
    assert ends == {(reason, f"the host could not be reached ({kind})"): 2}


def test_a_url_that_was_never_asked_shows_the_attempts_on_its_host() -> None:
    queued = Queued(*urls(1))
    queued.add(Drain(A, Reason.TLS_FAILED, "", "no certificate", 3, 10.0, 20.0))
    queued.commit()
    row = queued.row("http://a.test/0")
    assert (row.attempts, row.first_at, row.last_at) == (3, 10.0, 20.0)


def test_a_url_that_was_asked_itself_keeps_its_own_attempts() -> None:
    queued = Queued(*urls(1))
    key = url_key("http://a.test/0", "a.test")
    with queued.h.tables.write() as txn:
        row = queued.row("http://a.test/0")._replace(attempts=1, first_at=5.0, last_at=6.0)
        txn.urls.put(key, row)
    queued.add(Drain(A, Reason.TLS_FAILED, "", "no certificate", 3, 10.0, 20.0))
    queued.commit()
    row = queued.row("http://a.test/0")
    assert (row.attempts, row.first_at, row.last_at) == (1, 5.0, 6.0)


def test_after_a_restart_the_attempts_on_a_host_still_have_their_time() -> None:
    """Only the first one's is in the host's row; a failure without any would look as if never tried."""
    clock, tables, documents = ManualClock(), MemoryTables(), MemoryDocuments()

    def unreachable(request: FetchRequest) -> Answer | FailureKind:
        return FailureKind.CONNECT_TIMEOUT

    def opened() -> Harness:
        config = CrawlConfig(threads=1)
        return Harness(unreachable, config, clock=clock, tables=tables, documents=documents)

    first = opened()
    first.seed("http://a.test/")
    while len(first.fetcher.requests) < 3 or len(first.shard.inbox):
        first.step()
    second = opened()
    assert second.run() == "finished"
    assert not second.fetcher.requests
    with tables.read() as txn:
        (row,) = (row for _, row in txn.urls.scan())
    assert (row.reason, row.attempts) == (Reason.CONNECT_FAILED, 3)
    assert 0 < row.first_at <= row.last_at
