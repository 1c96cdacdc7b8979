"""The frontier's door: what the writer does to the queues, and how the schedule learns of it.

Every method here but `publish` runs inside the writer's transaction. What it changes for workers is
noted and becomes visible through `publish`, after the commit and under the dispatcher's lock: a URL is
never handed out before its row is durable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from mercator.errors import StoreDamagedError
from mercator.frontier.back_queues import BackQueues, Hand
from mercator.frontier.back_router import BackRouter
from mercator.frontier.delayed import DelayedQueue
from mercator.frontier.front_queues import FrontQueues
from mercator.frontier.front_selector import FrontSelector, halving_weights
from mercator.frontier.schedule import HAND, Schedule
from mercator.ports import Txn
from mercator.rows import HostRow
from mercator.values import Errand, HostId, Ticket, UrlKey

DRAWS_PER_COMMIT = 2000
"""Most URLs that one transaction moves from front to back queues, so that a commit stays short; each
URL is moved once, so the work is O(1) a URL all the same."""

Wanted = tuple[HostId, str, int, int]


class Frontier:
    """Front queues, selector, router, back queues and delayed queue over one store.

    `sequence` is the store's next number; all queues take their places from it.
    Threads: confined to the writer thread; `schedule` to the dispatcher's lock.
    """

    def __init__(
        self,
        *,
        levels: int,
        weights: Sequence[int],
        threads: int,
        max_active_hosts: int,
        max_pages_per_host: int | None,
        patience_s: float,
    ) -> None:
        self.schedule = Schedule(2 * threads, max_pages_per_host)
        self.sequence = 1
        self._patience_s = patience_s
        self._awaiting: Counter[HostId] = Counter()
        self._levels = levels
        self._front = FrontQueues(levels)
        self._selector = FrontSelector(weights or halving_weights(levels))
        self._router = BackRouter(3 * threads, max_active_hosts)
        self._back = BackQueues()
        self._delayed = DelayedQueue()
        self._published: list[Callable[[], None]] = []
        self._fresh: dict[HostId, str] = {}
        self._appended: set[HostId] = set()

    # -- opening ---------------------------------------------------------------------------------

    def open(
        self,
        txn: Txn,
        *,
        sequence: int,
        front_counts: Sequence[int],
        least_gap_s: float,
        unix_s: float,
        now_s: float,
    ) -> list[tuple[HostId, HostRow]]:
        """Takes up a store: every pinned host becomes active and waits a full gap from now, because
        its last request may have been sent a moment before the last run died. `least_gap_s` is the
        gap of a host whose first request was not committed.

        Gives the active hosts' rows. Cost: O(active hosts), whatever waits behind them.
        `publish` follows.
        """
        self.sequence = sequence
        counts = self._fitted(front_counts)
        self._front = FrontQueues(self._levels, counts)
        active: list[tuple[HostId, HostRow]] = []
        for host_id in self._router.load(txn):
            row = txn.hosts.get(host_id)
            if row is None:
                raise StoreDamagedError(
                    f"the host {host_id.hex()} has a back queue but no row; mend it with "
                    "`mercator check DIR --repair`"
                )
            # Into the row as well: the wait must outlive a back queue that turns out to be empty.
            gap_s = max(row.gap_s, least_gap_s)
            row = row._replace(due_at=max(row.due_at, unix_s + gap_s))
            txn.hosts.put(host_id, row)
            self._activate(host_id, row, now_s + max(row.due_at, row.blocked_until) - unix_s)
            active.append((host_id, row))
        return active

    def _fitted(self, front_counts: Sequence[int]) -> list[int]:
        """The stored counts for the levels of this run; a level that is gone keeps its number."""
        missing = max(0, self._levels - len(front_counts))
        counts = list(front_counts) + [0] * missing
        if any(counts[self._levels :]):
            # Fewer levels than before: keep drawing from the old ones until they are empty.
            self._levels = len(counts)
            self._selector = FrontSelector(halving_weights(self._levels))
            return counts
        return counts[: self._levels]

    # -- in ----------------------------------------------------------------------------------------

    def append(self, txn: Txn, level: int, key: UrlKey) -> None:
        """A pending URL enters the front queue of its level."""
        self._front.append(txn, min(level, self._levels), self._next(), key)

    def delay(self, txn: Txn, due_at: float, key: UrlKey) -> None:
        """A pending URL waits until `due_at` (Unix seconds), then it enters a front queue again."""
        self._delayed.put(txn, due_at, self._next(), key)

    def wake_delayed(self, txn: Txn, unix_s: float, limit: int = DRAWS_PER_COMMIT) -> int:
        """Moves URLs whose time has come to the front queues; how many."""
        keys = self._delayed.pop_due(txn, unix_s, limit)
        for key in keys:
            row = txn.urls.get(key)
            assert row is not None, "a delayed URL has a row"
            txn.urls.put(key, row._replace(due_at=0.0))
            self.append(txn, max(1, row.level), key)
        return len(keys)

    def next_due_at(self, txn: Txn) -> float | None:
        """When the next delayed URL is due (Unix seconds)."""
        return self._delayed.next_due_at(txn)

    # -- through -----------------------------------------------------------------------------------

    def refill(self, txn: Txn, *, unix_s: float, now_s: float) -> list[tuple[HostId, HostRow]]:
        """Mercator's rule: draw from the front; a URL whose host has a back queue goes there, the
        first host without one takes a free queue; until none is free or the front is empty (or the
        draws of one commit are used up: the next one goes on).

        Gives the hosts that became active, with their rows.
        """
        active: list[tuple[HostId, HostRow]] = []
        for _ in range(DRAWS_PER_COMMIT):
            if not self._router.free:
                break
            level = self._selector.draw(self._front.counts)
            if level is None:
                break
            key = self._front.pop(txn, level + 1)
            assert key is not None, "the selector draws only from levels with URLs"
            host_id = HostId(key[:6])
            if host_id not in self._router:
                active.append((host_id, self._pin(txn, host_id, unix_s, now_s)))
            self._back.append(txn, host_id, self._next(), key)
            self._note_appended(host_id)
        return active

    def adapt(self, *, starving: bool) -> None:
        """Back queues grow while workers starve and front queues are not empty, else shrink."""
        if not starving:
            self._router.shrink()
        elif self._front.waiting() and not self._router.free:
            self._router.grow()

    def appended(self) -> set[HostId]:
        """Hosts whose back queue grew in this transaction and that were active before."""
        return self._appended

    def feed(self, txn: Txn, wanted: Sequence[Wanted]) -> None:
        """Loads the heads of back queues: of `wanted` (from `Schedule.wants`) and of new hosts."""
        fresh = [(host_id, host, 0, HAND) for host_id, host in self._fresh.items()]
        for host_id, host, after, room in [*wanted, *fresh]:
            hand: Hand = self._back.load(txn, host_id, host, after, room)
            self._note(partial(self.schedule.feed, host_id, *hand))

    def post(
        self, txn: Txn, errand: Errand, *, unix_s: float, now_s: float
    ) -> tuple[HostId, HostRow] | None:
        """An errand enters; its host is pinned first, so that a crash after the request finds it
        among the hosts that wait a full gap. Gives the host's row when it became active.
        The caller has asked `can_post`.
        """
        active = None
        self._awaiting[errand.asking_host_id] += 1
        if errand.host_id not in self._router:
            active = (errand.host_id, self._pin(txn, errand.host_id, unix_s, now_s))
        self._note(partial(self.schedule.post, errand))
        return active

    # -- out -----------------------------------------------------------------------------------------

    def leave(self, txn: Txn, ticket: Ticket, *, stored: bool) -> None:
        """The ticket's URL leaves its back queue: it is done, or waits elsewhere."""
        self._back.remove(txn, ticket.host_id, ticket.sequence)
        self._note(partial(self.schedule.committed, ticket, stored))

    def returned(self) -> None:
        """The request of a ticket that went back to its queue is in this transaction."""
        self._note(self.schedule.recorded)

    def can_post(self, errand: Errand) -> bool:
        """False when the errand's host is itself on lease for an errand: two hosts whose robots.txt
        redirect to each other would wait for each other for ever."""
        return not self._awaiting[errand.host_id]

    def errand_done(self, host_id: HostId, asking_host_id: HostId) -> None:
        """An errand's ledger row is in this transaction."""
        self._awaiting[asking_host_id] -= 1
        if not self._awaiting[asking_host_id]:
            del self._awaiting[asking_host_id]
        self._note(partial(self.schedule.errand_committed, host_id))

    def places(self, txn: Txn, host_id: HostId, after: int, limit: int) -> list[tuple[int, UrlKey]]:
        """(sequence, key) of what waits for a host behind `after`; for draining."""
        return self._back.places(txn, host_id, after, limit)

    def drop(self, txn: Txn, host_id: HostId, sequence: int) -> None:
        """Takes one URL out of a draining host's queue."""
        self._back.remove(txn, host_id, sequence)

    def drained(self, host_id: HostId) -> None:
        """Draining has ended."""
        self._note(partial(self.schedule.drained, host_id))

    def unpin(self, txn: Txn, host_id: HostId) -> None:
        """A retired host's back queue is free for another."""
        self._router.unpin(txn, host_id)

    # -- state ---------------------------------------------------------------------------------------

    def front_counts(self) -> list[int]:
        """How many URLs wait on each front level."""
        return list(self._front.counts)

    def can_refill(self) -> bool:
        """True when URLs wait in the front and a back queue is free."""
        return bool(self._router.free and self._front.waiting())

    def front_waiting(self) -> int:
        """How many URLs wait in front queues."""
        return self._front.waiting()

    def note_paused(self, hosts: int) -> None:
        """So many active hosts may not be asked now; they take no room from others."""
        self._router.note_paused(hosts)

    def can_grow(self) -> bool:
        """True when more hosts might get back queues than now."""
        return self._router.can_grow()

    def active_hosts(self) -> list[HostId]:
        """The pinned hosts, in no order."""
        return list(self._router)

    def publish(self) -> None:
        """Shows the committed changes to workers. Caller holds the dispatcher's lock."""
        for change in self._published:
            change()
        self._published.clear()
        self._fresh.clear()
        self._appended.clear()

    def _next(self) -> int:
        self.sequence += 1
        return self.sequence

    def _note(self, change: Callable[[], None]) -> None:
        self._published.append(change)

    def _note_appended(self, host_id: HostId) -> None:
        if host_id not in self._fresh and host_id not in self._appended:
            self._appended.add(host_id)
            self._note(partial(self.schedule.appended, host_id))

    def _pin(self, txn: Txn, host_id: HostId, unix_s: float, now_s: float) -> HostRow:
        row = txn.hosts.get(host_id)
        assert row is not None, "a host's row is written before its first URL is routed"
        self._router.pin(txn, host_id)
        self._activate(host_id, row, now_s + max(row.due_at, row.blocked_until) - unix_s)
        return row

    def _activate(self, host_id: HostId, row: HostRow, ready_at_s: float) -> None:
        self._fresh[host_id] = row.host
        paused = row.blocked_until > row.due_at or row.gap_s > self._patience_s
        activate = partial(self.schedule.activate, host_id, row.host, ready_at_s, row.stored)
        self._note(partial(activate, paused=paused))
