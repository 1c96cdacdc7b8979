"""The cache over time: freshness, failing, giving up, hops, and its bounds."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from mercator.politeness.robots_cache import (
    Follow,
    RobotsAnswer,
    RobotsCache,
    RobotsVerdict,
    robots_url,
)
from mercator.rows import RobotsRow
from mercator.testing import ManualClock
from mercator.values import FetchFailure, FetchResult
from tests.unit.politeness.vectors import answer_of

ORIGIN = "https://archive.test"
OPEN = ORIGIN + "/open"
SHUT = ORIGIN + "/vault/1"
BODY = "User-agent: *\nDisallow: /vault/\nCrawl-delay: 4\n"
DAY_S = 86_400.0
START = 1_800_000_000.0
ALLOWED, REFUSED = RobotsAnswer.ALLOWED, RobotsAnswer.REFUSED
UNKNOWN, ASK, GIVE_UP = RobotsAnswer.UNKNOWN, RobotsAnswer.ASK, RobotsAnswer.GIVE_UP


class Site:
    """A cache with its store and clock. Threads: confined to one test."""

    def __init__(self, **options: object) -> None:
        self.clock = ManualClock(START)
        self.rows: dict[str, RobotsRow] = {}
        self.loads: list[str] = []
        self.options = {
            "max_age_s": DAY_S,
            "keep_s": 7 * DAY_S,
            "give_up_s": 7 * DAY_S,
            "retry_base_s": 2.0,
            "retry_cap_s": 300.0,
            "random": random.Random(11),
            **options,
        }
        self.cache = self.fresh_cache()

    def fresh_cache(self) -> RobotsCache:
        make: Callable[..., RobotsCache] = RobotsCache
        return make(self.clock, "mercator", **self.options)

    def load(self, origin: str) -> RobotsRow | None:
        self.loads.append(origin)
        return self.rows.get(origin)

    def judge(self, url: str = OPEN) -> RobotsVerdict:
        return self.cache.judge(url, self.load)

    def answer(
        self, status: int = 200, body: str = BODY, *, origin: str = ORIGIN, **headers: str
    ) -> RobotsRow:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        case = {"status": status, "headers": named, "body": body}
        return self.take(answer_of(case, robots_url(origin)), origin)

    def fail(self) -> RobotsRow:
        return self.take(answer_of({"error": "read_timeout"}, robots_url(ORIGIN)), ORIGIN)

    def take(self, answer: FetchResult | FetchFailure, origin: str, hops: int = 0) -> RobotsRow:
        row = self.cache.answered(origin, hops, answer, self.load)
        assert isinstance(row, RobotsRow)
        self.rows[origin] = row
        self.cache.keep(origin, row)
        return row


def test_an_origin_that_nobody_has_asked_is_asked() -> None:
    verdict = Site().judge()
    assert verdict == RobotsVerdict(ASK, ORIGIN, ask_url=ORIGIN + "/robots.txt")


def test_a_copy_is_in_force_for_its_period_and_then_asked_for_again() -> None:
    site = Site()
    site.answer()
    verdict = site.judge()
    assert verdict == RobotsVerdict(
        ALLOWED, ORIGIN, until=START + DAY_S, robots_at=START, crawl_delay_s=4.0
    )
    assert site.judge(SHUT).answer is REFUSED
    site.clock.advance_s(DAY_S - 1)
    assert site.judge().answer is ALLOWED
    site.clock.advance_s(1)
    verdict = site.judge()
    assert (verdict.answer, verdict.crawl_delay_s, verdict.robots_at) == (ASK, 4.0, 0.0)


def test_none_is_in_force_for_its_period_and_no_copy_after_it() -> None:
    site = Site()
    site.answer()
    site.clock.advance_s(DAY_S)
    row = site.answer(404)
    assert (row.verdict, row.body, row.etag) == ("none", b"", "")
    assert site.judge(SHUT) == RobotsVerdict(
        ALLOWED, ORIGIN, until=START + 2 * DAY_S, robots_at=START + DAY_S
    )
    site.clock.advance_s(DAY_S)
    site.fail()
    assert site.judge().answer is UNKNOWN


def test_while_asking_fails_the_old_copy_holds_and_is_asked_for_again_and_again() -> None:
    site = Site()
    site.answer()
    site.clock.advance_s(DAY_S)
    for tries in range(1, 6):
        assert site.judge(SHUT).answer is ASK
        row = site.fail()
        assert (row.verdict, row.tries, row.unknown_since) == ("rules", tries, START + DAY_S)
        verdict = site.judge(SHUT)
        assert (verdict.answer, verdict.robots_at) == (REFUSED, START)
        assert site.judge().answer is ALLOWED
        assert verdict.until == row.ask_again_at
        site.clock.advance_s(row.ask_again_at - site.clock.unix_s())


def test_a_copy_that_is_kept_too_long_is_unknown_even_between_two_tries() -> None:
    site = Site(retry_base_s=300.0)
    site.answer()
    site.clock.advance_s(7 * DAY_S - 1)
    site.fail()
    assert site.judge().answer is ALLOWED
    site.clock.advance_s(1)
    verdict = site.judge()
    assert (verdict.answer, verdict.robots_at) == (UNKNOWN, 0.0)
    site.clock.advance_s(300)
    assert site.fail().verdict == "unknown"


def test_a_copy_that_was_too_old_is_good_again_after_a_304() -> None:
    site = Site()
    site.answer(ETag='"a"')
    site.clock.advance_s(9 * DAY_S)
    site.fail()
    assert site.judge().answer is UNKNOWN
    site.clock.advance_s(300)
    assert site.judge().ask_headers == (("If-None-Match", '"a"'),)
    row = site.answer(304, "")
    assert (row.verdict, row.unknown_since, row.tries, row.etag) == ("rules", 0.0, 0, '"a"')
    assert site.judge(SHUT).answer is REFUSED


def test_without_a_copy_a_failure_permits_nothing_until_the_next_try() -> None:
    site = Site()
    row = site.fail()
    assert row.error == "read_timeout: as the case says"
    assert site.judge() == RobotsVerdict(UNKNOWN, ORIGIN, until=row.ask_again_at)
    site.clock.advance_s(row.ask_again_at - START)
    assert site.judge().answer is ASK


def test_back_off_has_a_floor_and_a_ceiling() -> None:
    site = Site()
    waits = []
    for tries in range(1, 200):
        row = site.fail()
        wait_s = row.ask_again_at - site.clock.unix_s()
        assert 2.0 <= wait_s <= min(300.0, 2.0 * 2**tries)
        waits.append(wait_s)
        site.clock.advance_s(wait_s)
    assert max(waits) > 200.0


def test_however_long_copies_are_kept_no_copy_is_none() -> None:
    site = Site(keep_s=1e12)
    assert site.fail().verdict == "unknown"


def test_giving_up_comes_after_a_failure_that_late_and_not_unasked() -> None:
    site = Site()
    site.fail()
    site.clock.advance_s(7 * DAY_S)
    assert site.judge().answer is ASK
    row = site.fail()
    assert site.judge() == RobotsVerdict(GIVE_UP, ORIGIN, until=row.ask_again_at)
    site.clock.advance_s(row.ask_again_at - site.clock.unix_s())
    assert site.judge().answer is ASK
    site.answer()
    assert site.judge().answer is ALLOWED


def test_a_copy_in_force_is_not_given_up() -> None:
    site = Site(give_up_s=DAY_S)
    site.answer()
    for days in (1, 3):
        site.clock.advance_s(days * DAY_S)
        site.fail()
    assert site.judge().answer is ALLOWED


@pytest.mark.parametrize("body_at", [START + 3600.0, START + 1e9])
def test_a_copy_from_the_future_is_asked_for(body_at: float) -> None:
    site = Site()
    site.rows[ORIGIN] = RobotsRow("rules", b"", body_at, body_at, body_at + DAY_S)
    assert site.judge().answer is ASK


def test_a_back_off_into_the_far_future_is_not_believed() -> None:
    site = Site()
    site.rows[ORIGIN] = RobotsRow("unknown", b"", 0.0, START, START + 1e6, unknown_since=START)
    assert site.judge().answer is ASK


def test_unknown_never_permits_whatever_else_the_row_says() -> None:
    site = Site()
    site.rows[ORIGIN] = RobotsRow("unknown", BODY.encode(), START, START, START + 5.0)
    assert site.judge().answer is ASK


def test_redirects_are_hops_that_the_next_judge_asks() -> None:
    site = Site()
    for hops in range(5):
        verdict = site.judge()
        assert verdict.hops == hops
        case = {"status": 302, "headers": {"Location": f"/r{hops}#x"}}
        told = site.cache.answered(ORIGIN, verdict.hops, answer_of(case, verdict.ask_url))
        assert told == Follow(f"{ORIGIN}/r{hops}", hops + 1)
        site.cache.pending_hop(ORIGIN, told.url, told.hops)
    verdict = site.judge()
    assert (verdict.answer, verdict.ask_url, verdict.hops) == (ASK, ORIGIN + "/r4", 5)
    row = site.take(answer_of({"status": 302, "headers": {"Location": "/r5"}}, OPEN), ORIGIN, 5)
    assert (row.verdict, row.status) == ("none", 302)
    assert site.judge().answer is ALLOWED
    site.clock.advance_s(DAY_S)
    assert site.judge().ask_url == ORIGIN + "/robots.txt"


def test_no_redirects_at_all_where_none_are_allowed() -> None:
    case = {"status": 302, "headers": {"Location": "/r"}}
    row = Site(max_redirects=0).take(answer_of(case, OPEN), ORIGIN)
    assert row.verdict == "none"


def test_a_hop_is_asked_without_the_condition_of_the_first_url() -> None:
    site = Site()
    site.answer(ETag='"a"')
    site.clock.advance_s(DAY_S)
    assert site.judge().ask_headers
    site.cache.pending_hop(ORIGIN, "https://other.test/r", 1)
    assert site.judge().ask_headers == ()


def test_a_validator_from_behind_a_redirect_is_not_kept() -> None:
    site = Site()
    case = {"status": 200, "headers": {"ETag": '"a"'}, "body": BODY}
    row = site.take(answer_of(case, "https://other.test/r"), ORIGIN, hops=1)
    assert (row.verdict, row.etag) == ("rules", "")


@pytest.mark.parametrize("etag", ["é", "a\x00b", '"' + "x" * 600 + '"'])
def test_a_validator_that_cannot_be_sent_is_dropped(etag: str) -> None:
    assert Site().answer(ETag=etag).etag == ""


def test_a_304_without_a_copy_is_no_answer() -> None:
    assert Site().answer(304, "").verdict == "unknown"


def test_a_body_that_was_left_unread_is_no_answer() -> None:
    case = {"status": 200, "headers": {}, "body": "", "wanted": False}
    assert Site().take(answer_of(case, OPEN), ORIGIN).verdict == "unknown"


def test_a_body_is_cut_at_a_line() -> None:
    case = {"status": 200, "headers": {}, "body": "User-agent: *\nDisallow: /vault/\n"}
    answer = answer_of(case, OPEN, max_body_bytes=25)
    assert Site().take(answer, ORIGIN).body == b"User-agent: *"
    case["body"] = "User-agent: *\n" + "Disallow: /a\n" * 100_000
    row = Site().take(answer_of(case, OPEN), ORIGIN)
    assert len(row.body) <= 512_000
    assert row.body.endswith(b"\nDisallow: /a")


def test_a_row_outlives_the_cache_and_is_loaded_once() -> None:
    site = Site()
    site.answer()
    site.cache = site.fresh_cache()
    assert [site.judge(SHUT).answer for _ in range(3)] == [REFUSED] * 3
    assert site.loads == [ORIGIN, ORIGIN]  # one by `answered`, which knew nothing; one by `judge`


def test_a_copy_that_the_cache_has_dropped_is_found_by_answered() -> None:
    site = Site(capacity=1)
    site.answer(ETag='"a"')
    site.clock.advance_s(DAY_S)
    assert site.judge().answer is ASK
    site.answer(404, origin="https://other.test")
    assert site.answer(304, "").body == BODY.encode()


def test_the_least_recently_used_origins_are_dropped() -> None:
    site = Site(capacity=3)
    origins = [f"https://h{n}.test" for n in range(3)]
    for origin in origins:
        site.answer(origin=origin)
    site.judge(origins[0] + "/a")
    site.answer(origin="https://new.test")
    site.loads.clear()
    for origin in (origins[0], "https://new.test", origins[1]):
        site.judge(origin + "/a")
    assert site.loads == [origins[1]]


def test_the_text_of_all_origins_together_is_bounded() -> None:
    site = Site(capacity_bytes=3 * len(BODY))
    origins = [f"https://h{n}.test" for n in range(4)]
    for origin in origins:
        site.answer(origin=origin)
    site.loads.clear()
    for origin in reversed(origins):
        site.judge(origin + "/a")
    assert site.loads == [origins[0]]
    site.answer(body=BODY * 50)
    assert site.judge().answer is ALLOWED


def test_a_row_that_was_kept_while_an_older_one_was_loaded_wins() -> None:
    site = Site()
    site.answer(404)
    old = site.rows[ORIGIN]
    site.answer()
    new = site.rows[ORIGIN]
    site.cache = site.fresh_cache()

    def load(origin: str) -> RobotsRow:
        site.cache.keep(origin, new)
        return old

    assert site.cache.judge(SHUT, load).answer is REFUSED


def test_rules_are_those_of_the_origin() -> None:
    site = Site()
    site.answer(origin="https://archive.test:8443")
    assert site.judge("https://archive.test:8443/vault/").answer is REFUSED
    assert site.judge(SHUT).answer is ASK
    assert site.judge("http://archive.test/vault/").answer is ASK


def test_what_is_no_url_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="no http"):
        Site().judge("mailto:us@archive.test")
