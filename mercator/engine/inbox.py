"""The writer's inbox: finished visits and orders, in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mercator.engine.outcome import Finished, Found
from mercator.ports import Clock


class Add(NamedTuple):
    """Seeds to admit; `done` is called with nothing after their commit. `owed` is the row of `meta`
    that has kept them since the run began, "" for none (`owed.py`).
    Threads: immutable.
    """

    seeds: Sequence[Found]
    done: Callable[[], None]
    owed: str = ""


class Readmit(NamedTuple):
    """Takes URLs back whose reason no longer stands: `reason` (or all of `retry`'s reasons where
    `rules` is False), or what today's rules admit; of one host where `prefix` is its id. `done` gets
    how many became pending, after the commit.
    Threads: immutable.
    """

    reason: str | None
    rules: bool
    done: Callable[[int], None]
    prefix: bytes = b""


class Fault(NamedTuple):
    """A worker cannot go on: the disk is full, or our own code is wrong outside of any visit.

    Threads: immutable.
    """

    error: BaseException


Job = Finished | Add | Readmit | Fault


class Inbox:
    """A queue that is collected in groups.

    It is bounded by its producers: at most 2 x threads visits are on lease, and whoever adds seeds
    does so in pieces and waits for each. Threads: guarded by its lock (leaf).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._since_s: float | None = None

    def __len__(self) -> int:
        return len(self._jobs)

    def put(self, job: Job) -> None:
        """Hands a job to the writer."""
        with self._changed:
            self._jobs.append(job)
            if self._since_s is None:
                self._since_s = self._clock.monotonic_s()
            self._changed.notify()

    def nudge(self) -> None:
        """Wakes the writer to look at the state of the crawl."""
        with self._changed:
            self._changed.notify()

    def oldest_s(self) -> float | None:
        """When the first job of the next group came (monotonic), or None."""
        return self._since_s

    def collect(self) -> list[Job]:
        """Takes what is there, without waiting; at most one piece of seeds, so that a list of a
        million is admitted in many short transactions."""
        jobs: list[Job] = []
        with self._changed:
            while self._jobs:
                jobs.append(self._jobs.popleft())
                if isinstance(jobs[-1], Add):
                    break
            self._since_s = self._clock.monotonic_s() if self._jobs else None
            return jobs

    def wait(self, timeout_s: float) -> None:
        """Waits until something comes, at most that long."""
        with self._changed:
            if not self._jobs:
                self._changed.wait(timeout_s)

    def linger(self, timeout_s: float) -> None:
        """Waits for the group to grow, at most that long."""
        with self._changed:
            self._changed.wait(timeout_s)
