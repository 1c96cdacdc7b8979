"""The process that is killed. `python -m tests.crash.victim` is the nursery: it has imported the
crawler and forks a new one for each line that it reads, so that a killed crawler is back within
milliseconds. A restart that takes half a second to import itself would hide a gap that is too short.

The nursery is the parent of its crawlers and reaps them only after it has killed them: a process id
cannot have become another's. Threads: the nursery has one, or forking would not be safe.
"""

from __future__ import annotations

import faulthandler
import itertools
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from mercator.assembly import Parts
from mercator.config import CrawlConfig
from mercator.crawl import Crawl
from mercator.ports import Fetcher
from mercator.store.folder import StoreFolder
from mercator.store.lmdb_tables import LmdbTables
from mercator.values import FetchFailure, FetchRequest, FetchResult
from tests.crash.life import ADDED, FETCHED, Death, Life

LIMIT_S = 60.0
"""A life that lasts longer hangs: it is aborted and shows where its threads are."""

STEPS = frozenset(
    {
        os.open,
        os.mkdir,
        os.rename,
        os.replace,
        os.unlink,
        os.truncate,
        os.ftruncate,
        os.pwrite,
    }
)
"""Calls after which the disk may look different to the next process; a sync is none of them."""

STEP_METHODS = frozenset({"flush", "commit"})
"""The same of files and of LMDB, whose functions are made anew for each object."""

LINGER_S = 0.03
"""How long a thread stands at the point of its death before it dies of it, as on a slow disk: what the
others do meanwhile must be safe as well. What `Crawl.add` has promised must be true at once."""

_DEATH = {signal.SIGCHLD}


class MortalCrawl(Crawl):
    """A crawl that kills itself where its death says. Threads: as `Crawl`."""

    def __init__(self, life: Life) -> None:
        super().__init__(life.store, life.seeds, CrawlConfig(**life.config))
        self._death = life.death
        self._passages = itertools.count(1)

    def at(self, point: str) -> None:
        """A point is passed, possibly for the last time."""
        if point == self._death.point and next(self._passages) == self._death.nth:
            if point != ADDED:
                time.sleep(LINGER_S)
            _die()

    def _make_parts(self, config: CrawlConfig, folder: StoreFolder, tables: LmdbTables) -> Parts:
        parts = super()._make_parts(config, folder, tables)
        parts.at = self.at
        parts.fetcher = MortalFetcher(parts.fetcher, self.at)
        return parts


class MortalFetcher:
    """Passes the point `FETCHED` with each answer. Threads: as the fetcher that it stands for."""

    def __init__(self, fetcher: Fetcher, at: Callable[[str], None]) -> None:
        self._fetcher = fetcher
        self._at = at

    def fetch(self, request: FetchRequest) -> FetchResult | FetchFailure:
        """The answer, if the process lives on."""
        answer = self._fetcher.fetch(request)
        self._at(FETCHED)
        return answer

    def close(self) -> None:
        """Closes the fetcher."""
        self._fetcher.close()


def main() -> int:
    """Reads lives from standard input, one JSON line each, and says how each ended: its exit code,
    or the number of the signal that ended it, below zero."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _DEATH)
    for line in sys.stdin:
        fields = json.loads(line)
        life = Life(**{**fields, "death": Death(*fields["death"])})
        pid = os.fork()
        if pid == 0:
            os._exit(_live(life))
        sys.stdout.write(f"{_end_of(pid, life.death.after_s)}\n")
        sys.stdout.flush()
    return 0


def _end_of(pid: int, after_s: float | None) -> int:
    """Waits for the end of a life, or brings it about."""
    if signal.sigtimedwait(_DEATH, LIMIT_S if after_s is None else after_s) is None:
        os.kill(pid, signal.SIGABRT if after_s is None else signal.SIGKILL)
        signal.sigwait(_DEATH)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _live(life: Life) -> int:
    """The new process; gives its exit code."""
    os.dup2(2, 1)  # standard output is the nursery's
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _DEATH)
    faulthandler.enable()
    try:
        if life.cold:
            _become_command(life)
        if life.death.nth and not life.death.point:
            _die_before_step(life.death.nth)
        crawl = MortalCrawl(life)
        with crawl:
            if life.adds:
                crawl.add(life.adds)
                crawl.at(ADDED)
            crawl.wait()
    except BaseException as error:  # the fork must never return into the nursery's loop
        traceback.print_exc()
        return getattr(error, "exit_code", 1)
    return 0


def _become_command(life: Life) -> None:
    """`python -m mercator crawl`, as from a shell; settings go through a TOML file."""
    command = [sys.executable, "-m", "mercator", "crawl", *life.seeds, "--store", life.store]
    if life.config:
        # JSON's strings, numbers, truth values and lists are TOML's, too.
        lines = (f"{name} = {json.dumps(value)}\n" for name, value in life.config.items())
        path = Path(f"{life.store}.toml")
        path.write_text("".join(lines), encoding="utf-8")
        command += ["--config", str(path)]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execv(sys.executable, [*command, "--quiet"])


def _die_before_step(number: int) -> None:
    """Kills the process when any of its threads is about to call the `number`-th of `STEPS`."""
    steps = itertools.count(1)

    def profile(_: FrameType, event: str, function: Any) -> None:
        if event != "c_call":
            return
        is_step = function in STEPS or function.__name__ in STEP_METHODS
        if is_step and next(steps) == number:
            _die()

    threading.setprofile(profile)
    set_own: Callable[[Callable[[FrameType, str, Any], None]], None] = sys.setprofile
    set_own(profile)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
