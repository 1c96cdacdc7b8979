"""A host's clock: when it may be asked next, and that no word ever shortens a wait."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercator.config import CrawlConfig
from mercator.engine.host_clock import ClockRules, HostClock, HostClocks
from mercator.politeness.failures import Judgement, judge
from mercator.rows import HostRow
from mercator.testing import MemoryBody
from mercator.values import FailureKind, FetchFailure, FetchResult, HostId

A = HostId(b"aaaaaa")
NOW = 1_800_000_000.0
FRESH = HostClock(0, 0.0, 1.0, "delay")
DOWN = FailureKind.CONNECT_TIMEOUT


class FullJitter(Random):
    """Always the longest back-off. Threads: the test's."""

    def uniform(self, a: float, b: float) -> float:
        return b


def result(status: int = 200, took_s: float = 0.5, **headers: str) -> FetchResult:
    """An answer that ended now."""
    return FetchResult(
        url="http://a.test/",
        status=status,
        http_version="HTTP/1.1",
        status_text="",
        headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()),
        request_head=b"GET / HTTP/1.1\r\n\r\n",
        body=MemoryBody(b""),
        truncated=False,
        wanted=True,
        address="192.0.2.1",
        started_at=NOW - took_s,
        ended_at=NOW,
        elapsed_s=took_s,
    )


def failure(kind: FailureKind, status: int | None = None, took_s: float = 0.5) -> FetchFailure:
    """A request that failed now."""
    return FetchFailure(
        url="http://a.test/",
        kind=kind,
        error=str(kind),
        status=status,
        address="",
        started_at=NOW - took_s,
        ended_at=NOW,
        elapsed_s=took_s,
    )


def judged(answer: FetchResult | FetchFailure, attempts: int = 1) -> Judgement:
    return judge(answer, attempts=attempts, retries=2, now=NOW, max_retry_after_s=86_400.0)


def rules(**settings: Any) -> ClockRules:
    return ClockRules(CrawlConfig(**settings), FullJitter())


def after(
    answer: FetchResult | FetchFailure,
    clock: HostClock = FRESH,
    crawl_delay_s: float | None = None,
    attempts: int = 1,
    **settings: Any,
) -> HostClock:
    return rules(**settings).after(clock, answer, judged(answer, attempts), crawl_delay_s)


# -- the gap ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [result(), result(404), failure(FailureKind.READ_TIMEOUT)])
def test_the_gap_counts_from_the_end_of_the_request(answer: FetchResult | FetchFailure) -> None:
    clock = after(answer, delay_s=2.0)
    assert (clock.due_at, clock.ready_at()) == (NOW + 2.0, NOW + 2.0)


@pytest.mark.parametrize(
    ("crawl_delay_s", "took_s", "gap"),
    [
        (None, 0.5, (1.0, "delay")),
        (5.0, 0.5, (5.0, "crawl_delay")),
        (0.2, 0.5, (1.0, "delay")),
        (None, 7.0, (7.0, "delay_factor")),
        (5.0, 7.0, (7.0, "delay_factor")),
        (9.0, 7.0, (9.0, "crawl_delay")),
    ],
)
def test_the_longest_of_delay_crawl_delay_and_duration_is_the_gap_and_is_named(
    crawl_delay_s: float | None, took_s: float, gap: tuple[float, str]
) -> None:
    clock = after(result(took_s=took_s), crawl_delay_s=crawl_delay_s, delay_s=1.0, delay_factor=1.0)
    assert (clock.gap_s, clock.gap_reason) == gap
    assert clock.due_at == NOW + gap[0]


def test_a_gap_that_was_set_before_is_not_shortened() -> None:
    clock = after(result(), FRESH._replace(due_at=NOW + 60.0))
    assert clock.due_at == NOW + 60.0


def test_every_request_makes_a_new_version() -> None:
    assert after(result(), FRESH._replace(version=7)).version == 8
    assert after(failure(DOWN), FRESH._replace(version=7)).version == 8


# -- strikes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_asks_for_a_rest_gets_one_that_doubles(status: int) -> None:
    clock = FRESH
    blocks = []
    for _ in range(4):
        clock = after(result(status), clock, retry_base_s=2.0, retry_cap_s=20.0)
        blocks.append(clock.blocked_until - NOW)
    assert blocks == [4.0, 8.0, 16.0, 20.0]
    assert (clock.strikes, clock.block_reason) == (4, "back_off")


@pytest.mark.parametrize("status", [200, 301, 404, 500])
def test_any_other_answer_ends_the_count_and_no_block(status: int) -> None:
    struck = after(result(429))
    clock = after(result(status, Location="/"), struck)
    assert clock.strikes == 0
    assert clock.blocked_until == struck.blocked_until


