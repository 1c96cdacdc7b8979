"""The cases of `tests/vectors/retry.json` against the failure table."""

from __future__ import annotations

import pytest

from mercator.politeness.failures import Action, Judgement, judge
from tests.unit.politeness.vectors import Case, answer_of, cases, unix_s

WORDS = {
    Action.STORE: "store",
    Action.FOLLOW: "follow",
    Action.RETRY: "retry_after",
    Action.GIVE_UP: "give_up",
    Action.GONE: "mark_gone",
    Action.NOT_MODIFIED: "not_modified",
}


def judged(case: Case) -> Judgement:
    """What the table says of a case."""
    policy = case["policy"]
    return judge(
        answer_of(case, case.get("url", "https://archive.test/a")),
        attempts=case["attempt"],
        retries=policy["max_attempts"] - 1,
        now=unix_s(case["now"]),
        max_retry_after_s=policy["max_retry_after"],
    )


@pytest.mark.parametrize("case", cases("retry"), ids=lambda case: str(case["id"]))
def test_retry(case: Case) -> None:
    expect = case["expect"]
    judgement = judged(case)
    assert WORDS[judgement.action] == expect["action"], case["about"]
    if "seconds" in expect:
        assert judgement.retry_after_s == expect["seconds"], case["about"]
    if "host" in expect:
        assert judgement.host.value == expect["host"], case["about"]
    assert judgement.reason == expect.get("reason"), case["about"]
