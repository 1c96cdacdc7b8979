"""The fixtures that tests of every room share: the test site inside the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from testsite.fixture import Site


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the long forms unless a marker expression (`-m long`) chooses for itself."""
    if not config.option.markexpr:
        long = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)


@pytest.fixture
def site_factory() -> Iterator[Callable[..., Site]]:
    """Starts sites with the options of `testsite.fixture.Site`; all end with the test."""
    with ExitStack() as sites:

        def start(**options: Any) -> Site:
            return sites.enter_context(Site(**options))

        yield start


@pytest.fixture
def site(site_factory: Callable[..., Site]) -> Site:
    """A running site of 3 hosts with 10 pages each."""
    return site_factory()
