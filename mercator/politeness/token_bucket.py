"""The rate of the whole crawl: a token bucket whose bound holds for the releases that happen.

A thread that sleeps until its slot wakes late: mostly by a tenth of a millisecond, by ten or more
when the machine is loaded. A bucket that only hands out slots makes up for that by shortening the
next gap, as far as to nothing; a bucket that forgets it is slower than its rate. This one counts at
the release, not at the reservation, and makes up for lateness within two bounds.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import NamedTuple

from mercator.ports import Clock

_GRAIN_S = 1e-6
"""What counts as now: below what any wait can do, above what adding up floats can lose."""

_MADE_UP_PER_GAP_S = 0.002 - _GRAIN_S
_MADE_UP_IN_ALL_S = 0.006 - _GRAIN_S

_LONGEST_NAP_S = 1.0
"""Waiters look again at least so often, so that those who sleep already feel a raised rate."""


class _Place(NamedTuple):
    """One waiter in `acquire`: for how many tokens, and when it will look (monotonic seconds).

    Threads: immutable.
    """

    n: int
    due_s: float


class TokenBucket:
    """`rate` releases a second, and up to `capacity` at once after a rest; it starts full.

    In any window of T seconds at most capacity + rate x (T + 6 ms) are released by `acquire` and
    `try_acquire`, however late waiters wake. Lateness shortens a later gap by at most 2 ms.
    `acquire` serves in the order of arrival, except that who is late lets the others pass.

    Raises ValueError for a rate that is not above 0, a capacity below 1, or an `n` that is not in
    1..capacity (it could never be served).
    Threads: safe from any thread; guarded by `_lock` (leaf, never held while waiting).
    """

    def __init__(self, rate: float, capacity: float = 1.0, *, clock: Clock) -> None:
        if not (math.isfinite(capacity) and capacity >= 1):
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self._rate = _checked_rate(rate)
        self._capacity = float(capacity)
        self._clock = clock
        self._lock = threading.Lock()
        self._level = self._capacity  # tokens; below 0 while slots are reserved ahead
        self._late_s = 0.0  # lateness of waiters that may still be made up for
        self._at_s = clock.monotonic_s()  # the moment that `_level` is of
        self._queue: dict[int, _Place] = {}  # who waits in `acquire`, in order of arrival
        self._arrivals = 0
        self._waited_s = 0.0

    @property
    def waited_s(self) -> float:
        """Seconds waited in `acquire`, and handed out by `reserve`, all threads together."""
        with self._lock:
            return self._waited_s

    def set_rate(self, rate: float) -> None:
        """Changes the rate from now on; tokens saved up so far stay."""
        rate = _checked_rate(rate)
        with self._lock:
            self._advance_locked()
            self._rate = rate
            self._late_s = 0.0  # it was measured in gaps of another length

    def reserve(self, n: int = 1) -> float:
        """Takes `n` tokens now and says how many seconds to wait before using them.

        The caller waits outside and cannot tell how late it woke, so the bound holds for its slots.
        A reservation comes before the waiters in `acquire`, and cannot be given back.
        """
        self._check(n)
        with self._lock:
            self._advance_locked()
            self._level -= n
            wait_s = max(0.0, -self._level / self._rate)
            self._waited_s += wait_s
            return wait_s

    def try_acquire(self, n: int = 1) -> bool:
        """Takes `n` tokens if they are there and nobody waits for them; never waits."""
        self._check(n)
        with self._lock:
            self._advance_locked()
            if self._level + _GRAIN_S * self._rate < self._ahead_locked(self._arrivals + 1) + n:
                return False
            self._level -= n
            return True

    def acquire(self, n: int = 1, stop: Callable[[float], bool] | None = None) -> bool:
        """Waits for `n` tokens and takes them; False when interrupted, and then nothing was taken.

        `stop(wait_s)` waits that long and returns True to interrupt; without it the clock waits.
        Cost: O(waiting threads).
        """
        self._check(n)
        with self._lock:
            began_s = self._advance_locked()
            self._arrivals += 1
            place = self._arrivals
            wait_s = self._turn_locked(place, n)
        try:
            while wait_s > 0:
                if self._nap(min(wait_s, _LONGEST_NAP_S), stop):
                    return False
                with self._lock:
                    self._advance_locked()
                    wait_s = self._turn_locked(place, n)
        finally:
            # Also when `stop` raises: a place that nobody waits in would hold up all behind it.
            with self._lock:
                self._waited_s += self._advance_locked() - began_s
                self._queue.pop(place, None)
        return True

    def _check(self, n: int) -> None:
        if not 1 <= n <= self._capacity:
            raise ValueError(f"n must lie in 1..{self._capacity:g}, not {n}")

    def _nap(self, seconds: float, stop: Callable[[float], bool] | None) -> bool:
        if stop is not None:
            return stop(seconds)
        self._clock.sleep_s(seconds)
        return False

    def _advance_locked(self) -> float:
        """Fills up to now. What overflows while somebody waits is that waiter's lateness."""
        now_s = self._clock.monotonic_s()
        self._level += (now_s - self._at_s) * self._rate
        self._at_s = now_s
        over = self._level - self._capacity
        if over > 0:
            self._level = self._capacity
            late_s = self._late_s + over / self._rate if self._queue else 0.0
            self._late_s = min(_MADE_UP_IN_ALL_S, late_s)
        return now_s

    def _turn_locked(self, place: int, n: int) -> float:
        """Releases the waiter and returns 0, or returns how long it has to wait."""
        made_up_s = min(self._late_s, _MADE_UP_PER_GAP_S)
        needed = self._ahead_locked(place) + n
        if self._level + (made_up_s + _GRAIN_S) * self._rate < needed:
            wait_s = max(2 * _GRAIN_S, (needed - self._level) / self._rate - made_up_s)
            self._queue[place] = _Place(n, self._at_s + wait_s)
            return wait_s
        self._queue.pop(place, None)
        self._level -= n
        if self._level < 0:
            used_s = min(self._late_s, -self._level / self._rate)
            self._late_s -= used_s
            self._level += used_s * self._rate
        return 0.0

    def _ahead_locked(self, place: int) -> int:
        """Tokens that are meant for those who came before. Nothing is kept for a waiter that has
        slept past its time: else one that wakes late would hold up all."""
        ahead = 0
        for other, waiter in self._queue.items():
            if other >= place:
                break
            if waiter.due_s >= self._at_s - _MADE_UP_PER_GAP_S:
                ahead += waiter.n
        return ahead


def _checked_rate(rate: float) -> float:
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"rate must be above 0, not {rate}")
    return float(rate)
