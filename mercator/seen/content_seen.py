"""Content-seen test: has this content been stored before (step 17)."""

from __future__ import annotations

from mercator.ports import Txn
from mercator.rows import ContentRow
from mercator.values import NO_KEY, BodyPlace, UrlKey


def remember(txn: Txn, sha256: bytes, key: UrlKey, place: BodyPlace) -> UrlKey:
    """Notes a stored body; the key of the page that had it first, or NO_KEY when it is new."""
    known = txn.content.get(sha256)
    if known is not None:
        return known.first if known.first != key else NO_KEY
    txn.content.put(sha256, ContentRow(key, place.warc_file, place.warc_offset))
    return NO_KEY
