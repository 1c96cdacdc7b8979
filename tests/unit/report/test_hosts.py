"""The table of hosts, its robots columns, and the time that clocks alone cost."""

from __future__ import annotations

from typing import Any

import pytest

from mercator.records import HostRecord
from mercator.report.hosts import hosts, lower_bound
from mercator.rows import RobotsRow
from tests.unit.report.conftest import NOW, WatchedTables, put_host


def robots(verdict: str, asked_at: float = NOW, body_at: float = 0.0) -> RobotsRow:
    return RobotsRow(verdict, b"", body_at, asked_at, asked_at + 60)


def test_a_host_has_every_column(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_host(
            txn,
            "h.test",
            due_at=NOW + 1,
            gap_s=2.5,
            gap_reason="crawl-delay",
            blocked_until=NOW + 60,
            stored=4,
            failed=3,
            pending=2,
            body_bytes=99,
            addresses=("127.0.0.1", "::1"),
        )
        txn.robots.put("http://h.test", robots("rules", body_at=NOW - 60))
    (record,) = hosts([tables])
    assert record.as_dict() == {
        "host": "h.test",
        "stored": 4,
        "failed": 3,
        "pending": 2,
        "gap_s": 2.5,
        "gap_reason": "crawl-delay",
        "due_at": "2027-01-15T08:00:01.000000Z",
        "blocked_until": "2027-01-15T08:01:00.000000Z",
        "robots": "rules",
        "robots_at": "2027-01-15T07:59:00.000000Z",
        "addresses": ["127.0.0.1", "::1"],
        "bytes": 99,
    }


def test_a_host_that_was_never_asked_has_nulls(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_host(txn, "h.test")
    (record,) = hosts([tables])
    for column in ("gap_reason", "due_at", "blocked_until", "robots", "robots_at"):
        assert getattr(record, column) is None


@pytest.mark.parametrize(
    ("origins", "verdict"),
    [
        ({"http://h1.test": NOW, "https://h1.test": NOW + 1}, "https://h1.test"),
        ({"http://h1.test:8080": NOW + 2, "https://h1.test": NOW + 1}, "http://h1.test:8080"),
        ({"http://h1.test": NOW, "http://h1.test.evil": NOW + 1}, "http://h1.test"),
        ({"http://h10.test": NOW, "http://h1.testing:80": NOW}, None),
    ],
)
def test_the_robots_column_is_of_the_origin_that_was_asked_last(
    tables: WatchedTables, origins: dict[str, float], verdict: str | None
) -> None:
    with tables.write() as txn:
        put_host(txn, "h1.test")
        for origin, asked_at in origins.items():
            txn.robots.put(origin, robots(origin, asked_at))
    (record,) = hosts([tables])
    assert record.robots == verdict


def test_what_is_unknown_is_as_old_as_the_last_answer(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_host(txn, "h.test")
        txn.robots.put("http://h.test", robots("unknown", NOW, NOW - 999))
    (record,) = hosts([tables])
    assert record.robots_at is not None
    assert record.robots_at.timestamp() == NOW


def host(name: str, pending: int, gap_s: float) -> HostRecord:
    columns: dict[str, Any] = dict.fromkeys(HostRecord.__dataclass_fields__)
    return HostRecord(**(columns | {"host": name, "pending": pending, "gap_s": gap_s}))


def test_the_lower_bound_is_that_of_the_slowest_host() -> None:
    text = lower_bound([host("a.test", 10, 1.0), host("b.test", 5, 3600.0), host("c.test", 9, 0)])
    assert text.startswith("5:00:00 more")
    assert "b.test has 5 URLs at a gap of 3600 s" in text


@pytest.mark.parametrize("records", [[], [host("a.test", 0, 1.0)], [host("a.test", 10, 0.0)]])
def test_without_a_gap_or_pending_urls_there_is_no_bound(records: list[HostRecord]) -> None:
    assert lower_bound(records) == ""
