from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from time import monotonic

import pytest

from testsite.loop import READ, Loop


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


def test_timers_run_in_order_and_never_early(loop: Loop) -> None:
    ran: list[tuple[str, float]] = []
    started = monotonic()
    loop.call_later(0.03, loop.stop)
    for name, delay_s in (("c", 0.02), ("a", 0.0), ("b", 0.01)):
        loop.call_later(delay_s, lambda name=name: ran.append((name, monotonic() - started)))  # type: ignore[misc]
    loop.run()
    assert [name for name, _ in ran] == ["a", "b", "c"]
    assert all(at >= early for (_, at), early in zip(ran, (0.0, 0.01, 0.02), strict=True))


def test_timers_due_at_once_keep_their_order(loop: Loop) -> None:
    ran: list[int] = []
    for number in range(50):
        loop.call_later(0.0, lambda number=number: ran.append(number))  # type: ignore[misc]
    loop.call_later(0.001, loop.stop)
    loop.run()
    assert ran == list(range(50))


def test_a_cancelled_timer_does_not_run(loop: Loop) -> None:
    ran: list[int] = []
    timer = loop.call_later(0.0, lambda: ran.append(1))
    timer.cancel()
    loop.call_later(0.005, loop.stop)
    loop.run()
    assert ran == []


def test_a_call_from_a_thread_comes_after_what_happened_before(loop: Loop) -> None:
    pairs = [socket.socketpair() for _ in range(20)]
    seen: list[str] = []
    for ours, _ in pairs:
        loop.watch(ours, READ, lambda _, sock=ours: seen.append(sock.recv(9).decode()))  # type: ignore[misc]
    thread = threading.Thread(target=loop.run)
    thread.start()
    found = []
    for number in range(200):
        answered = threading.Event()
        for _, theirs in pairs:
            theirs.send(b"x")

        def look(answered: threading.Event = answered) -> None:
            found.append(len(seen))
            answered.set()

        loop.call_from_thread(look)
        assert answered.wait(10)
        assert found[-1] == 20 * (number + 1)
    loop.stop()
    thread.join(10)
    for pair in pairs:
        for sock in pair:
            sock.close()


def test_a_fault_in_a_callback_ends_the_loop(loop: Loop) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    loop.call_later(0.0, fail)
    with pytest.raises(ZeroDivisionError):
        loop.run()


def test_stop_before_run_ends_it_at_once(loop: Loop) -> None:
    loop.stop()
    loop.run()
