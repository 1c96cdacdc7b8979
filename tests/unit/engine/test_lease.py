"""A worker's hold on one host: it ends exactly once, and the ticket goes where it belongs."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from mercator.config import CrawlConfig
from mercator.engine.dispatch import Dispatcher
from mercator.engine.host_clock import ClockRules, HostClock
from mercator.engine.lease import Lease
from mercator.engine.outcome import Finished
from mercator.frontier.schedule import BackQueue, Schedule
from mercator.testing import ManualClock, MemoryBody
from mercator.values import NO_KEY, Errand, HostId, Ticket, UrlKey

A, B = HostId(b"aaaaaa"), HostId(b"bbbbbb")
ERRAND = Errand("a.test", A, "http://a.test/r", "http://b.test", B, 1)


def ticket(host_id: HostId, n: int) -> Ticket:
    key = UrlKey(host_id + bytes([n]) * 10)
    return Ticket(key, "http://h/", "http://h/", "a.test", host_id, n, 1, 0, 0, 0, False, NO_KEY)


class Held:
    """A lease on the first ticket of host A (or on an errand there); host B waits as well."""

    def __init__(self, *, errand: bool = False, leases: int = 8) -> None:
        self.clock = ManualClock()
        self.schedule = Schedule(leases, None)
        for host_id in (A, B):
            self.schedule.activate(host_id, "h", self.clock.monotonic_s(), stored=0)
            self.schedule.feed(host_id, [ticket(host_id, n) for n in (1, 2)], 2, False)
        if errand:
            self.schedule.post(ERRAND)
        self.dispatcher = Dispatcher(self.schedule, self.clock)
        task = self.dispatcher.try_take()
        assert isinstance(task, Errand if errand else Ticket)
        self.task = task
        rules = ClockRules(CrawlConfig(patience_s=600.0), Random(1))
        self.lease = Lease(self.dispatcher, rules, self.clock, task)

    @property
    def ticket(self) -> Ticket:
        assert isinstance(self.task, Ticket)
        return self.task

    def host(self, host_id: HostId = A) -> BackQueue:
        return self.schedule.queue(host_id)

    def hand(self) -> list[int]:
        return [ticket.sequence for ticket in self.host().hand]

    def due_in(self, seconds: float, *, blocked: float | None = None) -> HostClock:
        """A host's clock that says: ready so many seconds from now."""
        now = self.clock.unix_s()
        made = HostClock(1, now + seconds, 1.0, "delay")
        return made if blocked is None else made.blocked(now + blocked, "retry_after")


class CountedBody(MemoryBody):
    """Counts how often it is given back. Threads: the test's."""

    def __init__(self) -> None:
        super().__init__(b"x")
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


# -- the end of a request --------------------------------------------------------------------------


def test_a_release_lets_the_host_wait_for_its_clock() -> None:
    held = Held()
    assert held.host().in_flight
    held.lease.release(held.due_in(2.5))
    assert not held.host().in_flight
    assert held.host().ready_at_s == held.clock.monotonic_s() + 2.5
    assert not held.host().paused


def test_a_release_ends_no_lease_of_the_url() -> None:
    held = Held()
    held.lease.release(held.due_in(1.0))
    assert held.ticket.key in held.schedule.leases
    assert held.hand() == [2]


def test_a_block_decides_when_it_reaches_further_and_pauses_the_host() -> None:
    held = Held()
    held.lease.release(held.due_in(1.0, blocked=30.0))
    assert held.host().ready_at_s == held.clock.monotonic_s() + 30.0
    assert held.host().paused


def test_a_host_is_released_once() -> None:
    held = Held()
    held.lease.release(held.due_in(1.0))
    assert held.lease.released()
    held.lease.release(held.due_in(50.0))
    held.lease.abandon(held.due_in(50.0))
    assert held.host().ready_at_s == held.clock.monotonic_s() + 1.0


def test_a_lease_that_was_released_does_not_end_its_hosts_next_one() -> None:
    held = Held()
    held.lease.release(held.due_in(0.0))
    held.dispatcher.drain(B)
    again = held.dispatcher.try_take()
    assert isinstance(again, Ticket)
    held.lease.release(held.due_in(0.0))
    assert held.host().in_flight


def test_of_a_host_that_failed_nothing_is_handed_out_after_the_release() -> None:
    held = Held()
    held.lease.release_ended(held.due_in(0.0))
    assert held.host().draining
    assert not held.host().in_flight
    got = held.dispatcher.try_take()
    assert isinstance(got, Ticket)
    assert got.host_id == B
    assert held.dispatcher.try_take() is None


# -- a ticket that goes back -----------------------------------------------------------------------


