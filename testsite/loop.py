"""A selector loop with timers: what the server needs of an event loop and no more.

asyncio's transports hide the moment at which the last byte is written, which the log must know, and
cost about as much again as the whole answer.
"""

from __future__ import annotations

import heapq
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic

READ = selectors.EVENT_READ
WRITE = selectors.EVENT_WRITE


class Timer:
    """A callback that is due at a time. Threads: confined to the loop's thread."""

    __slots__ = ("at_s", "callback", "number")

    def __init__(self, at_s: float, number: int, callback: Callable[[], None]) -> None:
        self.at_s = at_s
        self.number = number
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """The callback will not be called."""
        self.callback = None

    def __lt__(self, other: Timer) -> bool:
        return (self.at_s, self.number) < (other.at_s, other.number)


class Loop:
    """Calls back when sockets are ready and when timers are due.

    An exception out of a callback ends `run` and leaves it: a fault of the test site must be seen.
    Threads: confined to the thread in `run`, except `call_from_thread` and `stop`.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[Timer] = []
        self._numbers = 0
        self._calls: deque[Callable[[], None]] = deque()
        self._due: list[Callable[[], None]] = []
        self._stopping = threading.Event()
        self._woken, self._waker = socket.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        self.watch(self._woken, READ, self._on_woken)

    def watch(self, sock: socket.socket, events: int, callback: Callable[[int], None]) -> None:
        """Calls back with the events that have come, until `forget`."""
        self._selector.register(sock, events, callback)

    def change(self, sock: socket.socket, events: int, callback: Callable[[int], None]) -> None:
        """Watches for other events from now on."""
        self._selector.modify(sock, events, callback)

    def forget(self, sock: socket.socket) -> None:
        """Watches the socket no longer; before it is closed."""
        self._selector.unregister(sock)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Calls back once, no sooner than in that many seconds."""
        self._numbers += 1
        timer = Timer(monotonic() + seconds, self._numbers, callback)
        heapq.heappush(self._timers, timer)
        return timer

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        """Calls back soon, in the loop's thread, after every event that has happened before."""
        self._calls.append(callback)
        self._wake()

    def stop(self) -> None:
        """Ends `run` after the current round; from any thread and from a signal handler."""
        self._stopping.set()
        self._wake()

    def run(self) -> None:
        """Until `stop`."""
        select = self._selector.select
        while not self._stopping.is_set():
            due, self._due = self._due, []
            for key, events in select(0.0 if due else self._timeout_s()):
                key.data(events)
            if self._timers:
                self._run_timers()
            for call in due:
                call()

    def close(self) -> None:
        """Frees the selector; after `run`."""
        self._selector.close()
        self._woken.close()
        self._waker.close()

    def _timeout_s(self) -> float | None:
        timers = self._timers
        while timers and timers[0].callback is None:
            heapq.heappop(timers)
        return max(0.0, timers[0].at_s - monotonic()) if timers else None

    def _run_timers(self) -> None:
        now_s = monotonic()
        while self._timers and self._timers[0].at_s <= now_s:
            callback = heapq.heappop(self._timers).callback
            if callback is not None:
                callback()

    def _wake(self) -> None:
        try:
            self._waker.send(b"\0")
        except BlockingIOError:
            pass  # full of wake-ups that have not been read: the loop will wake

    def _on_woken(self, events: int) -> None:
        try:
            self._woken.recv(4096)
        except BlockingIOError:
            pass  # a spurious event; the calls below are looked at anyway
        # Events come in no order, so what happened before a call is surely in the next round only.
        while self._calls:
            self._due.append(self._calls.popleft())
