"""What the case files do not say of rules: bounds, cost, immutability."""

from __future__ import annotations

import dataclasses
import time

import pytest

from mercator.politeness.robots_rules import (
    ALLOW_ALL,
    LONGEST_CRAWL_DELAY_S,
    ROBOTS_MAX_BYTES,
    RobotsRules,
    whole_lines,
)


def rules(text: str, user_agent: str = "mercator") -> RobotsRules:
    return RobotsRules.parse(text.encode(), user_agent)


def test_no_rules_allow_all() -> None:
    assert ALLOW_ALL.allows("https://archive.test/a")
    assert ALLOW_ALL.crawl_delay_s is None
    assert ALLOW_ALL.sitemaps == ()


def test_rules_are_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ALLOW_ALL.crawl_delay_s = 3.0  # type: ignore[misc]


def test_many_rules_of_all_kinds_keep_the_longest_match() -> None:
    lines = [f"Disallow: /{'d' * n}" for n in range(1, 60)]
    lines += [f"Allow: /{'d' * n}*x" for n in range(1, 60)]
    lines += [f"Disallow: /{'d' * n}yx$" for n in range(1, 60)]
    read = rules("User-agent: *\n" + "\n".join(lines))
    assert not read.allows("https://archive.test/ddd")
    assert read.allows("https://archive.test/dddqx")
    assert not read.allows("https://archive.test/dddyx")
    assert read.allows("https://archive.test/dddyxx")


@pytest.mark.parametrize("end", ["", "$", "*ot", "*t$"])
@pytest.mark.parametrize("lines", [("Allow", "Disallow"), ("Disallow", "Allow")])
def test_allow_wins_over_the_same_rule_in_any_spelling_and_order(
    end: str, lines: tuple[str, str]
) -> None:
    for first, second in (("/depot", "/d%65pot"), ("/d%65pot", "/depot"), ("/depot", "/depot")):
        read = rules(f"User-agent: *\n{lines[0]}: {first}{end}\n{lines[1]}: {second}{end}\n")
        assert read.allows("https://archive.test/depot")
        assert read.allows("https://archive.test/depotot")


def test_longer_than_the_path_is_no_match() -> None:
    read = rules("User-agent: *\nDisallow: /abc\nDisallow: /abc/def/ghi\n")
    assert read.allows("https://archive.test/ab")
    assert not read.allows("https://archive.test/abc/def/gh")


@pytest.mark.parametrize("user_agent", ["", "*", "1.0", "é"])
def test_a_name_that_is_no_token_has_the_rules_of_the_star(user_agent: str) -> None:
    read = rules("User-agent: 2.0\nAllow: /\nUser-agent: *\nDisallow: /\n", user_agent)
    assert not read.allows("https://archive.test/a")


def test_a_long_crawl_delay_is_obeyed_within_the_calendar() -> None:
    assert rules("User-agent: *\nCrawl-delay: 90000\n").crawl_delay_s == 90_000.0
    absurd = rules(f"User-agent: *\nCrawl-delay: {'9' * 400}\n")
    assert absurd.crawl_delay_s == LONGEST_CRAWL_DELAY_S


def test_a_delay_outside_of_groups_is_nobodys() -> None:
    assert rules("Crawl-delay: 5\nUser-agent: *\nDisallow: /a\n").crawl_delay_s is None


def test_whole_lines() -> None:
    assert whole_lines(b"a\nb", cut=False) == b"a\nb"
    assert whole_lines(b"a\nb", cut=True) == b"a"
    assert whole_lines(b"ab", cut=True) == b""
    full = b"a" * (ROBOTS_MAX_BYTES - 2) + b"\rb"
    assert whole_lines(full, cut=False) == full
    assert whole_lines(full + b"\nc", cut=False) == full
    assert whole_lines(full + b"c", cut=False) == full[:-2]


def test_a_hundred_stars_take_no_time() -> None:
    read = rules("User-agent: *\nDisallow: /" + "a*" * 100 + "b\nDisallow: /*" + "aa*" * 100 + "b$")
    url = "https://archive.test/" + "a" * 2048
    began = time.perf_counter()
    assert read.allows(url)
    assert time.perf_counter() - began < 0.01


def test_names_without_end_take_no_time() -> None:
    text = "User-agent: *\n" * 20_000 + "Disallow: /a\n" * 15_000
    began = time.perf_counter()
    read = rules(text)
    assert time.perf_counter() - began < 1.0
    assert not read.allows("https://archive.test/a")
