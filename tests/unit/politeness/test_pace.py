"""The gap is the longest of its parts, and names the first that asked for so much."""

from __future__ import annotations

import pytest

from mercator.politeness.pace import Gap, gap


@pytest.mark.parametrize(
    ("delay_s", "crawl_delay_s", "delay_factor", "fetch_s", "expected"),
    [
        (1.0, None, 1.0, 0.2, Gap(1.0, "delay")),
        (1.0, 5.0, 1.0, 0.2, Gap(5.0, "crawl_delay")),
        (1.0, 5.0, 2.0, 4.0, Gap(8.0, "delay_factor")),
        (1.0, 0.0, 1.0, 0.2, Gap(1.0, "delay")),
        (1.0, 90_000.0, 1.0, 0.2, Gap(90_000.0, "crawl_delay")),
        (0.0, None, 0.0, 9.0, Gap(0.0, "delay")),
        (2.0, 2.0, 1.0, 2.0, Gap(2.0, "delay")),
        (1.0, 2.0, 1.0, 2.0, Gap(2.0, "crawl_delay")),
    ],
)
def test_gap(
    delay_s: float,
    crawl_delay_s: float | None,
    delay_factor: float,
    fetch_s: float,
    expected: Gap,
) -> None:
    assert expected == gap(
        delay_s=delay_s, crawl_delay_s=crawl_delay_s, delay_factor=delay_factor, fetch_s=fetch_s
    )
