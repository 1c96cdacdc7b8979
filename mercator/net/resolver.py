"""Host names to vetted addresses through the system's resolver (ports.Resolver)."""

from __future__ import annotations

import ipaddress
import math
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from mercator.net.guard import AddressGuard
from mercator.net.resolve_map import ResolveMap
from mercator.ports import Clock
from mercator.values import FailureKind, Resolution

_MAX_NEGATIVE_TTL_S = 3600.0
_MAX_ADDRESSES = 8
_NO_SUCH_NAME = frozenset(
    {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}  # not all systems have it
)

GetAddrInfo = Callable[..., Sequence[tuple[Any, ...]]]
"""`socket.getaddrinfo`, or what stands in for it in a test."""


class _Cached(NamedTuple):
    """An answer, until when it holds, and how many failures in a row it is the last of.

    Threads: immutable.
    """

    until_s: float
    resolution: Resolution
    failures: int


class _LookUp:
    """A name that is being looked up, and who waits for it.

    `deadline_s` is None until a thread of the executor has taken it up: waiting for a thread is no
    fault of the name, and a burst of new hosts must not fail for being many.
    Threads: guarded by the resolver's `_lock`.
    """

    __slots__ = ("deadline_s", "waiting")

    def __init__(self) -> None:
        self.deadline_s: float | None = None
        self.waiting: list[Callable[[], None]] = []


