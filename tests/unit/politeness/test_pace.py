"""The gap is the longest of its parts, and next times only ever move on."""

from __future__ import annotations

import pytest

from mercator.politeness.pace import NO_BLOCK, Block, Gap, NextTimes, gap, next_times


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


def test_next_request_is_due_a_gap_after_the_end_of_the_last() -> None:
    times = next_times(ended_at=100.0, gap_s=2.5, due_at=40.0, blocks=[NO_BLOCK])
    assert times == NextTimes(102.5, 0.0, "")


def test_nothing_shortens_a_rest() -> None:
    blocks = [Block(500.0, "retry_after"), Block(300.0, "back_off"), Block(500.0, "unreachable")]
    times = next_times(ended_at=100.0, gap_s=1.0, due_at=200.0, blocks=blocks)
    assert times == NextTimes(200.0, 500.0, "retry_after")


def test_no_block_at_all() -> None:
    times = next_times(ended_at=1.0, gap_s=1.0, due_at=0.0, blocks=[])
    assert times == NextTimes(2.0, 0.0, "")
