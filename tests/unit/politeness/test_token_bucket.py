"""The token bucket in virtual time: rate, order, lateness, interruption, live change."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from mercator.politeness.token_bucket import TokenBucket
from mercator.testing import ManualClock
from tests.unit.politeness.virtual_threads import VirtualThreads


def releases(
    rate: float,
    *,
    threads: int,
    each: int,
    late_s: Callable[[int], float] = lambda k: 0.0,
    capacity: float = 1.0,
) -> list[float]:
    """When `threads` saturated threads get through, `each` of them so many times."""
    clock = ManualClock()
    bucket = TokenBucket(rate, capacity, clock=clock)
    at: list[float] = []

    def body(wait: Callable[[float], bool]) -> None:
        for _ in range(each):
            assert bucket.acquire(stop=wait)
            at.append(clock.monotonic_s())

    VirtualThreads(clock, late_s).run([body] * threads)
    return at


def gaps(at: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(at)]


def test_starts_full_and_then_keeps_the_gap() -> None:
    at = releases(4.0, threads=1, each=5)
    assert [round(t - at[0], 5) for t in at] == [0, 0.25, 0.5, 0.75, 1.0]


def test_a_burst_goes_at_once_after_a_rest() -> None:
    clock = ManualClock()
    bucket = TokenBucket(2.0, 3.0, clock=clock)
    assert [bucket.try_acquire() for _ in range(4)] == [True, True, True, False]
    clock.advance_s(100.0)
    assert [bucket.try_acquire() for _ in range(4)] == [True, True, True, False]


def test_many_at_once_cost_as_much_as_one_by_one() -> None:
    clock = ManualClock()
    bucket = TokenBucket(2.0, 4.0, clock=clock)
    assert bucket.acquire(4)
    before = clock.monotonic_s()
    assert bucket.acquire(3)
    assert clock.monotonic_s() - before == pytest.approx(1.5, abs=1e-5)


def test_waiters_are_served_in_the_order_of_arrival() -> None:
    clock = ManualClock()
    bucket = TokenBucket(10.0, clock=clock)
    order: list[int] = []

    def body(name: int) -> Callable[[Callable[[float], bool]], None]:
        def run(wait: Callable[[float], bool]) -> None:
            assert bucket.acquire(stop=wait)
            order.append(name)

        return run

    VirtualThreads(clock, lambda k: 0.0).run([body(name) for name in range(12)])
    assert order == list(range(12))


@pytest.mark.parametrize("rate", [20.0, 60.0, 200.0])
def test_mean_rate_and_smallest_gap_with_late_wake_ups(rate: float) -> None:
    # Mostly a fifth of a millisecond, every tenth three: what a busy machine does.
    at = releases(rate, threads=16, each=50, late_s=lambda k: 0.003 if k % 10 == 0 else 0.0002)
    assert (len(at) - 1) / (at[-1] - at[0]) == pytest.approx(rate, rel=0.003)
    assert min(gaps(at)) >= 1 / rate - 0.002


def test_a_thread_that_sleeps_long_holds_up_nobody() -> None:
    at = releases(50.0, threads=8, each=25, late_s=lambda k: 0.5 if k == 20 else 0.0)
    assert (len(at) - 1) / (at[-1] - at[0]) == pytest.approx(50.0, rel=0.01)
    assert min(gaps(at)) >= 0.018


def test_lateness_is_made_up_in_small_steps_and_not_for_ever() -> None:
    at = releases(10.0, threads=1, each=8, late_s=lambda k: 0.05 if k == 1 else 0.0)
    steps = [round(gap, 4) for gap in gaps(at)]
    assert steps == [0.15, 0.098, 0.098, 0.098, 0.1, 0.1, 0.1]


def late_by_four_ms(clock: ManualClock, bucket: TokenBucket) -> None:
    """One waiter wakes 4 ms late."""

    def wait(seconds: float) -> bool:
        clock.advance_s(seconds + 0.004)
        return False

    assert bucket.acquire()
    assert bucket.acquire(stop=wait)


def next_gap_s(clock: ManualClock, bucket: TokenBucket) -> float:
    """How long the next release lets its waiter wait."""
    before_s = clock.monotonic_s()
    assert bucket.acquire()
    return clock.monotonic_s() - before_s


def test_rest_is_not_lateness() -> None:
    clock = ManualClock()
    bucket = TokenBucket(10.0, clock=clock)
    late_by_four_ms(clock, bucket)
    clock.advance_s(5.0)
    assert bucket.try_acquire()
    assert next_gap_s(clock, bucket) == pytest.approx(0.1, abs=1e-5)


def test_lateness_under_another_rate_is_not_made_up() -> None:
    clock = ManualClock()
    bucket = TokenBucket(10.0, clock=clock)
    late_by_four_ms(clock, bucket)
    assert next_gap_s(clock, bucket) == pytest.approx(0.098, abs=1e-5)
    bucket.set_rate(20.0)
    assert next_gap_s(clock, bucket) == pytest.approx(0.05, abs=1e-5)


def test_reservations_are_slots_one_behind_the_other() -> None:
    bucket = TokenBucket(4.0, 2.0, clock=ManualClock())
    assert [bucket.reserve() for _ in range(5)] == pytest.approx([0, 0, 0.25, 0.5, 0.75])
    assert bucket.waited_s == pytest.approx(1.5)


def test_an_interrupted_waiter_takes_nothing() -> None:
    clock = ManualClock()
    bucket = TokenBucket(1.0, clock=clock)
    assert bucket.acquire()

    def interrupt(seconds: float) -> bool:
        clock.advance_s(seconds / 2)
        return True

    assert not bucket.acquire(stop=interrupt)
    assert bucket.waited_s == pytest.approx(0.5)
    clock.advance_s(0.5)
    assert bucket.try_acquire()


def test_a_wait_that_raises_leaves_no_place_behind() -> None:
    clock = ManualClock()
    bucket = TokenBucket(1.0, clock=clock)
    assert bucket.acquire()

    def fail(seconds: float) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bucket.acquire(stop=fail)
    clock.advance_s(1.0)
    assert bucket.try_acquire()


def test_nobody_overtakes_who_waits() -> None:
    clock = ManualClock()
    bucket = TokenBucket(1.0, 2.0, clock=clock)
    assert bucket.acquire(2)
    tried: list[bool] = []

    def wait(seconds: float) -> bool:
        clock.advance_s(seconds)
        tried.append(bucket.try_acquire())
        return False

    assert bucket.acquire(2, stop=wait)
    assert tried == [False, False]


def test_a_raised_rate_is_felt_by_those_who_sleep_already() -> None:
    clock = ManualClock()
    bucket = TokenBucket(0.001, clock=clock)
    assert bucket.acquire()
    began_s = clock.monotonic_s()

    def wait(seconds: float) -> bool:
        clock.advance_s(seconds)
        bucket.set_rate(10.0)
        return False

    assert bucket.acquire(stop=wait)
    assert clock.monotonic_s() - began_s <= 1.11


def test_a_lowered_rate_lengthens_the_gap() -> None:
    clock = ManualClock()
    bucket = TokenBucket(10.0, clock=clock)
    assert bucket.acquire()
    bucket.set_rate(0.5)
    began_s = clock.monotonic_s()
    assert bucket.acquire()
    assert clock.monotonic_s() - began_s == pytest.approx(2.0, abs=1e-4)


def test_waited_counts_all_threads() -> None:
    clock = ManualClock()
    bucket = TokenBucket(10.0, clock=clock)

    def body(wait: Callable[[float], bool]) -> None:
        assert bucket.acquire(stop=wait)

    VirtualThreads(clock, lambda k: 0.0).run([body] * 4)
    assert bucket.waited_s == pytest.approx(0.1 + 0.2 + 0.3, abs=1e-4)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_must_be_positive(rate: float) -> None:
    clock = ManualClock()
    with pytest.raises(ValueError, match="rate"):
        TokenBucket(rate, clock=clock)
    with pytest.raises(ValueError, match="rate"):
        TokenBucket(1.0, clock=clock).set_rate(rate)


def test_what_could_never_be_served_is_refused() -> None:
    bucket = TokenBucket(1.0, 2.0, clock=ManualClock())
    for n in (0, 3):
        for call in (bucket.acquire, bucket.try_acquire, bucket.reserve):
            with pytest.raises(ValueError, match="n must"):
                call(n)
    with pytest.raises(ValueError, match="capacity"):
        TokenBucket(1.0, 0.5, clock=ManualClock())
