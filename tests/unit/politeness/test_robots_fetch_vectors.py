"""The cases of `tests/vectors/robots_fetch.json`, played through the cache as the engine does."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest

from mercator.politeness.robots_cache import (
    Follow,
    RobotsAnswer,
    RobotsCache,
    RobotsVerdict,
    origin_of,
    robots_url,
)
from mercator.politeness.robots_rules import ROBOTS_MAX_BYTES
from mercator.rows import RobotsRow
from mercator.testing import ManualClock
from tests.unit.politeness.vectors import Case, answer_of, cases, unix_s

DAY_S = 86_400.0


class Outcome(NamedTuple):
    rule: str
    verdict: RobotsVerdict
    row: RobotsRow | None
    headers: dict[str, str]


class Player:
    """One origin, its cache and its stored row. Threads: confined to one test."""

    def __init__(self, case: Case) -> None:
        cached = case.get("cached")
        start = unix_s(cached["fetched_at"]) if cached else 1_790_000_000.0
        self.case = case
        self.clock = ManualClock(start)
        self.stored: dict[str, RobotsRow] = {}
        self.headers: dict[str, str] = {}
        self.cache = RobotsCache(
            self.clock,
            case["user_agent"],
            max_age_s=DAY_S,
            keep_s=7 * DAY_S,
            give_up_s=7 * DAY_S,
            retry_base_s=1.0,
            retry_cap_s=300.0,
            random=random.Random(7),
        )
        if cached:
            origin = origin_of(case["page_url"])
            self.ask([{"url": robots_url(origin), "status": 200, **cached}])
            now = unix_s(case["now"]) if "now" in case else start + DAY_S
            self.clock.advance_s(now - start)

    def ask(self, responses: list[Case]) -> RobotsVerdict:
        """Answers as long as the cache asks and there are answers; gives the verdict after that."""
        left = list(responses)
        verdict = self.cache.judge(self.case["page_url"], self.stored.get)
        while verdict.answer is RobotsAnswer.ASK and left:
            response = left.pop(0)
            assert verdict.ask_url == response["url"]
            self.headers.update(verdict.ask_headers)
            answer = answer_of(response, response["url"], max_body_bytes=ROBOTS_MAX_BYTES)
            told = self.cache.answered(verdict.origin, verdict.hops, answer)
            if isinstance(told, Follow):
                self.cache.pending_hop(verdict.origin, told.url, told.hops)
            else:
                self.stored[verdict.origin] = told
                self.cache.keep(verdict.origin, told)
            verdict = self.cache.judge(self.case["page_url"], self.stored.get)
        assert not left, "an answer that nobody asked for"
        return verdict


def play(case: Case) -> Outcome:
    """What the cache makes of a case, in the words of the case files."""
    player = Player(case)
    responses = case.get("responses", [])
    days = case.get("unreachable_for_days", 0)
    if days:
        player.ask(responses)
        player.clock.advance_s(days * DAY_S)
    player.headers.clear()
    verdict = player.ask(responses)
    row = player.stored.get(verdict.origin)
    if verdict.answer is RobotsAnswer.ASK:
        rule = "refetch"
    elif verdict.answer in (RobotsAnswer.UNKNOWN, RobotsAnswer.GIVE_UP):
        rule = "disallow_all"
    elif row is not None and row.verdict == "none":
        rule = "allow_all"
    elif row is None or row.unknown_since or row.status == 304 or not responses:
        rule = "use_cached"
    else:
        rule = "parse"
    return Outcome(rule, verdict, row, player.headers)


def check(case: Case) -> None:
    """Raises AssertionError where a case comes out otherwise."""
    expect = case["expect"]
    if case["kind"] == "scope":
        assert robots_url(origin_of(case["page_url"])) == expect["robots_url"]
        return
    outcome = play(case)
    assert outcome.rule in (expect["rule"], *expect.get("also_ok", ())), case["about"]
    if "allowed" in expect and outcome.rule == expect["rule"]:
        assert (outcome.verdict.answer is RobotsAnswer.ALLOWED) is expect["allowed"]
    assert expect.get("request_headers", {}).items() <= outcome.headers.items()
    if "fresh_from" in expect:
        assert outcome.row is not None
        assert outcome.row.body_at == unix_s(expect["fresh_from"])


@pytest.mark.parametrize("case", cases("robots_fetch"), ids=lambda case: str(case["id"]))
def test_robots_fetch(case: Case) -> None:
    check(case)
