"""The failure table as a whole: complete, and its rules for the host."""

from __future__ import annotations

import random

import pytest

from mercator.politeness.failures import (
    Action,
    HostVerdict,
    Judgement,
    backoff_s,
    judge,
    reason_of_failure,
    retry_after_s,
)
from mercator.values import FailureKind, Reason
from tests.unit.politeness.vectors import answer_of


def judged(case: dict[str, object], *, attempts: int = 1, retries: int = 2) -> Judgement:
    return judge(
        answer_of({"headers": {}, **case}, "https://archive.test/a"),
        attempts=attempts,
        retries=retries,
        now=1_800_000_000.0,
        max_retry_after_s=86_400.0,
    )


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_kind_has_a_line_and_an_end(kind: FailureKind) -> None:
    judgement = judged({"error": kind}, attempts=3)
    if judgement.host is HostVerdict.UNREACHABLE:
        assert judgement == Judgement(Action.RETRY, None, HostVerdict.UNREACHABLE, None)
    else:
        assert judgement.action is Action.GIVE_UP
        assert judgement.reason is reason_of_failure(kind)


def test_every_status_ends_at_the_last_attempt() -> None:
    for status in range(100, 1000):
        judgement = judged({"status": status}, attempts=3)
        assert judgement.action is not Action.RETRY, status
        ended = judgement.action in (Action.GIVE_UP, Action.GONE)
        assert (judgement.reason is not None) is ended, status


@pytest.mark.parametrize("attempts", [1, 50, 10_000])
def test_an_unreachable_host_is_not_the_fault_of_one_url(attempts: int) -> None:
    judgement = judged({"error": "connection_refused"}, attempts=attempts)
    assert judgement.action is Action.RETRY
    assert judgement.host is HostVerdict.UNREACHABLE


def test_retries_are_further_attempts() -> None:
    ends = [judged({"status": 500}, attempts=n, retries=2).action for n in (1, 2, 3)]
    assert ends == [Action.RETRY, Action.RETRY, Action.GIVE_UP]
    assert judged({"status": 500}, attempts=1, retries=0).reason is Reason.HTTP_ERROR


def test_a_wish_pauses_the_host_whatever_becomes_of_the_url() -> None:
    for status, action in ((302, Action.FOLLOW), (404, Action.GONE), (401, Action.GIVE_UP)):
        headers = {"Location": "/b", "Retry-After": "7"}
        judgement = judged({"status": status, "headers": headers})
        assert (judgement.action, judgement.host) == (action, HostVerdict.PAUSE)
        assert judgement.retry_after_s == 7.0


def test_a_wish_that_is_over_pauses_nothing() -> None:
    headers = {"Location": "/b", "Retry-After": "0"}
    assert judged({"status": 302, "headers": headers}).host is HostVerdict.FINE


def test_a_broken_redirect_is_tried_again() -> None:
    case = {"status": 301, "headers": {"Location": "/b"}, "error": "incomplete_body"}
    assert judged(case).action is Action.RETRY
    assert judged(case, attempts=3).reason is Reason.BODY_BROKEN


def test_a_condition_in_the_request_line_or_a_value_is_none() -> None:
    sent = {"X-Note": "if-none-match: x"}
    assert judged({"status": 304, "request_headers": sent}).action is Action.GIVE_UP


def test_retry_after_is_cut_at_the_ceiling() -> None:
    assert retry_after_s((("Retry-After", "99"),), 0.0, 60.0) == 60.0
    assert retry_after_s((("Retry-After", "0" * 40 + "99"),), 0.0, 100.0) == 99.0
    assert retry_after_s((("Retry-After", "9" * 100_000),), 0.0, 60.0) == 60.0
    assert retry_after_s((("Retry", "99"),), 0.0, 60.0) is None


def test_the_longest_of_several_wishes_counts() -> None:
    wishes = [("Retry-After", "20"), ("RETRY-AFTER", "40"), ("retry-after", "soon")]
    assert retry_after_s(wishes, 0.0, 60.0) == 40.0
    assert retry_after_s(wishes[::-1], 0.0, 60.0) == 40.0


@pytest.mark.parametrize("n", [10, 1023, 1024, 10**6, 10**30])
def test_back_off_of_any_number_is_capped(n: int) -> None:
    assert 0 <= backoff_s(n, 1.0, 300.0, random.Random(3)) <= 300.0


def test_back_off_doubles() -> None:
    class Top(random.Random):
        def random(self) -> float:
            return 1.0

    assert [backoff_s(n, 0.5, 3.0, Top()) for n in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
