"""The system resolver: cache, single flight, time-outs and the guard, on a manual clock."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from mercator.clock import RealClock
from mercator.net.guard import AddressGuard
from mercator.net.resolve_map import ResolveMap
from mercator.net.resolver import SystemResolver
from mercator.ports import Clock
from mercator.testing import ManualClock
from mercator.values import FailureKind, Resolution

PUBLIC = "93.184.216.34"


class StepExecutor(Executor):
    """Runs what was submitted when the test says so. Threads: one."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque()

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self._waiting.append(lambda: task(*args, **kwargs))
        return Future()

    def run(self) -> int:
        """Runs all; says how many tasks there were."""
        count = 0
        while self._waiting:
            self._waiting.popleft()()
            count += 1
        return count


class Names:
    """Stands in for getaddrinfo. Threads: safe from any thread."""

    def __init__(self, **answers: tuple[str, ...] | Exception) -> None:
        self.answers: dict[str, tuple[str, ...] | Exception] = {
            name.replace("_", "."): answer for name, answer in answers.items()
        }
        self.asked: list[str] = []

    def __call__(self, host: str, port: None, type: int) -> list[tuple[Any, ...]]:  # noqa: A002
        self.asked.append(host)
        answer = self.answers[host]
        if isinstance(answer, Exception):
            raise answer
        return [(0, type, 6, "", (address, 0)) for address in answer]


def _resolver(
    names: Callable[..., Any],
    clock: Clock,
    executor: Executor,
    *,
    allow_net: tuple[str, ...] = (),
    resolve: tuple[str, ...] = (),
    capacity: int = 10_000,
    timeout_s: float = 10.0,
) -> SystemResolver:
    return SystemResolver(
        AddressGuard(allow_net),
        ResolveMap(resolve),
        clock,
        executor,
        getaddrinfo=names,
        capacity=capacity,
        timeout_s=timeout_s,
    )


def _ask(resolver: SystemResolver, executor: StepExecutor, host: str) -> Resolution:
    told: list[str] = []
    resolver.request(host, lambda: told.append(host))
    executor.run()
    assert told == [host]
    known = resolver.lookup(host)
    assert known is not None
    return known


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def executor() -> StepExecutor:
    return StepExecutor()


def test_an_answer_is_known_when_it_is_called_back(
    clock: ManualClock, executor: StepExecutor
) -> None:
    names = Names(a_test=(PUBLIC, "8.8.8.8", PUBLIC))
    resolver = _resolver(names, clock, executor)
    known: list[Resolution | None] = []
    assert resolver.lookup("a.test") is None
    resolver.request("a.test", lambda: known.append(resolver.lookup("a.test")))
    assert names.asked == []
    executor.run()
    assert known == [Resolution((PUBLIC, "8.8.8.8"), 0, None, "")]


def test_all_who_ask_wait_for_one_look_up(clock: ManualClock, executor: StepExecutor) -> None:
    names = Names(a_test=(PUBLIC,))
    resolver = _resolver(names, clock, executor)
    told: list[int] = []
    for number in range(5):
        resolver.request("a.test", lambda number=number: told.append(number))  # type: ignore[misc]
    executor.run()
    assert (names.asked, told) == (["a.test"], [0, 1, 2, 3, 4])
    resolver.request("a.test", lambda: told.append(5))
    assert told[-1] == 5
    assert executor.run() == 0


def test_answers_hold_five_minutes(clock: ManualClock, executor: StepExecutor) -> None:
    names = Names(a_test=(PUBLIC,))
    resolver = _resolver(names, clock, executor)
    _ask(resolver, executor, "a.test")
    clock.advance_s(299)
    assert resolver.lookup("a.test") is not None
    clock.advance_s(1)
    assert resolver.lookup("a.test") is None
    names.answers["a.test"] = ("1.1.1.1",)
    assert _ask(resolver, executor, "a.test").addresses == ("1.1.1.1",)


