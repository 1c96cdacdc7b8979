"""The line that tells a person how a running crawl fares."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TextIO

from mercator.ports import Clock
from mercator.records import Status

CLEAR_LINE = "\r\x1b[K"
EVERY_S = 10.0
EVERY_LIVE_S = 1.0


class Progress:
    """A line every 10 s; on a terminal (`live`) one line, rewritten every second.

    Threads: confined to the thread that waits for the crawl.
    """

    def __init__(self, out: TextIO, clock: Clock, *, quiet: bool) -> None:
        self.live = not quiet and out.isatty()
        self._out = out
        self._clock = clock
        self._every_s = EVERY_LIVE_S if self.live else EVERY_S
        self._next_at_s = float("inf") if quiet else clock.monotonic_s() + self._every_s

    def tick(self, status: Callable[[], Status]) -> None:
        """Shows the status when its time has come; asks for it only then."""
        now_s = self._clock.monotonic_s()
        if now_s < self._next_at_s:
            return
        self._next_at_s = now_s + self._every_s
        self._show(progress_line(status()))

    def close(self) -> None:
        """Takes the live line away."""
        if self.live:
            self._show("")

    def _show(self, text: str) -> None:
        try:
            if self.live:
                width = shutil.get_terminal_size().columns - 1
                self._out.write(CLEAR_LINE + text[:width])
            else:
                self._out.write(text + "\n")
            self._out.flush()
        except OSError:
            # Whoever read the progress has gone; that must not end a crawl of a month.
            self._next_at_s = float("inf")


def progress_line(status: Status) -> str:
    """What counts while a crawl runs, on one line."""
    return (
        f"{status.elapsed_s:.0f} s: {status.stored} stored ({status.pages_per_s:.1f}/s), "
        f"{status.pending} pending, {status.in_flight} in flight, "
        f"{status.failed + status.gone} failed or gone, {status.hosts} hosts"
    )
