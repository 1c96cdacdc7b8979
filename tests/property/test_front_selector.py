"""The biased selector: shares as the weights say, and no level starves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mercator.frontier.front_selector import FrontSelector, halving_weights

weights = st.lists(st.integers(1, 20), min_size=1, max_size=8)


@given(weights, st.integers(1, 400))
def test_each_level_gets_at_least_its_share_of_any_first_draws(w: list[int], draws: int) -> None:
    selector = FrontSelector(w)
    drawn = [0] * len(w)
    for n in range(1, draws + 1):
        level = selector.draw([1] * len(w))
        assert level is not None
        drawn[level] += 1
        for i, weight in enumerate(w):
            assert drawn[i] >= n * weight // sum(w)


@given(weights, st.data())
def test_a_level_that_waits_is_drawn_within_twice_its_period_whatever_the_others_do(
    w: list[int], data: st.DataObject
) -> None:
    selector = FrontSelector(w)
    patient = data.draw(st.integers(0, len(w) - 1))
    bound = 2 * -(-sum(w) // w[patient]) + len(w)
    since = 0
    for _ in range(120):
        counts = data.draw(st.lists(st.integers(0, 1), min_size=len(w), max_size=len(w)))
        counts[patient] = 1
        since = 0 if selector.draw(counts) == patient else since + 1
        assert since <= bound


@given(weights, st.data())
def test_draws_only_from_levels_that_have_something(w: list[int], data: st.DataObject) -> None:
    selector = FrontSelector(w)
    for _ in range(30):
        counts = data.draw(st.lists(st.integers(0, 2), min_size=len(w), max_size=len(w)))
        level = selector.draw(counts)
        assert (level is None) == (not any(counts))
        assert level is None or counts[level] > 0


def test_default_weights_halve_from_level_to_level() -> None:
    assert halving_weights(4) == (8, 4, 2, 1)
    selector = FrontSelector(halving_weights(4))
    drawn = [selector.draw([1, 1, 1, 1]) for _ in range(15)]
    assert [drawn.count(level) for level in range(4)] == [8, 4, 2, 1]
