"""The nursery's handle: crawlers are born, and how they died is told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.crash.life import Life

ROOT = Path(__file__).parent.parent.parent
END_S = 70.0


class Nursery:
    """Runs one life after the other in processes of their own.

    Threads: confined to one thread.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._alive = False

    def begin(self, life: Life) -> None:
        """Starts a life; nothing waits for it. One whose end nobody has asked for (a test that broke
        off) is waited for first."""
        if self._alive:
            self.end()
        self._alive = True
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(life._asdict(), default=dict) + "\n")
        self._process.stdin.flush()

    def end(self) -> int:
        """Waits for its end: the exit code, or the number of the signal below zero.

        Raises RuntimeError when the nursery itself has ended.
        """
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        self._alive = False
        if not answer:
            raise RuntimeError("the nursery has ended; its error is above")
        return int(answer)

    def run(self, life: Life) -> int:
        """A whole life."""
        self.begin(life)
        return self.end()


@contextmanager
def nursery() -> Iterator[Nursery]:
    """A nursery in a process of its own; leaving it waits for the life that is being lived."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.victim"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        yield Nursery(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(END_S)
        process.stdout.close()
