"""What the dispatcher hands out, what it holds back, and the one alarm among its waiting workers."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mercator.engine.dispatch import Dispatcher, Load
from mercator.frontier.schedule import Schedule
from mercator.testing import ManualClock
from mercator.values import NO_KEY, Errand, HostId, Ticket, UrlKey

A, B, C = HostId(b"aaaaaa"), HostId(b"bbbbbb"), HostId(b"cccccc")
LONG_S = 10.0
SOON_S = 0.005
NEVER_S = 100_000.0
ERRAND = Errand("h", A, "http://h/robots.txt", "http://x", B, 1)

Task = Ticket | Errand | None


def ticket(host_id: HostId, n: int) -> Ticket:
    key = UrlKey(host_id + bytes([n]) * 10)
    return Ticket(key, "http://h/", "http://h/", "h", host_id, n, 1, 0, 0, 0, False, NO_KEY)


class Hosts:
    """A dispatcher over hosts that have three tickets each, ready so many seconds from now."""

    def __init__(self, *, leases: int = 8, **ready_in_s: float) -> None:
        self.clock = ManualClock()
        self.schedule = Schedule(leases, None)
        self.dispatcher = Dispatcher(self.schedule, self.clock)
        for name, seconds in ready_in_s.items():
            self.add(HostId(name.encode() * 6), seconds)

    def add(self, host_id: HostId, ready_in_s: float) -> None:
        self.schedule.activate(host_id, "h", self.clock.monotonic_s() + ready_in_s, stored=0)
        self.schedule.feed(host_id, [ticket(host_id, n) for n in (1, 2, 3)], 3, False)

    def take(self) -> Ticket:
        got = self.dispatcher.try_take()
        assert isinstance(got, Ticket)
        return got


class Workers:
    """Threads that each take once; `timers` are their waits so far. Threads: the test's."""

    def __init__(self, dispatcher: Dispatcher, count: int) -> None:
        self._dispatcher = dispatcher
        self._got: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self.timers: list[float | None] = []
        self._wait = dispatcher._changed.wait
        dispatcher._changed.wait = self._counted_wait  # type: ignore[method-assign]
        self._threads = [threading.Thread(target=self._take, daemon=True) for _ in range(count)]

    def _take(self) -> None:
        self._got.put(self._dispatcher.take())

    def _counted_wait(self, timeout: float | None = None) -> bool:
        self.timers.append(timeout)
        return self._wait(timeout)

    def start(self) -> None:
        for count, thread in enumerate(self._threads, 1):
            thread.start()
            self.rested(count)

    def rested(self, times: int) -> None:
        """Returns when workers have found nothing to do so many times, all together."""
        give_up_s = time.monotonic() + LONG_S
        while len(self.timers) < times or not self._dispatcher.lock.acquire(blocking=False):
            assert time.monotonic() < give_up_s, "the workers do not come to rest"
        self._dispatcher.lock.release()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(LONG_S)
            assert not thread.is_alive()

    def next(self) -> Task:
        return self._got.get(timeout=LONG_S)

    def next_host(self) -> HostId:
        got = self.next()
        assert isinstance(got, Ticket)
        return got.host_id

    def have_nothing(self) -> bool:
        return self._got.empty()


@contextmanager
def waiting(hosts: Hosts, count: int) -> Iterator[Workers]:
    workers = Workers(hosts.dispatcher, count)
    workers.start()
    try:
        yield workers
    finally:
        hosts.dispatcher.stop()
        workers.join()


# -- without waiting -------------------------------------------------------------------------------


def test_a_host_that_is_ready_is_handed_out() -> None:
    assert Hosts(a=0.0).take().host_id == A


def test_the_time_of_the_first_host_is_told_when_none_is_ready() -> None:
    hosts = Hosts(a=3.0, b=2.0)
    assert hosts.dispatcher.try_take() == hosts.clock.monotonic_s() + 2.0
    hosts.clock.advance_s(2.0)
    assert hosts.take().host_id == B


def test_nothing_is_told_when_no_host_waits() -> None:
    assert Hosts().dispatcher.try_take() is None


def test_nothing_is_handed_out_while_paused() -> None:
    hosts = Hosts(a=0.0)
    hosts.dispatcher.pause(True)
    assert hosts.dispatcher.paused()
    assert hosts.dispatcher.try_take() is None
    hosts.dispatcher.pause(False)
    assert not hosts.dispatcher.paused()
    assert hosts.take().host_id == A


def test_nothing_is_handed_out_after_the_stop() -> None:
    hosts = Hosts(a=0.0)
    hosts.dispatcher.stop()
    assert hosts.dispatcher.try_take() is None
    assert hosts.dispatcher.take() is None


def test_a_stop_counts_more_than_a_pause() -> None:
    hosts = Hosts(a=0.0)
    hosts.dispatcher.pause(True)
    hosts.dispatcher.stop()
    assert hosts.dispatcher.take() is None


def test_no_more_leases_than_pages_that_may_still_be_stored() -> None:
    hosts = Hosts(a=0.0, b=0.0)
    hosts.dispatcher.pages_left = 1
    hosts.take()
    assert hosts.dispatcher.try_take() is None
    hosts.dispatcher.pages_left = 2
    assert hosts.take().host_id == B


def test_a_host_that_is_drained_is_not_handed_out() -> None:
    hosts = Hosts(a=0.0, b=1.0)
    hosts.dispatcher.drain(A)
    hosts.clock.advance_s(1.0)
    assert hosts.take().host_id == B
    assert hosts.dispatcher.try_take() is None


def test_a_ticket_that_goes_back_is_its_hosts_next_one() -> None:
    hosts = Hosts(a=0.0)
    first = hosts.take()
    hosts.dispatcher.give_back(first._replace(attempts=1), asked=False)
    hosts.dispatcher.release(A, 0.0)
    assert hosts.take() == first._replace(attempts=1)