def test_failures_hold_a_minute_and_twice_as_long_each_time(
    clock: ManualClock, executor: StepExecutor
) -> None:
    names = Names(a_test=socket.gaierror(socket.EAI_AGAIN, "try again"))
    resolver = _resolver(names, clock, executor)
    for hold_s in (60, 120, 240, 480, 960, 1920, 3600, 3600):
        assert _ask(resolver, executor, "a.test").failure is FailureKind.DNS_SERVFAIL
        clock.advance_s(hold_s - 1)
        assert resolver.lookup("a.test") is not None
        clock.advance_s(1)
        assert resolver.lookup("a.test") is None
    names.answers["a.test"] = (PUBLIC,)
    assert _ask(resolver, executor, "a.test").failure is None
    clock.advance_s(300)
    names.answers["a.test"] = socket.gaierror(socket.EAI_AGAIN, "try again")
    _ask(resolver, executor, "a.test")
    clock.advance_s(60)
    assert resolver.lookup("a.test") is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (socket.gaierror(socket.EAI_NONAME, "unknown"), FailureKind.DNS_NXDOMAIN),
        (socket.gaierror(socket.EAI_NODATA, "no address"), FailureKind.DNS_NXDOMAIN),
        (socket.gaierror(socket.EAI_AGAIN, "again"), FailureKind.DNS_SERVFAIL),
        (socket.gaierror(socket.EAI_FAIL, "fail"), FailureKind.DNS_SERVFAIL),
        (OSError(5, "broken"), FailureKind.DNS_SERVFAIL),
        (UnicodeError("label too long"), FailureKind.DNS_NXDOMAIN),
        (ValueError("embedded null byte"), FailureKind.DNS_NXDOMAIN),
        (MemoryError(), FailureKind.DNS_SERVFAIL),
        ((), FailureKind.DNS_NXDOMAIN),
    ],
)
def test_every_error_is_a_failure(
    clock: ManualClock,
    executor: StepExecutor,
    error: Exception | tuple[str, ...],
    kind: FailureKind,
) -> None:
    known = _ask(_resolver(Names(a_test=error), clock, executor), executor, "a.test")
    assert (known.addresses, known.failure) == ((), kind)
    assert known.error.startswith("a.test: ")


def test_names_that_cannot_exist_do_not_reach_the_network(
    clock: ManualClock, executor: StepExecutor
) -> None:
    resolver = _resolver(socket.getaddrinfo, clock, executor)
    for host in ("a" * 64 + ".test", "a..test", "a\0.test"):
        assert _ask(resolver, executor, host).failure is FailureKind.DNS_NXDOMAIN


def test_the_cache_forgets_what_was_not_used(clock: ManualClock, executor: StepExecutor) -> None:
    names = Names(a_test=(PUBLIC,), b_test=(PUBLIC,), c_test=(PUBLIC,))
    resolver = _resolver(names, clock, executor, capacity=2)
    _ask(resolver, executor, "a.test")
    _ask(resolver, executor, "b.test")
    assert resolver.lookup("a.test") is not None
    _ask(resolver, executor, "c.test")
    assert resolver.lookup("b.test") is None
    assert resolver.lookup("a.test") is not None


# -- the guard ------------------------------------------------------------------------------------


def test_refused_addresses_are_left_out(clock: ManualClock, executor: StepExecutor) -> None:
    names = Names(a_test=("10.0.0.1", "::1", PUBLIC))
    resolver = _resolver(names, clock, executor)
    assert _ask(resolver, executor, "a.test") == Resolution((PUBLIC,), 0, None, "")


