"""The writer's inbox: jobs in their order, in groups, and a writer that is woken for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from mercator.engine.inbox import Add, Fault, Inbox, Job, Readmit
from mercator.testing import ManualClock

LONG_S = 10.0


def job(text: str = "") -> Job:
    return Fault(RuntimeError(text))


def seeds() -> Add:
    return Add([], lambda: None)


def readmission() -> Readmit:
    return Readmit(None, True, lambda count: None)


@contextmanager
def waiter(inbox: Inbox, wait: Callable[[float], None]) -> Iterator[threading.Event]:
    """A thread that waits for the inbox; the event says that it goes on."""
    went_on = threading.Event()

    def run() -> None:
        wait(LONG_S)
        went_on.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    give_up_s = time.monotonic() + LONG_S
    while not inbox._changed._waiters:  # type: ignore[attr-defined]
        assert time.monotonic() < give_up_s, "the thread does not come to rest"
    try:
        yield went_on
    finally:
        inbox.nudge()
        thread.join(LONG_S)


def test_jobs_come_out_in_the_order_in_which_they_came() -> None:
    inbox = Inbox(ManualClock())
    jobs = [job("1"), readmission(), job("2")]
    for one in jobs:
        inbox.put(one)
    assert len(inbox) == 3
    assert inbox.collect() == jobs
    assert len(inbox) == 0


def test_an_empty_inbox_gives_nothing() -> None:
    inbox = Inbox(ManualClock())
    assert inbox.collect() == []
    assert inbox.oldest_s() is None


def test_a_group_ends_with_the_first_piece_of_seeds() -> None:
    inbox = Inbox(ManualClock())
    jobs = [job("1"), seeds(), job("2"), seeds(), seeds()]
    for one in jobs:
        inbox.put(one)
    assert inbox.collect() == jobs[:2]
    assert inbox.collect() == jobs[2:4]
    assert inbox.collect() == jobs[4:]
    assert inbox.collect() == []


def test_a_group_is_as_old_as_its_first_job() -> None:
    clock = ManualClock()
    inbox = Inbox(clock)
    clock.advance_s(5.0)
    inbox.put(job())
    clock.advance_s(1.0)
    inbox.put(job())
    assert inbox.oldest_s() == clock.monotonic_s() - 1.0
    inbox.collect()
    assert inbox.oldest_s() is None


def test_what_a_group_leaves_behind_ages_from_then_on() -> None:
    clock = ManualClock()
    inbox = Inbox(clock)
    inbox.put(seeds())
    inbox.put(job())
    clock.advance_s(3.0)
    inbox.collect()
    assert inbox.oldest_s() == clock.monotonic_s()


def test_a_new_group_ages_anew() -> None:
    clock = ManualClock()
    inbox = Inbox(clock)
    inbox.put(job())
    inbox.collect()
    clock.advance_s(9.0)
    inbox.put(job())
    assert inbox.oldest_s() == clock.monotonic_s()


def test_nobody_waits_for_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = Inbox(ManualClock())
    waits: list[float] = []
    monkeypatch.setattr(inbox._changed, "wait", waits.append)
    inbox.put(job())
    inbox.wait(3.0)
    assert waits == []
    inbox.collect()
    inbox.wait(3.0)
    assert waits == [3.0]


def test_a_group_that_is_there_may_still_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = Inbox(ManualClock())
    waits: list[float] = []
    monkeypatch.setattr(inbox._changed, "wait", waits.append)
    inbox.put(job())
    inbox.linger(0.005)
    assert waits == [0.005]


@pytest.mark.parametrize("way", ["wait", "linger"])
@pytest.mark.parametrize("event", ["put", "nudge"])
def test_the_writer_is_woken(way: str, event: str) -> None:
    inbox = Inbox(ManualClock())
    with waiter(inbox, getattr(inbox, way)) as went_on:
        assert not went_on.is_set()
        if event == "put":
            inbox.put(job())
        else:
            inbox.nudge()
        assert went_on.wait(LONG_S / 2)


def test_jobs_of_many_threads_are_all_there() -> None:
    inbox = Inbox(ManualClock())

    def put_many() -> None:
        for _ in range(200):
            inbox.put(job())

    threads = [threading.Thread(target=put_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
    assert len(inbox.collect()) == 800
