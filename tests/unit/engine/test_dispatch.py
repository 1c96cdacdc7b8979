"""The dispatcher: a worker that waits is woken by whatever lets it go on, and by nothing else."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mercator.clock import RealClock
from mercator.engine.dispatch import Dispatcher
from mercator.frontier.schedule import Schedule
from mercator.ports import Clock
from mercator.testing import ManualClock
from mercator.values import NO_KEY, Errand, HostId, Ticket, UrlKey

A, B, C = HostId(b"aaaaaa"), HostId(b"bbbbbb"), HostId(b"cccccc")
LONG_S = 10.0
SOON_S = 0.05
NEVER_S = 100_000.0


def ticket(host_id: HostId, n: int) -> Ticket:
    key = UrlKey(host_id + bytes([n]) * 10)
    return Ticket(key, "http://h/", "http://h/", "h", host_id, n, 1, 0, 0, 0, False, NO_KEY)


def dispatcher(leases: int, *hosts: HostId, clock: Clock | None = None) -> Dispatcher:
    """Each host with three tickets, ready now."""
    schedule = Schedule(leases, None)
    clock = clock or ManualClock()
    for host_id in hosts:
        schedule.activate(host_id, "h", clock.monotonic_s(), stored=0)
        schedule.feed(host_id, [ticket(host_id, n) for n in (1, 2, 3)], 3, False)
    return Dispatcher(schedule, clock)


def taken(made: Dispatcher) -> Ticket:
    got = made.try_take()
    assert isinstance(got, Ticket)
    return got


class Workers:
    """Threads that each take once. Threads: the test's."""

    def __init__(self, made: Dispatcher) -> None:
        self._made = made
        self._got: queue.SimpleQueue[Ticket | Errand | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        thread = threading.Thread(target=lambda: self._got.put(self._made.take()))
        self._threads.append(thread)
        thread.start()

    def asleep(self) -> bool:
        """True once every worker waits; False when that takes too long."""
        give_up_s = time.monotonic() + LONG_S
        while time.monotonic() < give_up_s:
            if self._made._waiting == len(self._threads):
                return True
        return False

    def next(self) -> Ticket | Errand | None:
        return self._got.get(timeout=LONG_S)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(LONG_S)


@contextmanager
def waiting(made: Dispatcher, count: int = 1) -> Iterator[Workers]:
    workers = Workers(made)
    for _ in range(count):
        workers.start()
    try:
        assert workers.asleep()
        yield workers
    finally:
        made.stop()
        workers.join()


def test_while_all_leases_are_out_a_host_that_becomes_free_wakes_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = dispatcher(2, A, B)
    first, second = taken(made), taken(made)
    with waiting(made, 3) as workers:
        with monkeypatch.context() as watched:
            watched.setattr(made._changed, "notify", lambda: pytest.fail("a worker was woken"))
            made.release(first.host_id, 0.0)
            made.release(second.host_id, 0.0)
        with made.lock:
            made.schedule.committed(first, True)
            made.wake()
        assert isinstance(workers.next(), Ticket)


def test_a_commit_that_ends_several_leases_wakes_as_many_workers() -> None:
    made = dispatcher(2, A, B)
    first, second = taken(made), taken(made)
    with waiting(made, 2) as workers:
        made.release(first.host_id, 0.0)
        made.release(second.host_id, 0.0)
        with made.lock:
            made.schedule.committed(first, True)
            made.schedule.committed(second, True)
            made.wake()
        assert isinstance(workers.next(), Ticket)
        assert isinstance(workers.next(), Ticket)


def test_a_ticket_that_goes_back_wakes_who_waits_for_its_lease() -> None:
    made = dispatcher(1, A, B)
    held = taken(made)
    with waiting(made) as workers:
        made.give_back(held, asked=False)
        got = workers.next()
        assert isinstance(got, Ticket)
        assert got.host_id != held.host_id


def test_an_alarm_that_was_set_before_does_not_hold_up_a_host_that_became_free_meanwhile() -> None:
    clock = RealClock()
    made = dispatcher(4, A, B, C, clock=clock)
    first, second, third = taken(made), taken(made), taken(made)
    made.pages_left = 3
    with waiting(made) as workers:
        made.release(third.host_id, clock.monotonic_s() + NEVER_S)
        with made.lock:
            made.schedule.committed(third, True)
        workers.start()  # its alarm is that of the third host
        assert workers.asleep()
        made.pages_left = 2
        made.release(first.host_id, clock.monotonic_s() + SOON_S)
        made.release(second.host_id, 0.0)
        with made.lock:
            made.pages_left = None
            made.wake()
        hosts = {task.host_id for task in (workers.next(), workers.next()) if task is not None}
        assert hosts == {first.host_id, second.host_id}


def test_a_worker_with_an_alarm_is_woken_for_an_earlier_host() -> None:
    made = dispatcher(4, A, B)
    first, second = taken(made), taken(made)
    made.release(first.host_id, NEVER_S)
    with waiting(made) as workers:
        made.release(second.host_id, 0.0)
        got = workers.next()
        assert isinstance(got, Ticket)
        assert got.host_id == second.host_id


def test_stopping_wakes_everybody() -> None:
    made = dispatcher(1)
    with waiting(made, 3) as workers:
        made.stop()
        assert [workers.next() for _ in range(3)] == [None] * 3
