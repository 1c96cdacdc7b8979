"""The real clock: the only module that imports `time`."""

from __future__ import annotations

import time


class RealClock:
    """Monotonic time, and Unix time derived from it.

    Unix time is read from the system once and carried on by the monotonic clock, so that a jump of
    the system's clock (NTP, suspend, a person) can neither shorten nor stretch a gap of this run.

    Threads: immutable.
    """

    def __init__(self) -> None:
        self._unix_zero_s = time.time() - time.monotonic()

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary moment; never goes back."""
        return time.monotonic()

    def unix_s(self) -> float:
        """Unix time, in seconds, as of the start plus the monotonic time since."""
        return self._unix_zero_s + time.monotonic()

    def sleep_s(self, seconds: float) -> None:
        """Blocks the calling thread; a negative or zero wait returns at once."""
        if seconds > 0:
            time.sleep(seconds)
