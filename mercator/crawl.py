"""`Crawl`: the one door, for the command line and for notebooks alike."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from mercator.assembly import Parts, Shard, build_shard, real_parts
from mercator.config import CrawlConfig
from mercator.engine.inbox import Readmit
from mercator.engine.owed import owe
from mercator.errors import (
    CrawlFailedError,
    MercatorError,
    StateError,
    StoreError,
    UsageError,
)
from mercator.program import user_agent, version
from mercator.reader import (
    StoreReader,
    config_row,
    known_fields,
    now_at,
    open_tables,
    stored_config,
)
from mercator.records import (
    Status,
)
from mercator.report.status import stored_status
from mercator.seeds import check_contact, parsed_seeds
from mercator.store.check import Report, check
from mercator.store.folder import StoreFolder
from mercator.store.lmdb_tables import LmdbTables
from mercator.store.manifest import Manifest
from mercator.store.stored_bodies import StoredBodies
from mercator.urls.canonical import versions

if TYPE_CHECKING:
    pass

_log = logging.getLogger("mercator")

RULES = ("scope", "include", "exclude", "max_depth", "max_pages_per_host", "obey_nofollow")
"""Settings that refuse URLs; when one of them changes, what they refused is judged anew."""


class Crawl(StoreReader):
    """A crawl into one store: started, watched, stopped and read from any thread or notebook cell.

    `store` is the folder; `seeds` are URLs (needed for a new store, added to an old one); settings
    that `config` does not give are the store's last ones. Nothing is touched before `start`.
    Raises UsageError for a seed that is no URL.

    Threads: safe from any thread; `_shard` and `_settings` (of the run) are set under `_lock`.
    """

    def __init__(
        self,
        store: str | Path,
        seeds: Iterable[str] = (),
        config: CrawlConfig | None = None,
    ) -> None:
        if isinstance(seeds, str):
            raise UsageError("seeds must be a list of URLs, not one string")
        super().__init__(Path(store), list(seeds), config or CrawlConfig())
        parsed_seeds(self._seeds, self._config)
        self._lock = threading.Lock()
        self._shard: Shard | None = None
        self._settings = self._config

    @classmethod
    def open(cls, store: str | Path) -> Crawl:
        """An existing store, to read, retry or check it. Raises StoreMissingError."""
        StoreFolder(store).open()
        return cls(store)

    # -- lifetime --------------------------------------------------------------------------------------

    def start(self) -> Crawl:
        """Opens or makes the store and starts the threads; returns at once.

        Raises StoreMissingError (no store and no seeds to make one), UsageError (no contact),
        ConfigError, the other StoreErrors, and StateError when it is running already. Nothing is
        written when it raises before the start.
        """
        with self._lock:
            if self._shard is not None and not self._shard.engine.wait(0):
                raise StateError(f"this crawl of {self._path} is running; stop it first")
            folder, config = self._open_folder()
            try:
                self._shard = self._build(folder, config, seeds=self._seeds)
                self._settings = config
            except BaseException:
                folder.unlock()
                raise
        return self

    def _open_folder(self) -> tuple[StoreFolder, CrawlConfig]:
        """The locked folder and the settings of this run; all that can be wrong is found before
        anything is written."""
        folder = StoreFolder(self._path)
        if folder.exists():
            info = folder.open()
            stored = stored_config(folder)
            if not stored and not self._seeds:
                raise UsageError(
                    f"the run that made {self._path} was ended before it had kept its seeds and "
                    "settings; give them again"
                )
            config = self._config.over({**stored, "url_policy": info.url_policy})
            check_contact(self._seeds, config)
            folder.lock(now_at())
            return folder, config
        if not self._seeds:
            folder.open()  # raises StoreMissingError, which says how a store is made
        config = self._config
        check_contact(self._seeds, config)
        folder.lock(now_at())
        try:
            folder.create(
                shards=1,
                url_policy=config.url_policy,
                versions={"mercator": version(), **versions()},
                make_shard=lambda path: open_tables(path, config.map_bytes).close(),
            )
        except BaseException:
            folder.unlock()
            raise
        return folder, config

    def _build(self, folder: StoreFolder, config: CrawlConfig, *, seeds: Sequence[str]) -> Shard:
        tables = open_tables(folder.shard_path(0), config.map_bytes, create=False)
        parts: Parts | None = None
        try:
            before = config_row(tables)
            parts = self._make_parts(config, folder, tables)
            shard = build_shard(config, parts, partial(self._ended, parts, tables, folder))
            now = config.as_dict()
            changed = bool(before) and any(before.get(rule) != now[rule] for rule in RULES)
            with tables.write() as txn:
                txn.meta.put("config", now)
                owed = owe(txn, seeds, rules=changed)
            Manifest(folder.path).begin(
                unix_s=now_at(),
                seeds=seeds,
                user_agent=user_agent(config),
                mercator=version(),
                versions=versions(),
                config=now,
            )
            pieces = {name: parsed_seeds(texts, config) for name, texts in owed.seeds.items()}
            shard.engine.start(pieces, readmit=owed.rules)
        except BaseException:
            if parts is None:
                tables.close()
            else:
                _close(parts, tables, folder)
            raise
        return shard

    def _make_parts(self, config: CrawlConfig, folder: StoreFolder, tables: LmdbTables) -> Parts:
        """The adapters of a run; a crash test's subclass sets `Parts.at` here."""
        return real_parts(config, folder, tables)

    def wait(self, timeout_s: float | None = None) -> bool:
        """True when the crawl has ended, False when the time ran out.

        Raises StoreError or CrawlFailedError when it ended by a fault.
        """
        shard = self._running()
        if not shard.engine.wait(timeout_s):
            return False
        error = shard.engine.error
        if isinstance(error, MercatorError):
            raise error
        if error is not None:
            raise CrawlFailedError(
                f"the crawl stopped by a fault of its own: {type(error).__name__}: {error}"
            ) from error
        return True

    def stop(self, reason: str = "interrupted", wait: bool = True) -> None:
        """Hands nothing out any more; requests in flight end and are committed. Does nothing when
        the crawl is not running."""
        shard = self._shard
        if shard is None:
            return
        shard.engine.stop(reason)
        if wait:
            shard.engine.wait()

    def pause(self) -> None:
        """Hands nothing out until `resume`; requests in flight end."""
        self._running().engine.pause(True)

    def resume(self) -> None:
        """Goes on after `pause`."""
        self._running().engine.pause(False)

    def add(self, urls: Iterable[str]) -> None:
        """Adds seeds; of a running crawl, returns when they are durable.

        Raises UsageError for a text that is no URL, and without a contact for a real site (before
        the start, `start` does).
        """
        texts = list(urls)
        with self._lock:
            shard, settings = self._shard, self._settings
        found = parsed_seeds(texts, settings)
        if shard is None:
            self._seeds.extend(texts)
            return
        if shard.engine.wait(0):
            raise StateError("the crawl has ended; start it again with the new seeds")
        check_contact(texts, settings)
        if not shard.engine.add(found):
            raise StateError("the crawl ended before the new seeds were kept; give them again")

    def __enter__(self) -> Crawl:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # -- reading ---------------------------------------------------------------------------------------

    def status(self) -> Status:
        """The summary: live while running, of the store otherwise."""
        shard = self._shard
        if shard is not None and (not shard.engine.wait(0) or shard.engine.error is not None):
            return shard.engine.status()
        if not StoreFolder(self._path).exists():
            return Status()
        with self._reading() as tables:
            return stored_status([tables])

    # -- mending ---------------------------------------------------------------------------------------

    def retry(self, reason: str | None = None) -> int:
        """Gives URLs that were given up another chance (with `reason`: those that have it); how many
        became pending. The store must not be in use."""
        with self._alone() as (folder, tables, config):
            parts = real_parts(config, folder, tables)
            counted: list[int] = []
            jobs = [Readmit(reason, False, counted.append)]
            with tables.read() as txn:
                run = dict(_mapping(txn.meta.get("run")))
            try:
                shard = build_shard(config, parts, lambda: None)
                while not counted:
                    shard.writer.commit(jobs, starving=False, run=run)
                    jobs = []
                shard.writer.close(run)
            finally:
                _close_network(parts)
            return counted[0]

    def check(self, repair: bool = False) -> Report:
        """Is the store whole; with `repair`, mends what can be mended. It must not be in use."""
        with self._alone() as (folder, tables, _):
            return check(tables, StoredBodies(folder.path), repair=repair)

    def _ended(self, parts: Parts, tables: LmdbTables, folder: StoreFolder) -> None:
        """The run is over, in order or not: its end goes into the manifest, the store is given up."""
        try:
            Manifest(folder.path).end(unix_s=now_at(), summary=self.status().as_dict())
        except StoreError as error:
            # The tables are whole without it, and there may be no room for it.
            _log.warning("the manifest could not be completed: %s", error)
        finally:
            _close(parts, tables, folder)

    # -- inside ----------------------------------------------------------------------------------------

    def _running(self) -> Shard:
        if self._shard is None:
            raise StateError("the crawl has not been started")
        return self._shard

    @contextmanager
    def _alone(self) -> Iterator[tuple[StoreFolder, LmdbTables, CrawlConfig]]:
        folder = StoreFolder(self._path)
        folder.open()
        folder.lock(now_at())
        try:
            tables = open_tables(folder.shard_path(0), create=False)
            try:
                yield folder, tables, CrawlConfig(**known_fields(config_row(tables)))
            finally:
                tables.close()
        finally:
            folder.unlock()

    def __repr__(self) -> str:
        return f"Crawl({str(self._path)!r}, {self.status()!r})"

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _close(parts: Parts, tables: LmdbTables, folder: StoreFolder) -> None:
    _close_network(parts)
    tables.close()
    folder.unlock()


def _close_network(parts: Parts) -> None:
    parts.fetcher.close()
    parts.resolver.close()
    if parts.executor is not None:
        # A look-up that hangs in the system's resolver cannot be ended; it is not waited for.
        parts.executor.shutdown(wait=False, cancel_futures=True)
    parts.documents.close()