@pytest.mark.parametrize("kind", [FailureKind.READ_TIMEOUT, FailureKind.CONNECTION_RESET])
def test_a_failure_of_the_urls_own_says_nothing_about_the_host(kind: FailureKind) -> None:
    struck = FRESH._replace(strikes=2)
    clock = after(failure(kind), struck)
    assert (clock.strikes, clock.unreachable, clock.blocked_until) == (2, 0, 0.0)


def test_a_url_that_gives_up_leaves_its_host_the_rest_it_asked_for() -> None:
    clock = after(result(429), attempts=3)
    assert (clock.strikes, clock.block_reason) == (1, "back_off")


# -- unreachable -----------------------------------------------------------------------------------


def test_failures_below_http_are_counted_from_the_first_to_the_last() -> None:
    first = after(failure(DOWN))
    assert (first.unreachable, first.unreachable_since, first.unreachable_kind) == (1, NOW, DOWN)
    assert first.block_reason == "unreachable"
    earlier = first._replace(unreachable_since=NOW - 100.0, unreachable_at=NOW - 50.0)
    second = after(failure(FailureKind.DNS_SERVFAIL), earlier)
    assert (second.unreachable, second.unreachable_since) == (2, NOW - 100.0)
    assert (second.unreachable_kind, second.unreachable_at) == (FailureKind.DNS_SERVFAIL, NOW)


def test_a_host_that_cannot_be_reached_is_tried_ever_more_seldom() -> None:
    clock = FRESH
    blocks = []
    for _ in range(3):
        clock = after(failure(DOWN), clock, retry_base_s=1.0, retry_cap_s=300.0)
        blocks.append(clock.blocked_until - NOW)
    assert blocks == [2.0, 4.0, 8.0]


@pytest.mark.parametrize(
    "answer", [result(), result(500), result(429), failure(FailureKind.READ_TIMEOUT)]
)
def test_a_host_that_was_reached_is_no_longer_unreachable(
    answer: FetchResult | FetchFailure,
) -> None:
    clock = after(answer, after(failure(DOWN)))
    assert (clock.unreachable, clock.unreachable_since, clock.unreachable_kind) == (0, 0.0, None)


def test_an_unreachable_host_keeps_its_strikes() -> None:
    assert after(failure(DOWN), FRESH._replace(strikes=3)).strikes == 3


# -- retry-after -----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 429, 500, 503, 404])
def test_a_wish_to_wait_is_obeyed_whatever_the_status(status: int) -> None:
    clock = after(result(status, Location="/there", Retry_After="500"))
    assert clock.blocked_until >= NOW + 500.0
    assert clock.block_reason == "retry_after"


def test_a_redirect_that_asks_to_wait_is_no_strike() -> None:
    clock = after(result(301, Location="/there", Retry_After="120"), FRESH._replace(strikes=1))
    assert (clock.strikes, clock.blocked_until) == (1, NOW + 120.0)


def test_of_wish_and_back_off_the_longer_counts() -> None:
    clock = after(result(503, Retry_After="3"), FRESH._replace(strikes=9), retry_cap_s=300.0)
    assert (clock.blocked_until, clock.block_reason) == (NOW + 300.0, "back_off")


def test_a_failure_behind_the_head_obeys_the_wish_of_the_head() -> None:
    answer = failure(FailureKind.INCOMPLETE_BODY, status=503)
    answer = replace(answer, headers=(("Retry-After", "500"),))
    assert after(answer).blocked_until == NOW + 500.0


# -- blocks ----------------------------------------------------------------------------------------


def test_a_block_that_reaches_less_far_changes_nothing() -> None:
    clock = FRESH.blocked(NOW + 60.0, "retry_after")
    assert clock.blocked(NOW + 59.0, "back_off") is clock
    assert clock.blocked(NOW + 60.0, "back_off") is clock


def test_a_block_that_reaches_further_is_named() -> None:
    clock = FRESH.blocked(NOW + 60.0, "retry_after").blocked(NOW + 61.0, "robots_unknown")
    assert (clock.blocked_until, clock.block_reason) == (NOW + 61.0, "robots_unknown")


answers = st.one_of(
    st.builds(
        lambda status, wish, took_s: result(status, took_s, Location="/", Retry_After=wish),
        st.sampled_from([200, 301, 304, 403, 404, 429, 500, 503]),
        st.sampled_from(["", "0", "7", "90", "nonsense"]),
        st.floats(0.0, 20.0),
    ),
    st.builds(
        failure, st.sampled_from(list(FailureKind)), st.sampled_from([None, 200, 404, 429, 503])
    ),
)


