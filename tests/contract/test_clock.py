"""What every Clock promises (ports.Clock)."""

from __future__ import annotations

import threading
import time

import pytest

from mercator.clock import RealClock
from mercator.ports import Clock
from mercator.testing import ManualClock

SHORT_S = 0.002


@pytest.fixture(params=["real", "manual"])
def clock(request: pytest.FixtureRequest) -> Clock:
    return RealClock() if request.param == "real" else ManualClock()


def test_monotonic_time_never_goes_back(clock: Clock) -> None:
    readings = [clock.monotonic_s() for _ in range(1000)]
    assert readings == sorted(readings)


def test_waiting_takes_as_long_as_it_says(clock: Clock) -> None:
    before_s = clock.monotonic_s()
    clock.sleep_s(SHORT_S)
    assert clock.monotonic_s() - before_s >= SHORT_S - 1e-9


@pytest.mark.parametrize("seconds", [0.0, -1.0, -1e9])
def test_a_wait_that_is_over_already_returns_at_once(clock: Clock, seconds: float) -> None:
    before_s = clock.monotonic_s()
    clock.sleep_s(seconds)
    assert 0 <= clock.monotonic_s() - before_s < 1.0


def test_unix_time_goes_with_monotonic_time(clock: Clock) -> None:
    zero = clock.unix_s() - clock.monotonic_s()
    clock.sleep_s(SHORT_S)
    assert clock.unix_s() - clock.monotonic_s() == pytest.approx(zero, abs=1e-3)


def test_unix_time_lies_in_our_days(clock: Clock) -> None:
    assert 1.7e9 < clock.unix_s() < 4e9


def test_a_jump_of_the_systems_clock_moves_nothing(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_s, monotonic_s = clock.unix_s(), clock.monotonic_s()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0 <= clock.unix_s() - before_s < 1.0
    assert 0 <= clock.monotonic_s() - monotonic_s < 1.0


def test_every_thread_sees_the_same_time(clock: Clock) -> None:
    seen: list[float] = []
    before_s = clock.monotonic_s()
    thread = threading.Thread(target=lambda: seen.append(clock.monotonic_s()))
    thread.start()
    thread.join(10)
    assert before_s <= seen[0] <= clock.monotonic_s()


# -- what one of them promises besides --------------------------------------------------------------


def test_a_real_clock_tells_the_systems_time() -> None:
    assert RealClock().unix_s() == pytest.approx(time.time(), abs=1.0)


def test_a_manual_clock_stands_still() -> None:
    clock = ManualClock(unix_s=1_900_000_000.0)
    assert clock.unix_s() == clock.unix_s() == 1_900_000_000.0
    assert clock.monotonic_s() == clock.monotonic_s()


def test_a_manual_clock_moves_by_what_it_is_told_to() -> None:
    clock = ManualClock()
    unix_s, monotonic_s = clock.unix_s(), clock.monotonic_s()
    clock.advance_s(2.5)
    clock.sleep_s(0.5)
    assert clock.unix_s() - unix_s == clock.monotonic_s() - monotonic_s == 3.0


def test_a_manual_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="time does not go back"):
        ManualClock().advance_s(-0.1)
