"""Draining: all that waits for a host (or one origin of it) ends with one reason."""

from __future__ import annotations

from mercator.engine.dispatch import Dispatcher
from mercator.engine.host_clock import HostClock, HostClocks
from mercator.engine.host_rows import HostRows
from mercator.engine.outcome import Drain
from mercator.engine.recorder import End, Recorder
from mercator.frontier.frontier import Frontier
from mercator.politeness.failures import reason_of_failure
from mercator.politeness.robots_cache import origin_of
from mercator.ports import Txn
from mercator.values import STATE_OF_REASON, HostId, Reason

_PER_COMMIT = 2000


class Drains:
    """Hosts that are being emptied, a bounded piece a commit.

    A host is drained only while none of its tickets is on lease, so that no visit can end a URL that
    draining has ended already. URLs of it that still wait in the front or are delayed meet the same
    end when they come up.

    Threads: confined to the writer thread; asks the schedule under the dispatcher's lock.
    """

    def __init__(self, frontier: Frontier, recorder: Recorder, clocks: HostClocks) -> None:
        self._frontier = frontier
        self._recorder = recorder
        self._clocks = clocks
        self._waiting: dict[tuple[HostId, str], Drain] = {}
        self._behind: dict[tuple[HostId, str], int] = {}

    def active(self) -> bool:
        """True while a host is being emptied or about to be."""
        return bool(self._waiting)

    def runnable_locked(self) -> bool:
        """True when a host can be emptied further now. Caller holds the dispatcher's lock."""
        return any(self._is_free(host_id) for host_id, _ in self._waiting)

    def add(self, drain: Drain, dispatcher: Dispatcher) -> None:
        """A visit's verdict: the host fails."""
        with dispatcher.lock:
            self._frontier.schedule.drain(drain.host_id)
        self._enter(drain)

    def add_unreachable(self, host_id: HostId, clock: HostClock) -> None:
        """A host that could not be reached, when nothing else is left to ask."""
        assert clock.unreachable_kind is not None, "an unreachable host has a kind of failure"
        error = f"the host could not be reached ({clock.unreachable_kind})"
        self._enter(
            Drain(
                host_id,
                reason_of_failure(clock.unreachable_kind),
                "",
                error,
                clock.unreachable,
                clock.unreachable_since,
                clock.unreachable_at,
            )
        )

    def add_over_budget(self, host_id: HostId) -> None:
        """A host of which as many pages are stored as the crawl may store."""
        self._enter(Drain(host_id, Reason.HOST_BUDGET, "", ""))

    def _enter(self, drain: Drain) -> None:
        """An order that is under way goes on; each origin of a host has its own."""
        self._waiting.setdefault((drain.host_id, drain.origin), drain)

    def step(self, txn: Txn, hosts: HostRows, dispatcher: Dispatcher) -> None:
        """Ends up to 2,000 URLs."""
        with dispatcher.lock:
            free = [drain for drain in self._waiting.values() if self._is_free(drain.host_id)]
        left = _PER_COMMIT
        for drain in free:
            if left <= 0:
                return
            left -= self._empty(txn, drain, hosts, left)

    def _is_free(self, host_id: HostId) -> bool:
        schedule = self._frontier.schedule
        return host_id in schedule and not (
            schedule.queue(host_id).leased or schedule.queue(host_id).in_flight
        )

    def _empty(self, txn: Txn, drain: Drain, hosts: HostRows, limit: int) -> int:
        host_id, reason, origin, error = drain[:4]
        order = (host_id, origin)
        after = self._behind.get(order, 0)
        places = self._frontier.places(txn, host_id, after, limit)
        host = hosts.row(txn, host_id, "").host
        for sequence, key in places:
            self._behind[order] = sequence
            row = txn.urls.get(key)
            assert row is not None, "a queued URL has a row"
            if origin and origin_of(row.url) != origin:
                continue
            self._frontier.drop(txn, host_id, sequence)
            self._recorder.end(
                txn, key, drain.tried(row), host, End(STATE_OF_REASON[reason], reason, error), hosts
            )
        if len(places) < limit:
            del self._waiting[order]
            self._behind.pop(order, None)
            if not any(host == host_id for host, _ in self._waiting):
                self._frontier.drained(host_id)
        return len(places)
