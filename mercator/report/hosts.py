"""The table `hosts`: counters, clock and robots.txt of each; and what its clock alone costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from mercator.ports import Tables, Txn
from mercator.records import HostRecord, utc
from mercator.report.reading import batches
from mercator.rows import HostRow, RobotsRow
from mercator.values import HostId


def hosts(stores: Sequence[Tables]) -> Iterator[HostRecord]:
    """Every host that has a row, store after store in key order."""
    for tables in stores:
        yield from batches(tables, lambda txn: txn.hosts, _records)


def robots_of(txn: Txn, host: str) -> RobotsRow | None:
    """The robots.txt row of a host; of several origins (schemes, ports) the one asked last."""
    rows = []
    for base in (f"http://{host}", f"https://{host}"):
        rows.append(txn.robots.get(base))
        # The colon keeps the origins of h10.test out of those of h1.test.
        rows.extend(row for _, row in txn.robots.scan(prefix=f"{base}:".encode()))
    return max((row for row in rows if row), key=lambda row: row.asked_at, default=None)


def robots_at(row: RobotsRow | None) -> float:
    """Unix time of what is in force: of the copy for rules, of the last answer else; 0.0: never."""
    if row is None:
        return 0.0
    return row.body_at if row.verdict == "rules" and row.body_at else row.asked_at


def lower_bound(records: Iterable[HostRecord]) -> str:
    """The least time that all pending URLs still take, as a line that names the host it is due to.

    One request at a time with a gap after each is what no number of threads can beat. Empty when no
    host has both pending URLs and a gap. O(hosts).
    """
    slowest = max(records, key=lambda record: record.pending * record.gap_s, default=None)
    if slowest is None or not slowest.pending * slowest.gap_s:
        return ""
    seconds = timedelta(seconds=round(slowest.pending * slowest.gap_s))
    return (
        f"{seconds} more for all that is pending, because {slowest.host} has "
        f"{slowest.pending} URLs at a gap of {slowest.gap_s:g} s; more threads will not help"
    )


def _records(txn: Txn, _: HostId, row: HostRow) -> tuple[HostRecord]:
    robots = robots_of(txn, row.host)
    return (
        HostRecord(
            host=row.host,
            stored=row.stored,
            failed=row.failed,
            pending=row.pending,
            gap_s=row.gap_s,
            gap_reason=row.gap_reason or None,
            due_at=utc(row.due_at),
            blocked_until=utc(row.blocked_until),
            robots=robots.verdict if robots else None,
            robots_at=utc(robots_at(robots)),
            addresses=row.addresses,
            bytes=row.body_bytes,
        ),
    )
