"""The default prioritizer: shallow first, linked from elsewhere earlier, dying hosts later."""

from __future__ import annotations

import pytest

from mercator.frontier.prioritizer import DepthPrioritizer


def level(
    depth: int = 0,
    *,
    cross_host: bool = False,
    stored: int = 0,
    failed: int = 0,
    priority: float | None = None,
    levels: int = 8,
) -> int:
    return DepthPrioritizer(levels).level(
        depth=depth,
        cross_host=cross_host,
        host_stored=stored,
        host_failed=failed,
        sitemap_priority=priority,
    )


def test_a_seed_comes_first() -> None:
    assert level(0) == 1


def test_each_link_away_from_a_seed_is_a_level_later() -> None:
    assert [level(depth) for depth in range(8)] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_what_lies_deeper_than_there_are_levels_comes_last() -> None:
    assert [level(depth, levels=3) for depth in (2, 3, 99)] == [3, 3, 3]
    assert level(99, levels=1) == 1


def test_a_link_from_another_host_is_a_level_earlier() -> None:
    assert level(3, cross_host=True) == level(3) - 1
    assert level(0, cross_host=True) == 1


@pytest.mark.parametrize(
    ("stored", "failed", "later"),
    [(0, 10, 0), (0, 11, 2), (10, 11, 2), (11, 11, 0), (50, 40, 0), (0, 1, 0)],
)
def test_a_host_where_most_fails_is_two_levels_later(stored: int, failed: int, later: int) -> None:
    assert level(2, stored=stored, failed=failed) == level(2) + later


@pytest.mark.parametrize(
    ("priority", "moved"), [(None, 0), (1.0, -1), (0.8, -1), (0.5, 0), (0.2, 1), (0.0, 1)]
)
def test_a_sitemap_moves_by_a_level_at_most(priority: float | None, moved: int) -> None:
    assert level(3, priority=priority) == level(3) + moved


def test_a_sitemap_may_say_nothing() -> None:
    made = DepthPrioritizer(8)
    assert made.level(depth=1, cross_host=False, host_stored=0, host_failed=0) == 2
