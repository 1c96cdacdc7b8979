"""A host's clock while it is active: when it may be asked next, and why not before."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from mercator.config import CrawlConfig
from mercator.politeness import pace
from mercator.politeness.failures import Action, HostVerdict, Judgement, backoff_s
from mercator.rows import HostRow
from mercator.values import FailureKind, FetchFailure, FetchResult, HostId


class HostClock(NamedTuple):
    """The part of a host's row that the holder of its lease changes.

    `version` grows with every request, so that a visit that is committed late (its page took long to
    parse) cannot overwrite the clock of a later one. Times are Unix seconds.
    Threads: immutable.
    """

    version: int
    due_at: float
    gap_s: float
    gap_reason: str
    blocked_until: float = 0.0
    block_reason: str = ""
    strikes: int = 0
    unreachable: int = 0
    unreachable_since: float = 0.0
    unreachable_kind: FailureKind | None = None
    unreachable_at: float = 0.0
    addresses: tuple[str, ...] = ()

    def ready_at(self) -> float:
        """The earliest next request, as Unix time."""
        return max(self.due_at, self.blocked_until)

    def blocked(self, until: float, reason: str) -> HostClock:
        """The clock with a block that reaches at least as far as before: nothing shortens one."""
        if until <= self.blocked_until:
            return self
        return self._replace(blocked_until=until, block_reason=reason)

    def onto(self, row: HostRow) -> HostRow:
        """The host's row with this clock in it."""
        return row._replace(
            due_at=max(row.due_at, self.due_at),
            gap_s=self.gap_s,
            gap_reason=self.gap_reason,
            blocked_until=max(row.blocked_until, self.blocked_until),
            block_reason=self.block_reason or row.block_reason,
            strikes=self.strikes,
            unreachable=self.unreachable,
            unreachable_since=self.unreachable_since,
            unreachable_kind=self.unreachable_kind,
            addresses=self.addresses or row.addresses,
        )


class HostClocks:
    """The clocks of active hosts.

    Threads: the writer adds and drops; a host's entry is replaced by the one worker that holds its
    lease. Both are single dictionary operations.
    """

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._clocks: dict[HostId, HostClock] = {}

    def load(self, host_id: HostId, row: HostRow) -> None:
        """A host became active: its clock goes on from its row."""
        self._clocks[host_id] = HostClock(
            version=0,
            due_at=row.due_at,
            gap_s=max(row.gap_s, self._delay_s),
            gap_reason=row.gap_reason if row.gap_s >= self._delay_s and row.gap_reason else "delay",
            blocked_until=row.blocked_until,
            block_reason=row.block_reason,
            strikes=row.strikes,
            unreachable=row.unreachable,
            unreachable_since=row.unreachable_since,
            unreachable_kind=row.unreachable_kind,
            unreachable_at=row.unreachable_since,  # the row has no later one
            addresses=row.addresses,
        )

    def get(self, host_id: HostId) -> HostClock:
        """The clock of an active host. Raises KeyError."""
        return self._clocks[host_id]

    def put(self, host_id: HostId, clock: HostClock) -> None:
        """The lease's holder moves the clock on."""
        self._clocks[host_id] = clock

    def drop(self, host_id: HostId) -> None:
        """The host gave its back queue away."""
        self._clocks.pop(host_id, None)


class ClockRules:
    """Moves a host's clock on after each request, by the failure table's verdict on the host.

    Threads: immutable but for `random`, whose methods are atomic.
    """

    def __init__(self, config: CrawlConfig, random: Random) -> None:
        self._delay_s = config.delay_s
        self._delay_factor = config.delay_factor
        self._base_s = config.retry_base_s
        self._cap_s = config.retry_cap_s
        self._patience_s = config.patience_s
        self._random = random

    def after(
        self,
        clock: HostClock,
        answer: FetchResult | FetchFailure,
        judgement: Judgement,
        crawl_delay_s: float | None,
    ) -> HostClock:
        """The clock when the request has ended: its gap counts from that end."""
        gap = pace.gap(
            delay_s=self._delay_s,
            crawl_delay_s=crawl_delay_s,
            delay_factor=self._delay_factor,
            fetch_s=answer.elapsed_s,
        )
        clock = clock._replace(
            version=clock.version + 1,
            due_at=max(clock.due_at, answer.ended_at + gap.gap_s),
            gap_s=gap.gap_s,
            gap_reason=gap.reason,
            addresses=_with(clock.addresses, answer.address),
        )
        if judgement.host is HostVerdict.UNREACHABLE:
            assert isinstance(answer, FetchFailure), "an answer shows that the host is reachable"
            clock = clock._replace(
                unreachable=clock.unreachable + 1,
                unreachable_since=clock.unreachable_since or answer.ended_at,
                unreachable_kind=answer.kind,
                unreachable_at=answer.ended_at,
            )
            return clock.blocked(
                answer.ended_at + self.back_off_s(clock.unreachable), "unreachable"
            )
        clock = clock._replace(unreachable=0, unreachable_since=0.0, unreachable_kind=None)
        if judgement.host is not HostVerdict.PAUSE:
            return clock._replace(strikes=0) if isinstance(answer, FetchResult) else clock
        if judgement.retry_after_s is not None:
            clock = clock.blocked(answer.ended_at + judgement.retry_after_s, "retry_after")
        if judgement.action not in (Action.STORE, Action.FOLLOW):
            clock = clock._replace(strikes=clock.strikes + 1)
            clock = clock.blocked(answer.ended_at + self.back_off_s(clock.strikes), "back_off")
        return clock

    def back_off_s(self, n: int) -> float:
        """Full-jitter back-off before attempt n+1."""
        return backoff_s(n, self._base_s, self._cap_s, self._random)

    def pauses(self, clock: HostClock) -> bool:
        """True when the host waits for more than an ordinary gap."""
        return clock.blocked_until > clock.due_at or clock.gap_s > self._patience_s


def _with(addresses: tuple[str, ...], address: str) -> tuple[str, ...]:
    """The last few addresses a host was reached at, newest last."""
    if not address or address in addresses:
        return addresses
    return (*addresses[-3:], address)
