"""Back-off stays within its bounds and is spread evenly; a gap is never below any of its parts."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercator.politeness.failures import backoff_s, retry_after_s
from mercator.politeness.http_date import parse_http_date
from mercator.politeness.pace import gap

seconds = st.floats(0, 1e7)


@given(n=st.integers(0, 10**6), base=st.floats(1e-3, 1e3), cap=st.floats(1e-3, 1e5))
@settings(max_examples=300, deadline=None)
def test_back_off_within_bounds(n: int, base: float, cap: float) -> None:
    wait_s = backoff_s(n, base, cap, random.Random(n))
    assert 0 <= wait_s <= cap
    if n < 64:
        assert wait_s <= base * 2**n


@pytest.mark.parametrize(("n", "ceiling"), [(0, 1.0), (3, 8.0), (40, 300.0)])
def test_back_off_is_uniform(n: int, ceiling: float) -> None:
    source = random.Random(20_260_303)
    draws = sorted(backoff_s(n, 1.0, 300.0, source) for _ in range(1000))
    three_sigma = 3 * ceiling / 12**0.5 / 1000**0.5
    assert abs(statistics.fmean(draws) - ceiling / 2) < three_sigma
    # Kolmogorov and Smirnov against U(0, ceiling), at 1 %.
    distance = max(
        max((k + 1) / 1000 - draw / ceiling, draw / ceiling - k / 1000)
        for k, draw in enumerate(draws)
    )
    assert distance < 1.63 / 1000**0.5


@given(delay=seconds, crawl=st.none() | seconds, factor=st.floats(0, 100), fetch=seconds)
@settings(deadline=None)
def test_a_gap_is_never_below_any_of_its_parts(
    delay: float, crawl: float | None, factor: float, fetch: float
) -> None:
    got = gap(delay_s=delay, crawl_delay_s=crawl, delay_factor=factor, fetch_s=fetch)
    parts = {"delay": delay, "crawl_delay": crawl or 0.0, "delay_factor": factor * fetch}
    assert got.gap_s == max(parts.values()) == parts[got.reason]


@given(value=st.text(), now=st.floats(allow_nan=False, allow_infinity=False))
@settings(deadline=None)
def test_any_header_has_a_wish_or_none(value: str, now: float) -> None:
    wish_s = retry_after_s((("Retry-After", value),), now, 60.0)
    assert wish_s is None or 0 <= wish_s <= 60.0
    parse_http_date(value, now)