@given(
    st.lists(st.tuples(answers, st.sampled_from([None, 0.1, 30.0])), max_size=8),
    st.randoms(use_true_random=False),
)
def test_nothing_ever_shortens_a_wait(
    asked: list[tuple[FetchResult | FetchFailure, float | None]], random: Random
) -> None:
    made = ClockRules(CrawlConfig(), random)
    clock = FRESH
    for answer, crawl_delay_s in asked:
        later = made.after(clock, answer, judged(answer), crawl_delay_s)
        assert later.due_at >= max(clock.due_at, NOW + 1.0)
        assert later.blocked_until >= clock.blocked_until
        assert later.version == clock.version + 1
        clock = later


# -- pauses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clock", "paused"),
    [
        (HostClock(0, NOW, 1.0, "delay"), False),
        (HostClock(0, NOW, 600.0, "crawl_delay"), False),
        (HostClock(0, NOW, 600.1, "crawl_delay"), True),
        (HostClock(0, NOW, 1.0, "delay", blocked_until=NOW - 1.0), False),
        (HostClock(0, NOW, 1.0, "delay", blocked_until=NOW), False),
        (HostClock(0, NOW, 1.0, "delay", blocked_until=NOW + 0.1), True),
    ],
)
def test_a_host_pauses_when_it_waits_for_more_than_its_gap(clock: HostClock, paused: bool) -> None:
    assert rules(patience_s=600.0).pauses(clock) is paused


# -- addresses -------------------------------------------------------------------------------------


def test_the_last_few_addresses_are_kept_once_and_in_order() -> None:
    clock = FRESH
    for n in (1, 2, 1, 3, 4, 5, 6):
        clock = after(replace(result(), address=f"192.0.2.{n}"), clock)
    assert clock.addresses == tuple(f"192.0.2.{n}" for n in (3, 4, 5, 6))


def test_a_request_that_reached_no_address_keeps_those_that_are_known() -> None:
    clock = FRESH._replace(addresses=("192.0.2.1",))
    assert after(failure(DOWN), clock).addresses == ("192.0.2.1",)


# -- rows ------------------------------------------------------------------------------------------

ROW = HostRow(
    "a.test",
    due_at=NOW + 5.0,
    gap_s=4.0,
    gap_reason="crawl_delay",
    blocked_until=NOW + 9.0,
    block_reason="retry_after",
    strikes=2,
    unreachable=1,
    unreachable_since=NOW - 7.0,
    unreachable_kind=DOWN,
    stored=3,
    addresses=("192.0.2.1",),
)


def test_a_clock_goes_on_from_its_row() -> None:
    clocks = HostClocks(1.0)
    clocks.load(A, ROW)
    clock = clocks.get(A)
    assert clock.onto(HostRow("a.test", stored=3)) == ROW
    assert clock.version == 0


@pytest.mark.parametrize(
    ("row", "gap"),
    [
        (HostRow("a.test"), (2.0, "delay")),
        (HostRow("a.test", gap_s=1.0, gap_reason="delay_factor"), (2.0, "delay")),
        (HostRow("a.test", gap_s=3.0, gap_reason="crawl_delay"), (3.0, "crawl_delay")),
        (HostRow("a.test", gap_s=2.0, gap_reason="crawl_delay"), (2.0, "crawl_delay")),
    ],
)
def test_a_gap_of_the_last_run_is_kept_unless_todays_delay_is_longer(
    row: HostRow, gap: tuple[float, str]
) -> None:
    clocks = HostClocks(2.0)
    clocks.load(A, row)
    assert (clocks.get(A).gap_s, clocks.get(A).gap_reason) == gap


def test_a_row_keeps_what_reaches_further_than_the_clock() -> None:
    row = FRESH._replace(due_at=NOW).onto(ROW)
    assert (row.due_at, row.blocked_until, row.block_reason) == (
        NOW + 5.0,
        NOW + 9.0,
        "retry_after",
    )
    assert row.addresses == ("192.0.2.1",)
    assert row.stored == 3


def test_a_row_takes_what_the_clock_counts() -> None:
    row = FRESH._replace(due_at=NOW + 60.0, strikes=0).onto(ROW)
    assert (row.due_at, row.gap_s, row.strikes, row.unreachable) == (NOW + 60.0, 1.0, 0, 0)


def test_a_host_that_gave_its_queue_away_has_no_clock() -> None:
    clocks = HostClocks(1.0)
    clocks.load(A, ROW)
    clocks.put(A, FRESH)
    assert clocks.get(A) is FRESH
    clocks.drop(A)
    clocks.drop(A)
    with pytest.raises(KeyError):
        clocks.get(A)
