"""Counters and the histogram of fetch times."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercator.engine.stats import Counts, Histogram
from mercator.records import COUNTERS

HOUR_MS = 3_600_000.0


def filled(times_ms: list[float]) -> Histogram:
    histogram = Histogram()
    for time_ms in times_ms:
        histogram.add(time_ms)
    return histogram


def exact_ms(times_ms: list[float], q: float) -> float:
    """The smallest time that a share of `q` does not exceed."""
    return sorted(times_ms)[max(0, math.ceil(q * len(times_ms)) - 1)]


# -- the histogram ---------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.floats(1.0, 2 * HOUR_MS), min_size=1, max_size=60),
    st.sampled_from([0.01, 0.25, 0.5, 0.95, 0.99, 1.0]),
)
def test_quantiles_are_within_five_percent(times_ms: list[float], q: float) -> None:
    found_ms = filled(times_ms).quantile_ms(q)
    assert found_ms is not None
    assert found_ms == pytest.approx(exact_ms(times_ms, q), rel=0.05)


@given(st.lists(st.floats(0.02, 1.0), min_size=1, max_size=20))
def test_below_a_millisecond_they_are_rounded_to_a_hundredth_besides(times_ms: list[float]) -> None:
    found_ms = filled(times_ms).quantile_ms(0.5)
    assert found_ms is not None
    exact = exact_ms(times_ms, 0.5)
    assert abs(found_ms - exact) <= 0.045 * exact + 0.005 + 1e-9


@given(st.lists(st.floats(0.0, HOUR_MS), min_size=1, max_size=20))
def test_a_higher_quantile_is_no_smaller(times_ms: list[float]) -> None:
    histogram = filled(times_ms)
    found = [histogram.quantile_ms(q / 10) or 0.0 for q in range(11)]
    assert found == sorted(found)


def test_before_the_first_fetch_there_is_no_quantile() -> None:
    assert Histogram().quantile_ms(0.5) is None


@pytest.mark.parametrize("time_ms", [0.0, -1.0, 1e-9])
def test_the_shortest_times_fall_together(time_ms: float) -> None:
    assert filled([time_ms]).quantile_ms(0.5) == 0.02


def test_a_time_beyond_the_scale_counts_as_the_longest() -> None:
    found_ms = filled([1e30]).quantile_ms(0.5)
    assert found_ms is not None
    assert found_ms > 10 * HOUR_MS


def test_memory_is_constant() -> None:
    histogram = filled([1.0])
    before = len(histogram._counts)
    for time_ms in range(10_000):
        histogram.add(float(time_ms))
    assert len(histogram._counts) == before


# -- the counters ----------------------------------------------------------------------------------


def test_a_new_store_has_every_counter_at_nought() -> None:
    counters, reasons = Counts({}, {}).snapshot()
    assert counters == dict.fromkeys(COUNTERS, 0)
    assert reasons == {}


def test_counting_goes_on_from_what_the_store_holds() -> None:
    counts = Counts({"stored": 3}, {"gone": 2})
    counts.add("stored")
    counts.add("pending", -1)
    counts.add_reason("gone", 1)
    counters, reasons = counts.snapshot()
    assert (counters["stored"], counters["pending"], reasons) == (4, -1, {"gone": 3})


def test_a_counter_that_only_another_version_knows_is_left_out() -> None:
    assert "from_elsewhere" not in Counts({"from_elsewhere": 3}, {}).counters


def test_a_counter_that_the_summary_does_not_have_is_a_fault() -> None:
    with pytest.raises(KeyError):
        Counts({}, {}).add("pages")


def test_a_reason_that_no_url_has_any_more_is_not_shown() -> None:
    counts = Counts({}, {"gone": 1})
    counts.add_reason("gone", -1)
    assert counts.snapshot()[1] == {}


def test_a_snapshot_does_not_move_with_the_counters() -> None:
    counts = Counts({}, {})
    before = counts.snapshot()
    counts.add("stored")
    counts.add_reason("gone", 1)
    assert (before[0]["stored"], before[1]) == (0, {})


def test_a_count_does_not_move_the_values_that_it_was_made_of() -> None:
    counters, reasons = {"stored": 1}, {"gone": 1}
    counts = Counts(counters, reasons)
    counts.add("stored")
    counts.add_reason("gone", 1)
    assert (counters, reasons) == ({"stored": 1}, {"gone": 1})
