"""What every Prioritizer promises (ports.Prioritizer)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercator.frontier.prioritizer import DepthPrioritizer
from mercator.ports import Prioritizer

Make = Callable[[int], Prioritizer]

urls = st.fixed_dictionaries(
    {
        "depth": st.integers(0, 10_000),
        "cross_host": st.booleans(),
        "host_stored": st.integers(0, 10**6),
        "host_failed": st.integers(0, 10**6),
        "sitemap_priority": st.none() | st.floats(0.0, 1.0),
    }
)
once = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=[DepthPrioritizer])
def make(request: pytest.FixtureRequest) -> Make:
    """A prioritizer of so many levels."""
    made: Make = request.param
    return made


@once
@given(levels=st.integers(1, 255), url=urls)
def test_a_level_lies_within_the_levels(make: Make, levels: int, url: dict[str, object]) -> None:
    prioritizer = make(levels)
    assert prioritizer.levels == levels
    level = prioritizer.level(**url)  # type: ignore[arg-type]
    assert isinstance(level, int)
    assert 1 <= level <= levels


@once
@given(url=urls)
def test_the_same_url_has_the_same_level(make: Make, url: dict[str, object]) -> None:
    prioritizer = make(8)
    first = prioritizer.level(**url)  # type: ignore[arg-type]
    assert prioritizer.level(**url) == first  # type: ignore[arg-type]
    assert make(8).level(**url) == first  # type: ignore[arg-type]
