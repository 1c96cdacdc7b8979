"""The reading half of `Crawl`: tables, bodies and explanations of a store, running or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercator.assembly import stored_scope
from mercator.clock import RealClock
from mercator.config import CrawlConfig
from mercator.errors import UsageError
from mercator.ports import Tables
from mercator.records import (
    Explanation,
    FailureRecord,
    HostRecord,
    LinkRecord,
    PageRecord,
    VisitRecord,
)
from mercator.report.explain import explain
from mercator.report.failures import failures
from mercator.report.hosts import hosts
from mercator.report.links import links
from mercator.report.lookup import find_page
from mercator.report.pages import pages
from mercator.report.visits import visits
from mercator.rows import PageRow
from mercator.seeds import parsed_seeds
from mercator.store.folder import StoreFolder
from mercator.store.lmdb_tables import LmdbTables
from mercator.store.memory_tables import MemoryTables
from mercator.store.stored_bodies import StoredBodies
from mercator.urls.canonical import Canonicalizer
from mercator.urls.scope import Scope
from mercator.values import BodyPlace, CanonicalUrl

if TYPE_CHECKING:
    from bs4 import BeautifulSoup


class StoreReader:
    """Reads a store beside whoever writes it: each call sees the last commit.

    `seeds` and `config` answer for a crawl whose store does not exist yet.
    Threads: safe from any thread; each iterator is confined to the thread that uses it.
    """

    def __init__(self, path: Path, seeds: Sequence[str], config: CrawlConfig) -> None:
        self._path = path
        self._config = config
        self._seeds = list(seeds)

    def pages(self) -> Iterator[PageRecord]:
        """One record a stored page."""
        return self._read(partial(pages, read_body=self._body_of, make_soup=_soup))

    def links(self) -> Iterator[LinkRecord]:
        """One record a link of a stored page, and a redirect."""
        return self._read(links)

    def failures(self) -> Iterator[FailureRecord]:
        """One record a URL that has a reason, the refused ones too."""
        return self._read(failures)

    def hosts(self) -> Iterator[HostRecord]:
        """One record a host."""
        return self._read(hosts)

    def visits(self) -> Iterator[VisitRecord]:
        """The politeness ledger: one record a request that was sent or tried."""
        return self._read(visits)

    def body(self, url: str) -> bytes:
        """The decompressed body of a stored page, by any spelling of its URL.

        Raises UsageError when no page is stored for it, StoreDamagedError when its body is lost.
        """
        with self._reading() as tables:
            config = self._config_in(tables)
            parsed = Canonicalizer(config.url_policy).parse(url)
            row = find_page([tables], parsed) if isinstance(parsed, CanonicalUrl) else None
        if row is None:
            raise UsageError(f"no page is stored for {url}; `explain` tells why")
        return self._body_of(row)

    def explain(self, url: str) -> Explanation:
        """What became of a URL (any spelling), and why."""
        with self._reading() as tables:
            config = self._config_in(tables)
            return explain(
                [tables],
                url,
                canonicalizer=Canonicalizer(config.url_policy),
                scope=self._scope_in(tables, config),
                user_agent=config.user_agent,
                now=now_at(),
            )

    # -- inside ----------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[Tables]:
        """The store's tables; empty ones for a crawl that could be started and has no store yet."""
        folder = StoreFolder(self._path)
        if self._seeds and not folder.exists():
            yield MemoryTables()
            return
        folder.open()
        tables = open_tables(folder.shard_path(0), read_only=True)
        try:
            yield tables
        finally:
            tables.close()

    def _read(self, rows: Callable[[Sequence[Tables]], Iterator[Any]]) -> Iterator[Any]:
        with self._reading() as tables:
            yield from rows([tables])

    def _config_in(self, tables: Tables) -> CrawlConfig:
        """The store's settings; this crawl's own before its first start."""
        row = config_row(tables)
        return CrawlConfig(**known_fields(row)) if row else self._config

    def _scope_in(self, tables: Tables, config: CrawlConfig) -> Scope:
        """The scope as the store's seeds opened it; by this crawl's own before its first start."""
        scope = stored_scope(config, tables)
        if config_row(tables):
            return scope
        seeds = parsed_seeds(self._seeds, config)
        opened = (scope.entry_of(url) for url in seeds if isinstance(url, CanonicalUrl))
        return scope.with_entries({entry for entry in opened if entry is not None})

    def _body_of(self, row: PageRow) -> bytes:
        place = BodyPlace(row.warc_file, row.warc_offset)
        return StoredBodies(self._path).read(place, row.sha256)


def config_row(tables: Tables) -> dict[str, Any]:
    with tables.read() as txn:
        row = txn.meta.get("config")
    return dict(row) if isinstance(row, dict) else {}


def stored_config(folder: StoreFolder) -> dict[str, Any]:
    tables = open_tables(folder.shard_path(0), read_only=True)
    try:
        return config_row(tables)
    finally:
        tables.close()


def open_tables(
    path: Path,
    map_bytes: int = 1 << 36,
    *,
    read_only: bool = False,
    create: bool = True,
) -> LmdbTables:
    return LmdbTables.open(path, map_bytes=map_bytes, read_only=read_only, create=create)


def _soup(body: bytes, encoding: str | None) -> BeautifulSoup:
    # Imported when it is asked for: Beautiful Soup takes 50 ms, which most starts do not need.
    from mercator.content.soup_links import soup

    return soup(body, encoding or "utf-8")


def now_at() -> float:
    return RealClock().unix_s()


def known_fields(row: dict[str, Any]) -> dict[str, Any]:
    """The fields of a stored configuration that this version knows."""
    return {name: value for name, value in row.items() if name in CrawlConfig.__dataclass_fields__}
