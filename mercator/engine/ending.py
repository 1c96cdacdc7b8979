"""When a crawl ends, and why: pure rules over one snapshot."""

from __future__ import annotations

from typing import NamedTuple


class Snapshot(NamedTuple):
    """What is known between two commits, read under one lock. Times are monotonic seconds.

    `idle`: no job waits for the writer, nothing is on lease and no host is in flight.
    `last_end_s`: when a URL ended last, as a page or in any other way; a crawl that works through
    missing pages has not lost its patience. `standstill`: every host with something to do is paused
    (nothing may be asked now).
    Threads: immutable.
    """

    now_s: float
    started_s: float
    last_end_s: float
    pending: int
    idle: bool
    standstill: bool
    stored: int
    background_work: bool


def stop_reason(
    snapshot: Snapshot, *, max_pages: int | None, max_time_s: float | None, patience_s: float
) -> str | None:
    """`max_pages`, `finished`, `deadline`, `patience`, or None to go on."""
    if max_pages is not None and snapshot.stored >= max_pages:
        return "max_pages"
    if snapshot.idle and not snapshot.pending and not snapshot.background_work:
        return "finished"
    if max_time_s is not None and snapshot.now_s - snapshot.started_s >= max_time_s:
        return "deadline"
    if (
        snapshot.idle
        and snapshot.standstill
        and not snapshot.background_work
        and snapshot.now_s - snapshot.last_end_s >= patience_s
    ):
        return "patience"
    return None
