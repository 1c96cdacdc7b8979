"""The politeness ledger's rows, and the little that is read off an answer's head for them."""

from __future__ import annotations

from mercator.engine.host_clock import HostClock
from mercator.rows import VisitRow
from mercator.values import FetchFailure, FetchResult, Kind


def header(answer: FetchResult | FetchFailure, name: str) -> str | None:
    """The first field of that (lower-case) name, or None."""
    for field, value in answer.headers:
        if field.lower() == name:
            return value
    return None


def visit_row(
    host: str,
    kind: Kind,
    answer: FetchResult | FetchFailure,
    before: HostClock,
    robots_at: float,
) -> VisitRow:
    """The row of one request, with the gap that was in force when it was sent."""
    if isinstance(answer, FetchFailure):
        error, body_bytes = f"{answer.kind}: {answer.error}"[:300], answer.bytes_read
    else:
        error, body_bytes = "", answer.body.size
    return VisitRow(
        host=host,
        url=answer.url,
        kind=kind,
        address=answer.address,
        started_at=answer.started_at,
        ended_at=answer.ended_at,
        status=answer.status or 0,
        error=error,
        body_bytes=body_bytes,
        gap_s=before.gap_s,
        gap_reason=before.gap_reason,
        robots_at=robots_at,
    )


def unclean_stop(unix_s: float) -> VisitRow:
    """Marks an opening after a crash: before it, up to 2 x threads requests may lack their row."""
    return VisitRow(
        host="",
        url="",
        kind=Kind.UNCLEAN_STOP,
        address="",
        started_at=unix_s,
        ended_at=unix_s,
        status=0,
        error="",
        body_bytes=0,
        gap_s=0.0,
        gap_reason="",
        robots_at=0.0,
    )
