"""The host clock's gap: how long a host rests between two requests. Pure.

The gap is counted from the *end* of the last request, so that a slow answer never eats it up.
Whatever sets the pace of a host later stands behind `gap`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

GapReason = Literal["delay", "crawl_delay", "delay_factor"]


class Gap(NamedTuple):
    """The smallest rest between two requests to a host, in seconds, and what asked for it.

    Threads: immutable.
    """

    gap_s: float
    reason: GapReason


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
