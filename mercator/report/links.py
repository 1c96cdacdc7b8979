"""The table `links`: every link of every stored page, and every redirect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mercator.ports import Tables, Txn
from mercator.records import LinkRecord
from mercator.report.reading import KeyUrls, batches, elsewhere, url_row
from mercator.rows import LinkRow
from mercator.values import UrlKey


def links(stores: Sequence[Tables]) -> Iterator[LinkRecord]:
    """Every link, store after store in key order of the sources, in document order within one.

    Holds at most a batch and the links of one page. Raises StoreDamagedError when a source's URL
    has no row.
    """
    for tables in stores:
        key_urls = KeyUrls(elsewhere(stores, tables))

        def make(
            txn: Txn, key: UrlKey, row: tuple[LinkRow, ...], texts: KeyUrls = key_urls
        ) -> list[LinkRecord]:
            source = url_row(txn, key).key_url
            return [
                LinkRecord(
                    source=source,
                    target=texts.of(txn, link.target) if link.target else link.target_url or None,
                    kind=link.kind,
                    rel=link.rel or None,
                    anchor=link.anchor or None,
                )
                for link in row
            ]

        yield from batches(tables, lambda txn: txn.links, make)
