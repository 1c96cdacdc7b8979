"""A store in memory with a few hosts, pages, links and failures, built row by row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from mercator.ports import Txn
from mercator.rows import DeadRow, HostRow, PageRow, UrlRow
from mercator.store.memory_tables import MemoryTables
from mercator.urls.url_key import host_id, url_key
from mercator.values import STATE_OF_REASON, Reason, State, UrlKey

NOW = 1_800_000_000.0
"""2027-01-15 08:00:00 UTC."""


def host_of(url: str) -> str:
    return url.split("/")[2].partition(":")[0]


def key_of(url: str, probe: int = 0) -> UrlKey:
    return url_key(url, host_of(url), probe)


def put_url(txn: Txn, url: str, state: State = State.PENDING, **fields: Any) -> UrlKey:
    """A row whose key_url is its url unless given; found a minute ago."""
    row = UrlRow(state=state, url=url, key_url=fields.pop("key_url", url), found_at=NOW - 60)
    key = key_of(row.key_url or url)
    txn.urls.put(key, row._replace(**fields))
    return key


def put_page(txn: Txn, url: str, **fields: Any) -> UrlKey:
    """A stored page with its URL; `fields` are of the page row."""
    key = put_url(txn, url, State.STORED, attempts=1, status=200, last_at=NOW)
    txn.pages.put(key, PAGE._replace(**fields))
    return key


def put_failure(txn: Txn, url: str, reason: Reason, **fields: Any) -> UrlKey:
    """A URL with a reason and its dead-letter row."""
    error = fields.pop("error", "")
    key = put_url(txn, url, STATE_OF_REASON[reason], reason=reason, **fields)
    txn.dead.put(key, DeadRow(reason, fields.get("attempts", 0), error))
    return key


def put_host(txn: Txn, host: str, **fields: Any) -> None:
    txn.hosts.put(host_id(host), HostRow(host)._replace(**fields))


PAGE = PageRow(
    status=200,
    depth=0,
    parent=UrlKey(b""),
    fetched_at=NOW,
    elapsed_ms=12.34567,
    address="127.0.0.1",
    content_type="text/html",
    encoding="utf-8",
    encoding_from="header",
    body_bytes=5,
    truncated=False,
    sha256=bytes(range(32)),
    simhash=None,
    title="A title",
    duplicate_of=UrlKey(b""),
    near_duplicate_of=UrlKey(b""),
    near_distance=None,
    canonical=None,
    noindex=False,
    nofollow=False,
    signals=None,
    etag=None,
    last_modified=None,
    attempts=1,
    warc_file="a.warc.gz",
    warc_offset=0,
)


class WatchedTables:
    """Tables in memory that know how often they were read, and how many readers are in them.

    Threads: confined to the test.
    """

    def __init__(self) -> None:
        self._tables = MemoryTables()
        self.open_reads = 0
        self.reads = 0

    @contextmanager
    def read(self) -> Iterator[Txn]:
        self.reads += 1
        self.open_reads += 1
        try:
            with self._tables.read() as txn:
                yield txn
        finally:
            self.open_reads -= 1

    def write(self) -> AbstractContextManager[Txn]:
        return self._tables.write()

    def close(self) -> None:
        self._tables.close()


@pytest.fixture
def tables() -> WatchedTables:
    return WatchedTables()
