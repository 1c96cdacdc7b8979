"""A round: one crawl that is killed and resumed until it ends, and what was seen at each death."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mercator.errors import StoreError
from mercator.store.folder import StoreFolder
from mercator.store.lmdb_tables import LmdbTables
from tests.crash.evidence import Evidence, read_store
from tests.crash.life import NEVER, Death, Life
from tests.crash.nursery import Nursery
from tests.crash.scene import Scene
from testsite.hosts import CONTROL_HOST
from testsite.log import Entry, read_log
from testsite.process import Running, running

_ASKS = 5000
"""Looks at the site until it is quiet; a look takes a millisecond."""


class Burial(NamedTuple):
    """A kill: how many requests the site's log held then, and what the store did. Threads: immutable."""

    death: Death
    requests: int
    evidence: Evidence | None


class Course(NamedTuple):
    """A round that has come to its end. Threads: immutable.

    `complaints` are lives that ended in another way than by a kill or in order.
    """

    scene: Scene
    store: Path
    burials: tuple[Burial, ...]
    complaints: tuple[str, ...]
    final: Evidence | None
    log: tuple[Entry, ...]


class Round:
    """One store, one site, one life after the other.

    The store is copied after each kill and the next life begins at once; the copy is read beside it.
    Threads: confined to one thread.
    """

    def __init__(self, scene: Scene, folder: Path, nursery: Nursery, site: Running) -> None:
        self.store = folder / "store"
        self.finished = False
        self._scene = scene
        self._copy = folder / "copy"
        self._nursery = nursery
        self._site = site
        self._begun = False
        self._asked_before = len(self._requests())
        self._buried: tuple[Death, int] | None = None
        self._burials: list[Burial] = []
        self._complaints: list[str] = []

    def live(self, death: Death, *, adds: tuple[str, ...] = (), cold: bool = False) -> bool:
        """One life; says whether it died as it should. Without a death of its own it ends the crawl.

        Seeds and settings are given again until the store holds the settings: a person whose crawl
        died before that is told to.
        """
        life = Life(str(self.store), death, adds=adds, cold=cold)
        if not self._begun:
            life = life._replace(
                seeds=self._scene.seeds, config=self._scene.config(self._site.resolve)
            )
        self._nursery.begin(life)
        self._examine()
        code = self._nursery.end()
        if code == -signal.SIGKILL:
            self._bury(death)
            return True
        self.finished = True
        if code:
            self._complaints.append(f"{death} ended with exit code {code}")
        return False

    def run(self, deaths: Iterable[Death], *, cold: bool = False) -> Course:
        """Dies each death in turn, unless the crawl ends before, and goes on to the end."""
        for death in deaths:
            if not self.live(death, cold=cold):
                break
        return self.end()

    def end(self) -> Course:
        """Lets the crawl come to its end and reads what is there."""
        if not self.finished:
            self.live(NEVER)
        return Course(
            self._scene,
            self.store,
            tuple(self._burials),
            tuple(self._complaints),
            read_store(self.store),
            tuple(self.log()),
        )

    def log(self) -> list[Entry]:
        """The site's log since the round began, with all that the dead have asked."""
        return self._requests()[self._asked_before :]

    def _bury(self, death: Death) -> None:
        """Takes down what is there, before the next life changes it."""
        self._buried = (death, len(self.log()))
        if self.store.exists():
            shutil.copytree(self.store, self._copy)
        self._begun = self._begun or _holds_settings(self.store)

    def _examine(self) -> None:
        """Reads the copy of the last burial."""
        if self._buried is None:
            return
        evidence = read_store(self._copy) if self._copy.exists() else None
        shutil.rmtree(self._copy, ignore_errors=True)
        self._burials.append(Burial(*self._buried, evidence))
        self._buried = None

    def _requests(self) -> list[Entry]:
        """The site's whole log, when nothing is being answered any more: requests that were broken
        off have ended before the next life begins.

        Raises RuntimeError when the site does not come to rest.
        """
        quiet = 0
        for _ in range(_ASKS):
            # The question itself is in flight. Twice, because the site may still have to read what
            # the dead had sent.
            quiet = quiet + 1 if self._in_flight() == 1 else 0
            if quiet == 2:
                entries = read_log(self._site.log_path)
                return [entry for entry in entries if entry["host"] != CONTROL_HOST]
        raise RuntimeError("the site does not come to rest")

    def _in_flight(self) -> int:
        _, body = self._site.ask("/status", CONTROL_HOST)
        return int(json.loads(body)["in_flight"])


@contextmanager
def round_of(scene: Scene, folder: Path, nursery: Nursery) -> Iterator[Round]:
    """A round on a site of its own."""
    folder.mkdir()
    with running(folder, *scene.site_options()) as site:
        yield Round(scene, folder, nursery, site)


def undisturbed(scene: Scene, folder: Path, nursery: Nursery) -> Course:
    """The same crawl in one life."""
    with round_of(scene, folder, nursery) as calm:
        return calm.end()


def _holds_settings(store: Path) -> bool:
    """Whether a run has written its settings into the store."""
    shard = StoreFolder(store).shard_path(0)
    try:
        tables = LmdbTables.open(shard, map_bytes=1 << 30, read_only=True)
    except StoreError:
        return False
    try:
        with tables.read() as txn:
            return txn.meta.get("config") is not None
    finally:
        tables.close()