def test_none_left_is_a_failure_that_says_how_to_mend_it(
    clock: ManualClock, executor: StepExecutor
) -> None:
    names = Names(a_test=("10.0.0.1", "192.168.0.1"), b_test=("fe80::1%eth0",))
    resolver = _resolver(names, clock, executor, resolve=("m.test=127.0.0.1:80",))
    for host, network in (
        ("a.test", "10.0.0.1/32"),
        ("b.test", "fe80::1/128"),
        ("m.test", "127.0.0.1/32"),
        ("127.0.0.1", "127.0.0.1/32"),
        ("[::1]", "::1/128"),
    ):
        known = _ask(resolver, executor, host)
        assert (known.addresses, known.failure) == ((), FailureKind.ADDRESS_REFUSED)
        assert f"--allow-net {network}" in known.error
        assert host in known.error


def test_a_legacy_spelling_of_loopback_does_not_pass(
    clock: ManualClock, executor: StepExecutor
) -> None:
    resolver = _resolver(socket.getaddrinfo, clock, executor)
    for host in ("127.1", "0x7f000001", "2130706433", "017700000001"):
        assert _ask(resolver, executor, host).failure is FailureKind.ADDRESS_REFUSED


def test_map_and_literals_are_known_without_asking(
    clock: ManualClock, executor: StepExecutor
) -> None:
    resolver = _resolver(
        Names(),
        clock,
        executor,
        allow_net=("127.0.0.0/8", "::1/128"),
        resolve=("*.test=127.0.0.1:8099", "six.test=[::1]:1"),
    )
    assert resolver.lookup("x.test") == Resolution(("127.0.0.1",), 8099, None, "")
    assert resolver.lookup("six.test") == Resolution(("::1",), 1, None, "")
    assert resolver.lookup("127.0.0.1") == Resolution(("127.0.0.1",), 0, None, "")
    assert resolver.lookup("[::1]") == Resolution(("::1",), 0, None, "")
    assert resolver.lookup("::1") == Resolution(("::1",), 0, None, "")
    assert resolver.lookup(PUBLIC) == Resolution((PUBLIC,), 0, None, "")
    told: list[int] = []
    resolver.request("x.test", lambda: told.append(1))
    assert told == [1]
    assert executor.run() == 0


# -- time -----------------------------------------------------------------------------------------


class HangingNames(Names):
    """Hangs on every name until `released`. Threads: safe from any thread."""

    def __init__(self, **answers: tuple[str, ...] | Exception) -> None:
        super().__init__(**answers)
        self.begun = threading.Semaphore(0)
        self.released = threading.Event()

    def __call__(self, host: str, port: None, type: int) -> list[tuple[Any, ...]]:  # noqa: A002
        self.begun.release()
        self.released.wait()
        return super().__call__(host, port, type)


@pytest.fixture
def hanging() -> Iterator[HangingNames]:
    names = HangingNames(a_test=(PUBLIC,), b_test=(PUBLIC,))
    yield names
    names.released.set()


@pytest.fixture
def pool(hanging: HangingNames) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(max_workers=4)
    yield pool
    hanging.released.set()
    pool.shutdown()


def test_a_look_up_that_hangs_is_given_up_at_the_next_call(
    clock: ManualClock, hanging: HangingNames, pool: ThreadPoolExecutor
) -> None:
    resolver = _resolver(hanging, clock, pool)
    told: list[str] = []
    resolver.request("a.test", lambda: told.append("first"))
    resolver.request("a.test", lambda: told.append("second"))
    hanging.begun.acquire()
    clock.advance_s(9.9)
    assert resolver.lookup("b.test") is None
    assert told == []
    clock.advance_s(0.2)
    assert resolver.lookup("b.test") is None
    assert told == ["first", "second"]
    known = resolver.lookup("a.test")
    assert known is not None
    assert known.failure is FailureKind.DNS_TIMEOUT
    assert known.error == "a.test: no answer within 10 s"
    # Asked again while the same look-up still hangs: no second thread, its own time to wait.
    clock.advance_s(60)
    resolver.request("a.test", lambda: told.append("third"))
    clock.advance_s(9.9)
    resolver.lookup("b.test")
    assert len(told) == 2
    clock.advance_s(0.2)
    resolver.lookup("b.test")
    assert told[2:] == ["third"]
    resolver.close()


