"""The log: a JSON line a request, which tests and benches judge a crawler by."""

from __future__ import annotations

import json
import os
from collections import Counter
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import TypedDict, cast

from testsite.loop import Loop, Timer

FLUSH_S = 0.02
_KEPT = 2_000_000


class Entry(TypedDict):
    """One request, as the log tells it. Threads: not shared; every reading makes new ones."""

    t: float
    """CLOCK_MONOTONIC seconds when the request's head was complete."""
    t_end: float
    """Just before the call that wrote the last byte; the moment of the end of a broken one."""
    host: str
    path: str
    status: int
    """0 where no status line was sent."""
    peer: str
    """IP:port."""


def parse_lines(lines: list[str]) -> list[Entry]:
    """The entries behind log lines."""
    return [cast(Entry, json.loads(line)) for line in lines]


def read_log(path: Path) -> list[Entry]:
    """The entries of a log file. A last line that is still being written is left out."""
    text = path.read_text(encoding="ascii")
    return parse_lines(text[: text.rfind("\n") + 1].splitlines())


class Log:
    """Writes lines to a file (made anew), keeps them in memory, or both.

    A line is in the file at most `FLUSH_S` after its request (with the system, so that no later end
    of a process loses it), at once after `flush`. In memory at most 2,000,000 are kept.
    Threads: confined to the loop's thread; `close` after the loop's end.
    """

    def __init__(self, loop: Loop, path: Path | None = None, *, keep: bool = False) -> None:
        self._loop = loop
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        self._file = None if path is None else os.open(path, flags, 0o644)
        self._waiting: list[str] = []
        self._timer: Timer | None = None
        self._kept: list[str] | None = [] if keep else None
        self.statuses: Counter[int] = Counter()

    def add(self, t: float, t_end: float, host: str, path: str, status: int, peer: str) -> None:
        """A line for a request that has ended."""
        self.statuses[status] += 1
        line = (
            f'{{"t":{t:.6f},"t_end":{t_end:.6f},"host":{encode_basestring_ascii(host)},'
            f'"path":{encode_basestring_ascii(path)},"status":{status},"peer":"{peer}"}}\n'
        )
        if self._file is not None:
            self._waiting.append(line)
            if self._timer is None:
                self._timer = self._loop.call_later(FLUSH_S, self.flush)
        if self._kept is not None:
            if len(self._kept) >= _KEPT:
                raise MemoryError(f"the log holds {_KEPT} lines; clear it between tests")
            self._kept.append(line)

    def flush(self) -> None:
        """Hands all lines to the system."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting and self._file is not None:
            data = memoryview("".join(self._waiting).encode())
            self._waiting.clear()
            while data:
                data = data[os.write(self._file, data) :]

    def lines(self) -> list[str]:
        """A copy of the lines in memory."""
        return list(self._kept or ())

    def clear(self) -> None:
        """Forgets lines in memory and counts; the file stays."""
        self.statuses.clear()
        if self._kept is not None:
            self._kept.clear()

    def close(self) -> None:
        """Flushes and closes the file."""
        self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None
