"""The table `visits`: the politeness ledger, one record a request that was sent or tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mercator.ports import Tables, Txn
from mercator.records import VisitRecord, utc
from mercator.report.reading import batches
from mercator.rows import VisitRow


def visits(stores: Sequence[Tables]) -> Iterator[VisitRecord]:
    """Every request, store after store in the order of their commits (a host is in one store)."""
    for tables in stores:
        yield from batches(tables, lambda txn: txn.visits, _records)


def _records(_: Txn, __: int, row: VisitRow) -> tuple[VisitRecord]:
    return (
        VisitRecord(
            host=row.host,
            url=row.url or None,
            kind=row.kind.value,
            address=row.address or None,
            started_at=round(row.started_at, 6),
            ended_at=round(row.ended_at, 6),
            status=row.status or None,
            error=row.error or None,
            bytes=row.body_bytes,
            gap_s=row.gap_s,
            gap_reason=row.gap_reason or None,
            robots_at=utc(row.robots_at),
        ),
    )
