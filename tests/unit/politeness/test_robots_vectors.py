"""The cases of `tests/vectors/robots.json` against the parser and the matcher."""

from __future__ import annotations

import pytest

from mercator.politeness.robots_rules import RobotsRules
from tests.unit.politeness.vectors import Case, bytes_of, cases, text_of


@pytest.mark.parametrize("case", cases("robots"), ids=lambda case: str(case["id"]))
def test_robots(case: Case) -> None:
    rules = RobotsRules.parse(bytes_of(case, "robots", "robots_txt"), case["user_agent"])
    assert rules.allows(text_of(case, "url")) is case["allowed"], case["about"]
    if "crawl_delay" in case:
        assert rules.crawl_delay_s == case["crawl_delay"], case["about"]
    if "sitemaps" in case:
        assert list(rules.sitemaps) == case["sitemaps"], case["about"]