def test_a_ticket_that_is_given_back_is_the_next_and_its_host_waits() -> None:
    held = Held()
    held.lease.give_back(held.ticket._replace(attempts=1), held.due_in(3.0), asked=True)
    assert held.hand() == [1, 2]
    assert held.host().hand[0].attempts == 1
    assert not held.schedule.leases
    assert held.host().ready_at_s == held.clock.monotonic_s() + 3.0


def test_a_request_that_was_made_counts_until_its_commit() -> None:
    held = Held(leases=1)
    held.lease.give_back(held.ticket, held.due_in(0.0), asked=True)
    assert not held.schedule.may_lease(None)
    held.schedule.recorded()
    assert held.schedule.may_lease(None)


def test_a_ticket_that_goes_back_unused_counts_no_more() -> None:
    held = Held(leases=1)
    held.lease.give_back(held.ticket, held.due_in(0.0), asked=False)
    assert held.schedule.may_lease(None)


def test_a_ticket_that_ends_with_its_host_is_not_taken_into_hand() -> None:
    held = Held()
    held.lease.end(held.ticket, held.due_in(0.0))
    assert held.host().draining
    assert held.hand() == []
    assert not held.schedule.leases
    assert not held.host().in_flight


def test_a_ticket_is_not_given_back_after_the_release() -> None:
    held = Held()
    held.lease.release(held.due_in(0.0))
    with pytest.raises(AssertionError, match="goes back before its host is released"):
        held.lease.give_back(held.ticket, held.due_in(0.0), asked=False)


# -- an errand -------------------------------------------------------------------------------------


def test_a_host_that_waits_for_an_errand_stays_on_lease() -> None:
    held = Held()
    held.lease.leave_to_errand(held.ticket)
    assert held.host().in_flight
    assert held.hand() == [1, 2]
    held.lease.release(held.due_in(0.0))
    assert held.host().in_flight


def test_the_errands_end_releases_the_host_that_asked() -> None:
    held = Held()
    held.lease.leave_to_errand(held.ticket)
    other = Held(errand=True)
    lease = Lease(held.dispatcher, other.lease._rules, held.clock, ERRAND._replace(host_id=B))
    lease.release_asking(A, held.due_in(4.0))
    assert not held.host().in_flight
    assert held.host().ready_at_s == held.clock.monotonic_s() + 4.0


def test_an_errand_that_is_abandoned_is_its_hosts_next_one() -> None:
    held = Held(errand=True)
    held.lease.abandon(held.due_in(0.0))
    assert list(held.host().errands) == [ERRAND]
    assert not held.host().in_flight


# -- a name, a stop --------------------------------------------------------------------------------


@pytest.mark.parametrize("errand", [False, True])
def test_a_host_without_an_address_is_held_by_the_look_up_and_not_by_a_worker(
    errand: bool,
) -> None:
    held = Held(errand=errand)
    asked: list[tuple[str, Callable[[], None]]] = []
    held.lease.hold_for_name(lambda name, answered: asked.append((name, answered)))
    ((name, answered),) = asked
    assert name == "a.test"
    assert held.host().in_flight
    assert held.lease.released()
    assert (held.hand(), list(held.host().errands)) == (([1, 2], [ERRAND] * errand))
    answered()
    assert not held.host().in_flight
    assert held.host().ready_at_s == held.clock.monotonic_s()
    assert not held.host().paused


def test_what_the_look_up_took_does_not_count_as_a_gap() -> None:
    held = Held()
    asked: list[Callable[[], None]] = []
    held.lease.hold_for_name(lambda name, answered: asked.append(answered))
    held.clock.advance_s(5.0)
    asked[0]()
    assert held.host().ready_at_s == held.clock.monotonic_s() - 5.0


def test_a_look_up_that_knows_at_once_releases_at_once() -> None:
    held = Held()
    held.lease.hold_for_name(lambda name, answered: answered())
    assert not held.host().in_flight
    got = held.dispatcher.try_take()
    assert isinstance(got, Ticket)


def test_a_visit_that_the_stop_interrupts_gives_its_ticket_back_unused() -> None:
    held = Held()
    held.lease.abandon(held.due_in(0.5))
    assert held.hand() == [1, 2]
    assert not held.schedule.leases
    assert held.host().ready_at_s == held.clock.monotonic_s() + 0.5


# -- what a visit holds ----------------------------------------------------------------------------


def test_bodies_are_given_back_once() -> None:
    held = Held()
    bodies = [CountedBody(), CountedBody()]
    for body in bodies:
        held.lease.owns(body)
    assert [body.closed for body in bodies] == [0, 0]
    held.lease.close()
    held.lease.close()
    assert [body.closed for body in bodies] == [1, 1]


def test_a_request_that_was_sent_is_remembered() -> None:
    held = Held()
    before = held.lease.finished
    finished = Finished(ticket=held.ticket, host_id=A, host="a.test", clock=held.due_in(0.0))
    held.lease.sent(finished)
    assert (before, held.lease.finished) == (None, finished)
    assert not held.lease.released()
