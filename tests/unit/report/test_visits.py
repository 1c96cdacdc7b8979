"""The ledger as a table."""

from __future__ import annotations

from mercator.report.visits import visits
from mercator.rows import VisitRow
from mercator.values import Kind
from tests.unit.report.conftest import NOW, WatchedTables

ROW = VisitRow(
    host="h.test",
    url="http://h.test/",
    kind=Kind.PAGE,
    address="127.0.0.1",
    started_at=NOW + 0.1234567,
    ended_at=NOW + 0.2,
    status=200,
    error="",
    body_bytes=5,
    gap_s=1.0,
    gap_reason="delay",
    robots_at=NOW - 60,
)


def test_a_visit_keeps_unix_seconds_to_the_microsecond(tables: WatchedTables) -> None:
    with tables.write() as txn:
        txn.visits.put(1, ROW)
    (record,) = visits([tables])
    assert record.as_dict() == {
        "host": "h.test",
        "url": "http://h.test/",
        "kind": "page",
        "address": "127.0.0.1",
        "started_at": 1_800_000_000.123457,
        "ended_at": 1_800_000_000.2,
        "status": 200,
        "error": None,
        "bytes": 5,
        "gap_s": 1.0,
        "gap_reason": "delay",
        "robots_at": "2027-01-15T07:59:00.000000Z",
    }
    assert type(record.kind) is str


def test_an_unclean_stop_has_nulls(tables: WatchedTables) -> None:
    row = ROW._replace(host="", url="", kind=Kind.UNCLEAN_STOP, address="", status=0, robots_at=0.0)
    with tables.write() as txn:
        txn.visits.put(1, row)
    (record,) = visits([tables])
    assert record.kind == "unclean_stop"
    assert (record.url, record.address, record.status, record.robots_at) == (None,) * 4


def test_visits_come_in_the_order_of_their_commits(tables: WatchedTables) -> None:
    with tables.write() as txn:
        for sequence in (256, 1, 255, 2**40):
            txn.visits.put(sequence, ROW._replace(body_bytes=sequence))
    assert [visit.bytes for visit in visits([tables])] == [1, 255, 256, 2**40]