def test_a_late_answer_still_counts(
    clock: ManualClock, hanging: HangingNames, pool: ThreadPoolExecutor
) -> None:
    resolver = _resolver(hanging, clock, pool)
    told: list[int] = []
    resolver.request("a.test", lambda: told.append(1))
    hanging.begun.acquire()
    clock.advance_s(11)
    resolver.lookup("a.test")
    hanging.released.set()
    pool.shutdown()
    known = resolver.lookup("a.test")
    assert known is not None
    assert (known.failure, told) == (None, [1])


def test_a_look_up_that_hangs_is_given_up_without_any_call(
    hanging: HangingNames, pool: ThreadPoolExecutor
) -> None:
    resolver = _resolver(hanging, RealClock(), pool, timeout_s=0.05)
    answered = threading.Event()
    resolver.request("a.test", answered.set)
    assert answered.wait(5)
    known = resolver.lookup("a.test")
    assert known is not None
    assert known.failure is FailureKind.DNS_TIMEOUT


def test_waiting_for_a_thread_is_no_fault_of_the_name(
    clock: ManualClock, executor: StepExecutor
) -> None:
    resolver = _resolver(Names(a_test=(PUBLIC,)), clock, executor)
    told: list[int] = []
    resolver.request("a.test", lambda: told.append(1))
    clock.advance_s(100)
    assert resolver.lookup("a.test") is None
    executor.run()
    known = resolver.lookup("a.test")
    assert known is not None
    assert (known.failure, told) == (None, [1])


def test_one_thread_is_enough_for_answers() -> None:
    names = Names(a_test=(PUBLIC,), b_test=(PUBLIC,))
    with ThreadPoolExecutor(max_workers=1) as pool:
        resolver = _resolver(names, RealClock(), pool, timeout_s=60.0)
        for host in ("a.test", "b.test"):
            answered = threading.Event()
            resolver.request(host, answered.set)
            assert answered.wait(5)


def test_no_thread_is_kept_when_nothing_runs() -> None:
    with ThreadPoolExecutor(max_workers=2) as pool:
        resolver = _resolver(Names(a_test=(PUBLIC,)), RealClock(), pool, timeout_s=60.0)
        answered = threading.Event()
        resolver.request("a.test", answered.set)
        assert answered.wait(5)
        # Leaving the block joins the pool: a timer that slept on would make it wait for a minute.


def test_closing_drops_who_waits(
    clock: ManualClock, hanging: HangingNames, pool: ThreadPoolExecutor
) -> None:
    resolver = _resolver(hanging, clock, pool)
    told: list[int] = []
    resolver.request("a.test", lambda: told.append(1))
    hanging.begun.acquire()
    resolver.close()
    resolver.close()
    resolver.request("b.test", lambda: told.append(2))
    hanging.released.set()
    pool.shutdown()
    assert told == []
    assert hanging.asked == ["a.test"]


def test_an_executor_that_is_shut_down_first_does_not_raise(clock: ManualClock) -> None:
    pool = ThreadPoolExecutor(max_workers=1)
    resolver = _resolver(Names(a_test=(PUBLIC,)), clock, pool)
    pool.shutdown()
    resolver.request("a.test", lambda: None)
    assert resolver.lookup("a.test") is None
    resolver.close()


def test_a_look_up_is_cheap_while_many_wait(clock: ManualClock, executor: StepExecutor) -> None:
    """The check for late names must not walk all that wait, at each call."""
    names = Names(a_test=(PUBLIC,))
    resolver = _resolver(names, clock, executor)
    _ask(resolver, executor, "a.test")

    class Counting(dict[str, object]):
        walked = 0

        def items(self) -> Any:
            Counting.walked += 1
            return super().items()

    running = Counting()
    resolver._running = running  # type: ignore[assignment]
    for number in range(100):
        resolver.request(f"h{number}.test", lambda: None)
    for _ in range(100):
        resolver.lookup("a.test")
    assert Counting.walked == 0
