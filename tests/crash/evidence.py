"""What a store holds at one moment, as far as it can be compared."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from mercator.crawl import Crawl
from mercator.errors import StoreMissingError
from mercator.records import PageRecord, Status
from mercator.store.folder import StoreFolder
from mercator.store.lmdb_tables import LmdbTables

Asked = tuple[str, str]
"""Host and path of a request."""


class Evidence(NamedTuple):
    """One store. Threads: immutable.

    `urls` has each URL's state and reason, `pages` the page records by URL. `requests` and `answers`
    count the ledger's rows by what was asked, all of them and those with a status. `openings` are
    the openings after a crash that the ledger notes. `faults` is what `check` finds wrong.
    """

    urls: dict[str, tuple[str, str | None]]
    pages: dict[str, PageRecord]
    page_rows: int
    requests: Counter[Asked]
    answers: Counter[Asked]
    openings: int
    status: Status
    faults: tuple[str, ...]


def read_store(path: Path) -> Evidence | None:
    """Reads and checks a store that nobody else has open; None when it was not made to the end."""
    try:
        crawl = Crawl.open(path)
    except StoreMissingError:
        return None
    report = crawl.check()
    pages = list(crawl.pages())
    visits = list(crawl.visits())
    requests = [(v, asked(v.url)) for v in visits if v.url is not None]
    return Evidence(
        urls=_urls(path),
        pages={page.key_url: page for page in pages},
        page_rows=len(pages),
        requests=Counter(what for _, what in requests),
        answers=Counter(what for visit, what in requests if visit.status is not None),
        openings=sum(visit.kind == "unclean_stop" for visit in visits),
        status=crawl.status(),
        faults=() if report.ok else tuple(map(str, report.findings)),
    )


def asked(url: str) -> Asked:
    """Host and path of a URL without query, as the site's log has them."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.path


def _urls(path: Path) -> dict[str, tuple[str, str | None]]:
    """Every URL with its state and reason; no public table shows those that still wait."""
    tables = LmdbTables.open(
        StoreFolder(path).shard_path(0), map_bytes=1 << 30, read_only=True, create=False
    )
    try:
        with tables.read() as txn:
            return {
                row.key_url or row.url: (row.state.name.lower(), row.reason)
                for _, row in txn.urls.scan()
            }
    finally:
        tables.close()
