"""The table `pages`: one record a stored page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mercator.ports import Tables, Txn
from mercator.records import PageRecord, utc
from mercator.report.reading import KeyUrls, batches, elsewhere, url_row
from mercator.rows import PageRow
from mercator.values import UrlKey

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

ReadBody = Callable[[PageRow], bytes]
MakeSoup = Callable[[bytes, "str | None"], "BeautifulSoup"]


def pages(
    stores: Sequence[Tables],
    *,
    read_body: ReadBody | None = None,
    make_soup: MakeSoup | None = None,
) -> Iterator[PageRecord]:
    """Every stored page, store after store in key order (so a host's pages lie together).

    `read_body` gives the body of a page row and `make_soup` parses (body, encoding); both are
    called only when a record is asked for its body, outside of any transaction.
    """
    for tables in stores:
        key_urls = KeyUrls(elsewhere(stores, tables))

        def make(
            txn: Txn, key: UrlKey, row: PageRow, texts: KeyUrls = key_urls
        ) -> tuple[PageRecord]:
            return (page_record(txn, key, row, texts, read_body, make_soup),)

        yield from batches(tables, lambda txn: txn.pages, make)


def page_record(
    txn: Txn,
    key: UrlKey,
    row: PageRow,
    key_urls: KeyUrls,
    read_body: ReadBody | None = None,
    make_soup: MakeSoup | None = None,
) -> PageRecord:
    """One page row as a record. Raises StoreDamagedError when its URL has no row."""
    url = url_row(txn, key)
    return PageRecord(
        url=url.url,
        key_url=url.key_url,
        status=row.status,
        depth=row.depth,
        discovered_from=key_urls.of(txn, row.parent),
        fetched_at=utc(row.fetched_at),
        elapsed_ms=round(row.elapsed_ms, 3),
        address=row.address or None,
        content_type=row.content_type or None,
        encoding=row.encoding or None,
        encoding_from=row.encoding_from or None,
        bytes=row.body_bytes,
        truncated=row.truncated,
        sha256=row.sha256.hex(),
        simhash=row.simhash.hex() if row.simhash else None,
        title=row.title or None,
        duplicate_of=key_urls.of(txn, row.duplicate_of),
        near_duplicate_of=key_urls.of(txn, row.near_duplicate_of),
        near_distance=row.near_distance,
        canonical=row.canonical or None,
        noindex=row.noindex,
        nofollow=row.nofollow,
        signals=row.signals or None,
        etag=row.etag or None,
        last_modified=row.last_modified or None,
        attempts=row.attempts,
        warc_file=row.warc_file or None,
        warc_offset=row.warc_offset if row.warc_file else None,
        _read_body=partial(read_body, row) if read_body else None,
        _make_soup=make_soup,
    )
