"""The content-seen test: who had these bytes first, and where they lie."""

from __future__ import annotations

import hashlib

from mercator.rows import ContentRow
from mercator.seen.content_seen import remember
from mercator.store.memory_tables import MemoryTables
from mercator.values import NO_KEY, BodyPlace, UrlKey

FIRST, SECOND, THIRD = (UrlKey(bytes([n]) * 16) for n in (1, 2, 3))
BODY = hashlib.sha256(b"body").digest()
HERE = BodyPlace("a.warc.gz", 17)
THERE = BodyPlace("b.warc.gz", 99)


def test_a_new_body_is_nobodys_copy_and_is_noted_with_its_place() -> None:
    with MemoryTables().write() as txn:
        assert remember(txn, BODY, FIRST, HERE) == NO_KEY
        assert txn.content.get(BODY) == ContentRow(FIRST, "a.warc.gz", 17)


def test_a_body_that_another_page_had_is_a_copy_of_the_first() -> None:
    with MemoryTables().write() as txn:
        remember(txn, BODY, FIRST, HERE)
        assert remember(txn, BODY, SECOND, THERE) == FIRST
        assert remember(txn, BODY, THIRD, THERE) == FIRST


def test_a_copy_leaves_the_first_ones_row_as_it_is() -> None:
    with MemoryTables().write() as txn:
        remember(txn, BODY, FIRST, HERE)
        remember(txn, BODY, SECOND, THERE)
        assert txn.content.get(BODY) == ContentRow(FIRST, *HERE)
        assert txn.content.count() == 1


def test_a_page_is_no_copy_of_itself() -> None:
    with MemoryTables().write() as txn:
        remember(txn, BODY, FIRST, HERE)
        assert remember(txn, BODY, FIRST, THERE) == NO_KEY
        assert txn.content.get(BODY) == ContentRow(FIRST, *HERE)


def test_another_body_is_another_content() -> None:
    other = hashlib.sha256(b"another").digest()
    with MemoryTables().write() as txn:
        remember(txn, BODY, FIRST, HERE)
        assert remember(txn, other, SECOND, THERE) == NO_KEY
        assert txn.content.get(other) == ContentRow(SECOND, *THERE)


def test_a_body_is_known_in_later_transactions_too() -> None:
    tables = MemoryTables()
    with tables.write() as txn:
        remember(txn, BODY, FIRST, HERE)
    with tables.write() as txn:
        assert remember(txn, BODY, SECOND, THERE) == FIRST
