"""Batches in short transactions, and keys turned into texts with bounded memory."""

from __future__ import annotations

import pytest

from mercator.errors import StoreDamagedError
from mercator.ports import Txn
from mercator.report.reading import BATCH, KeyUrls, batches, elsewhere, url_row
from mercator.rows import UrlRow
from mercator.values import NO_KEY, UrlKey
from tests.unit.report.conftest import WatchedTables, key_of, put_url


def fill(tables: WatchedTables, count: int) -> list[str]:
    urls = [f"http://h.test/{number}" for number in range(count)]
    with tables.write() as txn:
        for url in urls:
            put_url(txn, url)
    return urls


def one_each(_: Txn, __: UrlKey, row: UrlRow) -> tuple[str]:
    return (row.url,)


@pytest.mark.parametrize("count", [0, 1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH + 7])
def test_every_row_comes_once_in_key_order(tables: WatchedTables, count: int) -> None:
    urls = fill(tables, count)
    got = list(batches(tables, lambda txn: txn.urls, one_each))
    assert got == sorted(urls, key=key_of)


def test_no_transaction_is_open_while_the_consumer_has_a_record(tables: WatchedTables) -> None:
    fill(tables, 25)
    for _ in batches(tables, lambda txn: txn.urls, one_each, size=10):
        assert tables.open_reads == 0
        with tables.write() as txn:
            put_url(txn, "http://h.test/while-reading")
    assert tables.reads >= 3


def test_a_batch_ends_after_the_row_that_fills_it(tables: WatchedTables) -> None:
    fill(tables, 10)

    def many(_: Txn, __: UrlKey, row: UrlRow) -> list[str]:
        return [row.url] * 7

    assert len(list(batches(tables, lambda txn: txn.urls, many, size=10))) == 70
    # 14 records a batch, so five batches that were filled and a last look that finds the end.
    assert tables.reads == 6


def test_rows_without_records_do_not_end_the_table(tables: WatchedTables) -> None:
    fill(tables, 30)

    def last_only(_: Txn, __: UrlKey, row: UrlRow) -> list[str]:
        return [row.url] if row.url.endswith("9") else []

    got = list(batches(tables, lambda txn: txn.urls, last_only, size=2))
    assert len(got) == 3


def test_a_key_becomes_its_text(tables: WatchedTables) -> None:
    with tables.write() as txn:
        key = put_url(txn, "http://h.test/A", key_url="http://h.test/a")
        unkeyed = put_url(txn, "http://me@h.test/", key_url="")
    texts = KeyUrls()
    with tables.read() as txn:
        for _ in range(2):
            assert texts.of(txn, key) == "http://h.test/a"
            assert texts.of(txn, unkeyed) is None
        assert texts.of(txn, NO_KEY) is None
        assert texts.of(txn, key_of("http://h.test/none")) is None


def test_the_keys_that_were_used_last_are_remembered_and_no_more(tables: WatchedTables) -> None:
    urls = fill(tables, 5)
    texts = KeyUrls(bound=2)
    with tables.read() as txn:
        for url in [urls[0], urls[1], urls[0], urls[2]]:
            assert texts.of(txn, key_of(url)) == url
    assert list(texts._texts) == [key_of(urls[0]), key_of(urls[2])]


def test_a_key_of_another_shard_is_looked_up_there(tables: WatchedTables) -> None:
    other = WatchedTables()
    with other.write() as txn:
        key = put_url(txn, "http://other.test/")
    texts = KeyUrls(elsewhere([tables, other], tables))
    with tables.read() as txn:
        assert texts.of(txn, key) == "http://other.test/"
        assert texts.of(txn, key) == "http://other.test/"
    assert other.reads == 1


def test_a_row_without_its_url_is_damage(tables: WatchedTables) -> None:
    with tables.read() as txn, pytest.raises(StoreDamagedError, match="check --repair"):
        url_row(txn, key_of("http://h.test/none"))
