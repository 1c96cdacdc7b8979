"""The host clock as pure functions: how long a host rests, and when it may be asked next.

The gap is counted from the *end* of the last request, so that a slow answer never eats it up.
Whatever sets the pace of a host later stands behind `gap`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

GapReason = Literal["delay", "crawl_delay", "delay_factor"]
BlockReason = Literal["", "retry_after", "back_off", "robots_unknown", "unreachable"]


class Gap(NamedTuple):
    """The smallest rest between two requests to a host, in seconds, and what asked for it."""

    gap_s: float
    reason: GapReason


class Block(NamedTuple):
    """A host may not be asked before `until` (Unix seconds; 0.0 and "": no block)."""

    until: float
    reason: BlockReason


class NextTimes(NamedTuple):
    """When a host may be asked next: not before max(`due_at`, `blocked_until`), Unix seconds."""

    due_at: float
    blocked_until: float
    block_reason: BlockReason


NO_BLOCK = Block(0.0, "")


def gap(*, delay_s: float, crawl_delay_s: float | None, delay_factor: float, fetch_s: float) -> Gap:
    """The longest of our own delay, the site's Crawl-delay and `delay_factor` x the last fetch.

    A Crawl-delay longer than any bound of our own is obeyed. `fetch_s` is the duration of the
    request that has just ended. Of equal ones the first in that order is named.
    """
    longest = Gap(delay_s, "delay")
    if crawl_delay_s is not None and crawl_delay_s > longest.gap_s:
        longest = Gap(crawl_delay_s, "crawl_delay")
    if delay_factor * fetch_s > longest.gap_s:
        longest = Gap(delay_factor * fetch_s, "delay_factor")
    return longest


def next_times(
    *, ended_at: float, gap_s: float, due_at: float, blocks: Iterable[Block]
) -> NextTimes:
    """The host's times after a request that ended at `ended_at` (Unix seconds).

    `due_at` is the time in force so far and `blocks` holds the block in force with all new ones:
    the latest of each wins, so that nothing shortens a rest. Of equal blocks the first is named.
    """
    latest = max(blocks, key=lambda block: block.until, default=NO_BLOCK)
    return NextTimes(max(due_at, ended_at + gap_s), latest.until, latest.reason)
