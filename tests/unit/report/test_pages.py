"""The table of pages: columns, references, bodies on demand."""

from __future__ import annotations

from typing import Any

import pytest

from mercator.errors import StoreDamagedError
from mercator.report.pages import pages
from mercator.rows import PageRow
from tests.unit.report.conftest import PAGE, WatchedTables, key_of, put_page, put_url


def test_a_page_has_every_column(tables: WatchedTables) -> None:
    with tables.write() as txn:
        parent = put_page(txn, "http://h.test/")
        first = put_page(txn, "http://h.test/first")
        key = put_url(txn, "http://h.test/A?b", key_url="http://h.test/a")
        row = PAGE._replace(
            depth=2,
            parent=parent,
            simhash=b"\x00\xff" * 4,
            duplicate_of=first,
            near_duplicate_of=parent,
            near_distance=0,
            canonical="http://h.test/c",
            warc_offset=77,
        )
        txn.pages.put(key, row)
    (record,) = (page for page in pages([tables]) if page.key_url == "http://h.test/a")
    assert record.as_dict() == {
        "url": "http://h.test/A?b",
        "key_url": "http://h.test/a",
        "status": 200,
        "depth": 2,
        "discovered_from": "http://h.test/",
        "fetched_at": "2027-01-15T08:00:00.000000Z",
        "elapsed_ms": 12.346,
        "address": "127.0.0.1",
        "content_type": "text/html",
        "encoding": "utf-8",
        "encoding_from": "header",
        "bytes": 5,
        "truncated": False,
        "sha256": bytes(range(32)).hex(),
        "simhash": "00ff00ff00ff00ff",
        "title": "A title",
        "duplicate_of": "http://h.test/first",
        "near_duplicate_of": "http://h.test/",
        "near_distance": 0,
        "canonical": "http://h.test/c",
        "noindex": False,
        "nofollow": False,
        "signals": None,
        "etag": None,
        "last_modified": None,
        "attempts": 1,
        "warc_file": "a.warc.gz",
        "warc_offset": 77,
    }


def test_empty_values_are_null(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_page(
            txn,
            "http://h.test/",
            content_type="",
            title="",
            encoding=None,
            address="",
            warc_file="",
        )
    (record,) = pages([tables])
    row = record.as_dict()
    for column in ("content_type", "title", "encoding", "address", "warc_file", "warc_offset"):
        assert row[column] is None
    assert row["discovered_from"] is None


def test_a_body_is_read_when_it_is_asked_for_and_not_inside_a_transaction(
    tables: WatchedTables,
) -> None:
    asked: list[PageRow] = []

    def read_body(row: PageRow) -> bytes:
        assert tables.open_reads == 0
        asked.append(row)
        return b"<p>" + str(row.warc_offset).encode()

    def make_soup(body: bytes, encoding: str | None) -> Any:
        return (body, encoding)

    with tables.write() as txn:
        for offset in range(3):
            put_page(txn, f"http://h.test/{offset}", warc_offset=offset)
    records = list(pages([tables], read_body=read_body, make_soup=make_soup))
    assert asked == []
    assert [record.body() for record in records] == [
        b"<p>%d" % (record.warc_offset or 0) for record in records
    ]
    soup: Any = records[0].soup
    assert soup == (records[0].body(), "utf-8")


def test_stores_follow_one_another_and_refer_to_one_another(tables: WatchedTables) -> None:
    other = WatchedTables()
    with other.write() as txn:
        parent = put_page(txn, "http://other.test/")
    with tables.write() as txn:
        put_page(txn, "http://h.test/", parent=parent)
    got = [(page.url, page.discovered_from) for page in pages([tables, other])]
    assert got == [("http://h.test/", "http://other.test/"), ("http://other.test/", None)]


def test_a_page_without_its_url_is_damage(tables: WatchedTables) -> None:
    with tables.write() as txn:
        txn.pages.put(key_of("http://h.test/"), PAGE)
    with pytest.raises(StoreDamagedError):
        list(pages([tables]))