def test_an_errand_that_goes_back_is_its_hosts_next_one() -> None:
    hosts = Hosts(a=0.0)
    hosts.schedule.post(ERRAND)
    assert hosts.dispatcher.try_take() == ERRAND
    hosts.dispatcher.give_back(ERRAND, asked=False)
    hosts.dispatcher.release(A, 0.0)
    assert hosts.dispatcher.try_take() == ERRAND


def test_the_load_counts_leases_and_hosts_apart() -> None:
    hosts = Hosts(a=0.0, b=0.0)
    first = hosts.take()
    hosts.dispatcher.release(first.host_id, NEVER_S)
    hosts.take()
    with hosts.dispatcher.lock:
        assert hosts.dispatcher.load_locked() == Load(leases=2, hosts_in_flight=1)


def test_without_a_worker_that_waits_nobody_starves() -> None:
    assert not Hosts().dispatcher.starving(0.1)


# -- waiting ---------------------------------------------------------------------------------------


def test_the_alarm_is_passed_on_to_a_worker_that_slept_without_one() -> None:
    hosts = Hosts(a=SOON_S, b=2 * SOON_S, c=3 * SOON_S)
    with waiting(hosts, 3) as workers:
        for host_id in (A, B, C):
            assert workers.have_nothing()
            hosts.clock.advance_s(SOON_S)
            assert workers.next_host() == host_id


def test_several_hosts_that_become_ready_together_wake_as_many_workers() -> None:
    hosts = Hosts(a=SOON_S, b=SOON_S, c=SOON_S)
    with waiting(hosts, 3) as workers:
        hosts.clock.advance_s(SOON_S)
        assert {workers.next_host() for _ in range(3)} == {A, B, C}


def test_of_the_workers_that_wait_one_has_a_timer() -> None:
    hosts = Hosts(a=NEVER_S)
    with waiting(hosts, 5) as workers:
        assert workers.timers == [NEVER_S, None, None, None, None]


def test_a_host_that_is_released_for_a_later_time_than_the_alarm_wakes_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hosts = Hosts(a=NEVER_S, b=0.0)
    held = hosts.take()
    with waiting(hosts, 2) as workers:
        woken: list[str] = []
        with monkeypatch.context() as patch:
            patch.setattr(hosts.dispatcher._changed, "notify", lambda: woken.append("one"))
            hosts.dispatcher.release(held.host_id, hosts.clock.monotonic_s() + 2 * NEVER_S)
        assert (woken, workers.have_nothing()) == ([], True)


def test_a_host_that_is_released_for_an_earlier_time_takes_the_alarm_over() -> None:
    hosts = Hosts(a=NEVER_S, b=0.0)
    held = hosts.take()
    with waiting(hosts, 2) as workers:
        hosts.dispatcher.release(held.host_id, hosts.clock.monotonic_s() + SOON_S)
        hosts.clock.advance_s(SOON_S)
        assert workers.next_host() == B


def test_an_errand_that_goes_back_wakes_who_waits_for_its_lease() -> None:
    hosts = Hosts(leases=1, a=0.0, b=0.0)
    hosts.schedule.post(ERRAND)
    assert hosts.dispatcher.try_take() == ERRAND
    with waiting(hosts, 1) as workers:
        hosts.dispatcher.give_back(ERRAND, asked=False)
        assert workers.next_host() == B


def test_a_pause_holds_workers_back_until_its_end() -> None:
    hosts = Hosts(a=0.0)
    held = hosts.take()
    hosts.dispatcher.pause(True)
    with waiting(hosts, 1) as workers:
        hosts.dispatcher.release(held.host_id, 0.0)
        workers.rested(2)
        assert workers.have_nothing()
        hosts.dispatcher.pause(False)
        assert workers.next_host() == A


def test_a_host_that_becomes_ready_during_a_pause_is_handed_out_after_it() -> None:
    hosts = Hosts(a=SOON_S)
    hosts.dispatcher.pause(True)
    with waiting(hosts, 2) as workers:
        hosts.clock.advance_s(SOON_S)
        hosts.dispatcher.pause(False)
        assert workers.next_host() == A


def test_an_alarm_that_was_set_before_a_pause_is_not_lost_in_it() -> None:
    hosts = Hosts(a=SOON_S)
    with waiting(hosts, 2) as workers:
        hosts.dispatcher.pause(True)
        hosts.dispatcher.pause(False)
        hosts.clock.advance_s(SOON_S)
        assert workers.next_host() == A


def test_a_stop_ends_a_pause_for_all_who_wait() -> None:
    hosts = Hosts(a=NEVER_S)
    with waiting(hosts, 3) as workers:
        hosts.dispatcher.pause(True)
        hosts.dispatcher.stop()
        assert [workers.next() for _ in range(3)] == [None] * 3


def test_workers_that_wait_starve_when_no_host_is_ready_in_time() -> None:
    hosts = Hosts(a=5.0)
    with waiting(hosts, 1):
        assert hosts.dispatcher.starving(4.9)
        assert not hosts.dispatcher.starving(5.0)


def test_workers_that_wait_for_nothing_starve() -> None:
    hosts = Hosts()
    with waiting(hosts, 1):
        assert hosts.dispatcher.starving(NEVER_S)


def test_a_wait_of_decades_is_waited() -> None:
    """As long as the longest delay that may be set: no lock may refuse it."""
    hosts = Hosts(a=1e9, b=0.0)
    held = hosts.take()
    with waiting(hosts, 1) as workers:
        hosts.dispatcher.release(held.host_id, 0.0)
        assert workers.next_host() == B