class SystemResolver:
    """`socket.getaddrinfo` on the executor that it is handed, with a cache, single flight and a
    limit of time, behind the address guard.

    Good answers hold `ttl_s` (the system tells no time to live), failures `negative_ttl_s`,
    doubling with each failure in a row up to an hour; at most `capacity` names are remembered, the
    longest unused goes first. Names of `resolve_map` and IP literals (IPv6 in brackets or not)
    never reach the system.

    A look-up that hangs: `getaddrinfo` cannot be stopped, so after `timeout_s` its callers are
    answered DNS_TIMEOUT and its thread is left to end by itself; a late answer still enters the
    cache. The timer is one task on the same executor that lives only while look-ups run, and every
    call of `lookup` or `request` looks at the clock too: so callers are answered without a thread
    of our own, and also while every thread of the executor hangs. It should have two or more.
    Threads: safe from any thread. `_cache`, `_running`, `_next_deadline_s`, `_timed` and `_closed`
    are guarded by `_lock` (leaf; never held over a look-up or a callback).
    """

    def __init__(
        self,
        guard: AddressGuard,
        resolve_map: ResolveMap,
        clock: Clock,
        executor: Executor,
        *,
        timeout_s: float = 10.0,
        ttl_s: float = 300.0,
        negative_ttl_s: float = 60.0,
        capacity: int = 10_000,
        getaddrinfo: GetAddrInfo = socket.getaddrinfo,
    ) -> None:
        self._guard = guard
        self._resolve_map = resolve_map
        self._clock = clock
        self._executor = executor
        self._timeout_s = timeout_s
        self._ttl_s = ttl_s
        self._negative_ttl_s = negative_ttl_s
        self._capacity = capacity
        self._getaddrinfo = getaddrinfo
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._cache: OrderedDict[str, _Cached] = OrderedDict()
        self._running: dict[str, _LookUp] = {}
        self._next_deadline_s = math.inf
        self._timed = False
        self._closed = False

    def lookup(self, host: str) -> Resolution | None:
        """The answer that is known now; None when the name has to be asked for."""
        known = self._without_asking(host)
        if known is not None:
            return known
        now_s = self._clock.monotonic_s()
        with self._lock:
            late = self._give_up_late(now_s)
            known = self._cached(host, now_s)
        _call(late)
        return known

    def request(self, host: str, on_answer: Callable[[], None]) -> None:
        """Has the name looked up, once for all who wait, and calls `on_answer` when it is known: at
        once, on the caller's thread, when it is already; after `close`, never."""
        known = self._without_asking(host) is not None
        now_s = self._clock.monotonic_s()
        with self._lock:
            late = self._give_up_late(now_s)
            known = known or self._cached(host, now_s) is not None
            if not known and not self._closed:
                self._wait_for(host, on_answer, now_s)
        _call(late)
        if known:
            on_answer()

    def close(self) -> None:
        """Drops pending callbacks, takes no further names. The executor is its owner's to end."""
        with self._lock:
            self._closed = True
            for look_up in self._running.values():
                look_up.waiting = []
            self._idle.notify_all()

    def _cached(self, host: str, now_s: float) -> Resolution | None:
        """Under the lock: the answer in the cache, if it still holds."""
        cached = self._cache.get(host)
        if cached is None or cached.until_s <= now_s:
            return None
        self._cache.move_to_end(host)
        return cached.resolution

    def _wait_for(self, host: str, on_answer: Callable[[], None], now_s: float) -> None:
        """Under the lock: joins the name's look-up, or begins one."""
        look_up = self._running.get(host)
        if look_up is None:
            look_up = self._running[host] = _LookUp()
            look_up.waiting.append(on_answer)
            self._submit(self._look_up, host, look_up)
            return
        hangs = look_up.deadline_s is not None and not look_up.waiting
        look_up.waiting.append(on_answer)
        if hangs:
            # Its earlier callers have been answered DNS_TIMEOUT; these wait their own time.
            self._set_deadline(look_up, now_s)

    def _without_asking(self, host: str) -> Resolution | None:
        """The answer of the resolve map, or of a host that is an address."""
        mapped = self._resolve_map.answer(host)
        if mapped is not None:
            return self._vetted(host, (mapped[0],), mapped[1])
        literal = host[1:-1] if host[:1] == "[" else host
        if ":" in literal or literal[-1:].isdigit():
            try:
                ipaddress.ip_address(literal)
            except ValueError:
                return None
            return self._vetted(host, (literal,), 0)
        return None

    def _vetted(self, host: str, addresses: Sequence[str], port: int) -> Resolution:
        """The addresses that the guard lets pass, or the failure that none does."""
        passed = tuple(address for address in addresses if not self._guard.refuses(address))
        if passed:
            return Resolution(passed[:_MAX_ADDRESSES], port, None, "")
        refused = addresses[0].partition("%")[0]
        bits = 128 if ":" in refused else 32
        return Resolution(
            (),
            0,
            FailureKind.ADDRESS_REFUSED,
            f"{host} is at {refused}, an address that is not crawled unless it is allowed by "
            f"--allow-net {refused}/{bits}",
        )

    def _look_up(self, host: str, look_up: _LookUp) -> None:
        """One look-up, on a thread of the executor."""
        with self._lock:
            self._set_deadline(look_up, self._clock.monotonic_s())
        resolution = self._ask_system(host)
        with self._lock:
            del self._running[host]
            self._remember(host, resolution, self._clock.monotonic_s())
            waiting, look_up.waiting = look_up.waiting, []
            if not self._running:
                self._idle.notify_all()
        _call(waiting)

    def _set_deadline(self, look_up: _LookUp, now_s: float) -> None:
        """Under the lock: lets the look-up's time begin, and sees to it that the timer runs."""
        look_up.deadline_s = now_s + self._timeout_s
        self._next_deadline_s = min(self._next_deadline_s, look_up.deadline_s)
        if not self._timed and not self._closed:
            self._timed = self._submit(self._timer)

    def _ask_system(self, host: str) -> Resolution:
        try:
            answers = self._getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            kind = (
                FailureKind.DNS_NXDOMAIN
                if error.errno in _NO_SUCH_NAME
                else FailureKind.DNS_SERVFAIL
            )
            return Resolution((), 0, kind, f"{host}: {error.strerror or error}")
        except (UnicodeError, ValueError) as error:
            # An empty label, one over 63 bytes, or a NUL: such a name cannot exist.
            return Resolution((), 0, FailureKind.DNS_NXDOMAIN, f"{host}: {error}")
        except Exception as error:
            # Whatever else the system's resolver raises: the callers would wait for ever.
            return Resolution((), 0, FailureKind.DNS_SERVFAIL, f"{host}: {error!r}")
        addresses = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
        if not addresses:
            return Resolution((), 0, FailureKind.DNS_NXDOMAIN, f"{host}: no address")
        return self._vetted(host, addresses, 0)

    def _remember(self, host: str, resolution: Resolution, now_s: float) -> None:
        """Under the lock: puts an answer into the cache."""
        failures = 0
        hold_s = self._ttl_s
        if resolution.failure is not None:
            before = self._cache.get(host)
            failures = before.failures + 1 if before is not None else 1
            hold_s = min(_MAX_NEGATIVE_TTL_S, self._negative_ttl_s * 2.0 ** min(failures - 1, 60))
        self._cache[host] = _Cached(now_s + hold_s, resolution, failures)
        self._cache.move_to_end(host)
        while len(self._cache) > self._capacity:
            self._cache.popitem(last=False)

    def _give_up_late(self, now_s: float) -> list[Callable[[], None]]:
        """Under the lock: answers look-ups past their time with DNS_TIMEOUT; gives whom to tell.

        O(1) until a deadline has come, then O(names being looked up).
        """
        late: list[Callable[[], None]] = []
        if now_s < self._next_deadline_s:
            return late
        self._next_deadline_s = math.inf
        for host, look_up in self._running.items():
            if look_up.deadline_s is None or not look_up.waiting:
                continue
            if look_up.deadline_s <= now_s:
                text = f"{host}: no answer within {self._timeout_s:g} s"
                self._remember(host, Resolution((), 0, FailureKind.DNS_TIMEOUT, text), now_s)
                late += look_up.waiting
                look_up.waiting = []
            else:
                self._next_deadline_s = min(self._next_deadline_s, look_up.deadline_s)
        return late

    def _timer(self) -> None:
        """Gives late look-ups up for as long as any runs that somebody waits for.

        It need not be woken for a new look-up, whose deadline is always later than those before.
        """
        while True:
            with self._lock:
                now_s = self._clock.monotonic_s()
                late = self._give_up_late(now_s)
                ended = self._closed or not self._running or self._next_deadline_s == math.inf
                if ended:
                    self._timed = False
                elif not late:
                    self._idle.wait(self._next_deadline_s - now_s)
                    continue
            _call(late)
            if ended:
                return

    def _submit(self, task: Callable[..., None], *arguments: object) -> bool:
        """Hands a task to the executor; False when that is being shut down, and nobody is left who
        could be told of an answer."""
        try:
            self._executor.submit(task, *arguments)
        except RuntimeError:
            return False
        return True


def _call(waiting: list[Callable[[], None]]) -> None:
    for on_answer in waiting:
        on_answer()
