"""Real threads under a virtual clock: one runs at a time, and time jumps from wake-up to wake-up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from mercator.testing import ManualClock

PATIENCE_S = 30.0
"""Against a test that hangs; never waited for when the code is right."""


class VirtualThreads:
    """Runs functions as threads; each is given a `wait(seconds)` that parks it until its time comes.

    `late_s(k)` is how late the k-th wake-up comes. Of two that wake at the same moment the one that
    parked first goes first, so a run repeats exactly.
    Threads: `run` by one thread; `wait` by the threads it starts.
    """

    def __init__(self, clock: ManualClock, late_s: Callable[[int], float]) -> None:
        self.clock = clock
        self.wakes = 0
        self._late_s = late_s
        self._turn = threading.Condition()
        self._parked: list[tuple[float, int, int]] = []
        self._parkings = 0
        self._running: int | None = None
        self._failures: list[BaseException] = []

    def run(self, bodies: Sequence[Callable[[Callable[[float], bool]], None]]) -> None:
        """Runs all to their end; raises what the first of them raised."""
        threads = [
            threading.Thread(target=self._body, args=(index, body), daemon=True)
            for index, body in enumerate(bodies)
        ]
        with self._turn:
            for index in range(len(bodies)):
                self._park(index, 0.0)
        for thread in threads:
            thread.start()
        with self._turn:
            while self._parked:
                self._parked.sort()
                wake_s, _, index = self._parked.pop(0)
                self.clock.advance_s(max(0.0, wake_s - self.clock.monotonic_s()))
                self._running = index
                self._turn.notify_all()
                assert self._turn.wait_for(lambda: self._running is None, PATIENCE_S)
        for thread in threads:
            thread.join(PATIENCE_S)
        if self._failures:
            raise self._failures[0]

    def _body(self, index: int, body: Callable[[Callable[[float], bool]], None]) -> None:
        def wait(seconds: float) -> bool:
            with self._turn:
                self.wakes += 1
                self._park(index, seconds + self._late_s(self.wakes))
                self._running = None
                self._turn.notify_all()
                assert self._turn.wait_for(lambda: self._running == index, PATIENCE_S)
            return False

        with self._turn:
            assert self._turn.wait_for(lambda: self._running == index, PATIENCE_S)
        try:
            body(wait)
        except BaseException as failure:  # handed to the test's own thread
            self._failures.append(failure)
        with self._turn:
            self._running = None
            self._turn.notify_all()

    def _park(self, index: int, seconds: float) -> None:
        self._parkings += 1
        self._parked.append((self.clock.monotonic_s() + seconds, self._parkings, index))
