"""In any window of T seconds at most capacity + rate x (T + 6 ms) are released.

Equivalent over the sorted releases: (j - i + 1) <= capacity + rate x (t_j - t_i + 6 ms) for all i < j.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from mercator.politeness.token_bucket import TokenBucket
from mercator.testing import ManualClock
from tests.unit.politeness.virtual_threads import VirtualThreads

Wait = Callable[[float], bool]

lateness = st.lists(
    st.one_of(st.just(0.0), st.floats(0, 0.004), st.floats(0, 0.1)), min_size=1, max_size=40
)


class Run:
    """Threads of one bucket, each taking and then resting by a script; all releases with times."""

    def __init__(self, rate: float, capacity: int, late_s: list[float]) -> None:
        self.rate, self.capacity = rate, capacity
        self.clock = ManualClock()
        self.bucket = TokenBucket(rate, capacity, clock=self.clock)
        self.released: list[float] = []
        self._threads = VirtualThreads(self.clock, lambda k: late_s[k % len(late_s)])

    def run(self, scripts: list[list[tuple[int, float]]]) -> None:
        self._threads.run([self._body(script) for script in scripts])

    def _body(self, script: list[tuple[int, float]]) -> Callable[[Wait], None]:
        def body(wait: Wait) -> None:
            for n, rest_s in script:
                if rest_s:
                    wait(rest_s)
                if n == 0:
                    taken = int(self.bucket.try_acquire())
                else:
                    assert self.bucket.acquire(n, stop=wait)
                    taken = n
                self.released += [self.clock.monotonic_s()] * taken

        return body


@st.composite
def runs(draw: st.DrawFn) -> tuple[Run, list[list[tuple[int, float]]]]:
    capacity = draw(st.integers(1, 4))
    run = Run(draw(st.sampled_from([0.7, 5.0, 60.0, 200.0, 900.0])), capacity, draw(lateness))
    step = st.tuples(st.integers(0, capacity), st.sampled_from([0.0, 0.0, 0.0, 0.001, 0.02, 1.0]))
    scripts = draw(st.lists(st.lists(step, min_size=1, max_size=12), min_size=1, max_size=6))
    return run, scripts


@given(runs())
@settings(max_examples=150, deadline=None)
def test_every_window(drawn: tuple[Run, list[list[tuple[int, float]]]]) -> None:
    run, scripts = drawn
    run.run(scripts)
    at = run.released
    assert at == sorted(at)
    for i in range(len(at)):
        for j in range(i, len(at)):
            assert j - i + 1 <= run.capacity + run.rate * (at[j] - at[i] + 0.006)


@given(late_s=lateness, threads=st.integers(1, 6), each=st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_every_gap_of_a_bucket_of_one(late_s: list[float], threads: int, each: int) -> None:
    run = Run(20.0, 1, late_s)
    run.run([[(1, 0.0)] * each for _ in range(threads)])
    at = run.released
    assert len(at) == threads * each
    assert all(later - earlier >= 0.048 for earlier, later in pairwise(at))
