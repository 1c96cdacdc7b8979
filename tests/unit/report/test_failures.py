"""The table of failures."""

from __future__ import annotations

import pytest

from mercator.errors import StoreDamagedError
from mercator.report.failures import failures
from mercator.rows import DeadRow
from mercator.values import Reason
from tests.unit.report.conftest import NOW, WatchedTables, key_of, put_failure, put_page


def test_a_url_that_was_tried_has_its_attempts(tables: WatchedTables) -> None:
    with tables.write() as txn:
        parent = put_page(txn, "http://h.test/")
        put_failure(
            txn,
            "http://h.test/x",
            Reason.HTTP_ERROR,
            error="500 Oops",
            status=500,
            attempts=3,
            first_at=NOW - 9,
            last_at=NOW,
            parent=parent,
        )
    (record,) = failures([tables])
    assert record.as_dict() == {
        "url": "http://h.test/x",
        "key_url": "http://h.test/x",
        "reason": "http_error",
        "status": 500,
        "error": "500 Oops",
        "attempts": 3,
        "first_at": "2027-01-15T07:59:51.000000Z",
        "last_at": "2027-01-15T08:00:00.000000Z",
        "discovered_from": "http://h.test/",
    }
    assert type(record.reason) is str


def test_a_url_that_was_refused_has_nulls(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_failure(txn, "http://me@h.test/", Reason.INVALID_URL, key_url="")
    (record,) = failures([tables])
    row = record.as_dict()
    assert row["url"] == "http://me@h.test/"
    assert row["attempts"] == 0
    for column in ("key_url", "status", "error", "first_at", "last_at", "discovered_from"):
        assert row[column] is None


def test_a_reason_without_a_url_is_damage(tables: WatchedTables) -> None:
    with tables.write() as txn:
        txn.dead.put(key_of("http://h.test/"), DeadRow(Reason.GONE, 1, ""))
    with pytest.raises(StoreDamagedError):
        list(failures([tables]))
