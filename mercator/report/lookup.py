"""From a URL to its row, whichever probe its key took and whichever store it lies in."""

from __future__ import annotations

from collections.abc import Sequence

from mercator.ports import Tables, Txn
from mercator.rows import PageRow, UrlRow
from mercator.seen.url_seen import meet, meet_unkeyed
from mercator.urls.url_key import url_key
from mercator.values import CanonicalUrl, RefusedUrl, UrlKey


def find(txn: Txn, url: CanonicalUrl | RefusedUrl) -> tuple[UrlKey, UrlRow] | None:
    """The row of a URL, or None when this store has never seen it."""
    if isinstance(url, CanonicalUrl):
        met = meet(txn, url.key_url, url.host)
    else:
        met = meet_unkeyed(txn, url_key(url.url, url.host))
    row = txn.urls.get(met.key) if met.glance is not None else None
    return None if row is None else (met.key, row)


def find_page(stores: Sequence[Tables], url: CanonicalUrl) -> PageRow | None:
    """The page row of a URL, or None when no store holds a stored page of it."""
    for tables in stores:
        with tables.read() as txn:
            found = find(txn, url)
            page = txn.pages.get(found[0]) if found else None
        if page is not None:
            return page
    return None
