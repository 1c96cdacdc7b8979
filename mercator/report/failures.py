"""The table `failures`: one record a URL with a reason, the refused ones too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mercator.ports import Tables, Txn
from mercator.records import FailureRecord, utc
from mercator.report.reading import KeyUrls, batches, elsewhere, url_row
from mercator.rows import DeadRow
from mercator.values import UrlKey


def failures(stores: Sequence[Tables]) -> Iterator[FailureRecord]:
    """Every URL that has a reason, store after store in key order.

    Raises StoreDamagedError when such a URL has no row of its own.
    """
    for tables in stores:
        key_urls = KeyUrls(elsewhere(stores, tables))

        def make(
            txn: Txn, key: UrlKey, row: DeadRow, texts: KeyUrls = key_urls
        ) -> tuple[FailureRecord]:
            url = url_row(txn, key)
            return (
                FailureRecord(
                    url=url.url,
                    key_url=url.key_url or None,
                    reason=row.reason.value,
                    status=url.status or None,
                    error=row.error or None,
                    attempts=row.attempts,
                    first_at=utc(url.first_at),
                    last_at=utc(url.last_at),
                    discovered_from=texts.of(txn, url.parent),
                ),
            )

        yield from batches(tables, lambda txn: txn.dead, make)
