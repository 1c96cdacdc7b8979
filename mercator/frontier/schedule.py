"""The schedule: active back queues in memory, the heap over them, and the leases.

This is the half of the frontier that workers meet. A host is here while it has a back queue; what it
has *in hand* is the head of that queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from mercator.frontier.back_heap import BackHeap
from mercator.values import Errand, HostId, Ticket, UrlKey

HAND = 16
"""Tickets in memory for each back queue: enough that a fast host is not idle until the next commit."""


class BackQueue:
    """One host's back queue in memory. Threads: confined to the dispatcher's lock."""

    __slots__ = (
        "draining",
        "errands",
        "hand",
        "host",
        "host_id",
        "in_flight",
        "leased",
        "loaded_to",
        "more",
        "paused",
        "ready_at_s",
        "stored",
    )

    def __init__(self, host_id: HostId, host: str, ready_at_s: float, stored: int) -> None:
        self.host_id = host_id
        self.host = host
        self.ready_at_s = ready_at_s
        self.stored = stored
        self.hand: deque[Ticket] = deque()
        self.errands: deque[Errand] = deque()
        self.loaded_to = 0
        self.more = True
        self.in_flight = False
        self.paused = False
        self.draining = False
        self.leased = 0

    def is_empty(self) -> bool:
        """Nothing in hand, on disk, on lease or in flight: the queue may be given away."""
        return not (
            self.hand or self.errands or self.more or self.leased or self.in_flight or self.draining
        )


class Schedule:
    """Who may be asked next. `max_leases` bounds requests that are out or wait for their commit:
    tickets on lease, errands, and tickets that went back to their queues after a request.

    Invariant: the heap holds a host exactly when it has an errand or a ticket in hand, is not in
    flight, is not draining, and (for tickets) its page budget allows one more lease.

    Threads: confined to the dispatcher's lock.
    """

    def __init__(self, max_leases: int, max_pages_per_host: int | None) -> None:
        self._max_leases = max_leases
        self._max_pages_per_host = max_pages_per_host
        self._queues: dict[HostId, BackQueue] = {}
        self._heap = BackHeap()
        self._in_flight = 0
        self._unrecorded = 0
        self._unpaused: set[HostId] = set()
        self.leases: dict[UrlKey, Ticket] = {}
        self.hungry: set[HostId] = set()
        self.over_budget: set[HostId] = set()
        self.idle: set[HostId] = set()

    def __contains__(self, host_id: HostId) -> bool:
        return host_id in self._queues

    def __len__(self) -> int:
        return len(self._queues)

    # -- what the writer publishes ---------------------------------------------------------------

    def activate(
        self, host_id: HostId, host: str, ready_at_s: float, stored: int, *, paused: bool = False
    ) -> None:
        """A host got a back queue; it may not be asked before `ready_at_s` (monotonic). `paused`: it
        waits for more than its ordinary gap."""
        assert host_id not in self._queues, "a host has one back queue"
        self._queues[host_id] = BackQueue(host_id, host, ready_at_s, stored)
        self._queues[host_id].paused = paused
        self.hungry.add(host_id)

    def feed(self, host_id: HostId, tickets: Iterable[Ticket], loaded_to: int, more: bool) -> None:
        """More of the host's back queue comes into hand; not of one that is being drained, which is
        loaded anew from its beginning afterwards."""
        queue = self._queues[host_id]
        if queue.draining:
            return
        queue.hand.extend(tickets)
        queue.loaded_to = loaded_to
        queue.more = more
        if not more or len(queue.hand) >= HAND // 2:
            self.hungry.discard(host_id)
        self._settle_in_heap(queue)

    def appended(self, host_id: HostId) -> None:
        """The host's back queue on disk has grown."""
        queue = self._queues[host_id]
        queue.more = True
        self.idle.discard(host_id)
        if len(queue.hand) < HAND // 2:
            self.hungry.add(host_id)

    def retire(self, host_id: HostId) -> bool:
        """Forgets an empty back queue; False when it is not empty (any more)."""
        self.idle.discard(host_id)
        queue = self._queues.get(host_id)
        if queue is None or not queue.is_empty():
            return False
        del self._queues[host_id]
        self.hungry.discard(host_id)
        self.over_budget.discard(host_id)
        return True

    def committed(self, ticket: Ticket, stored: bool) -> None:
        """A ticket's visit is on disk: its lease ends, and so does its reservation."""
        if self.leases.pop(ticket.key, None) is None:
            return
        queue = self._queues[ticket.host_id]
        queue.leased -= 1
        queue.stored += stored
        self._settle_in_heap(queue)

    def errand_committed(self, host_id: HostId) -> None:
        """The ledger row and the clock of an errand's host are on disk."""
        queue = self._queues[host_id]
        queue.leased -= 1
        self._unrecorded -= 1
        self._settle_in_heap(queue)

    def recorded(self) -> None:
        """The request of a ticket that had gone back is on disk."""
        self._unrecorded -= 1

    def drain(self, host_id: HostId) -> None:
        """The writer is about to end what waits for this host: nothing of it is handed out. May be
        called again."""
        queue = self._queues[host_id]
        queue.draining = True
        queue.hand.clear()
        self.hungry.discard(host_id)
        self._settle_in_heap(queue)

    def drained(self, host_id: HostId) -> None:
        """Draining has ended; what is left on disk is loaded anew from its beginning."""
        queue = self._queues[host_id]
        queue.draining = False
        queue.loaded_to = 0
        queue.more = True
        self.over_budget.discard(host_id)
        self.hungry.add(host_id)
        self._settle_in_heap(queue)

    def post(self, errand: Errand) -> None:
        """Enters an errand for an active host; it goes before the host's own URLs."""
        queue = self._queues[errand.host_id]
        queue.errands.append(errand)
        self.idle.discard(errand.host_id)
        self._settle_in_heap(queue)

    # -- what workers ask --------------------------------------------------------------------------

    def take(self, now_s: float, pages_left: int | None) -> Ticket | Errand | float | None:
        """The next thing to do: a ticket or an errand of the host that is ready first.

        A float is the monotonic time at which the first host will be ready. None: nothing can be
        said (no host waits, or all leases are out); something has to be published or given back
        first. `pages_left` is how many more pages may be stored (None: no limit); each lease
        reserves one. Cost: O(log active hosts).
        """
        entry = self._heap.first()
        if entry is None or not self.may_lease(pages_left):
            return None
        if entry.ready_at_s > now_s:
            return entry.ready_at_s
        self._heap.pop()
        queue = self._queues[entry.host_id]
        self._unpaused.discard(entry.host_id)
        assert not queue.in_flight, "one request in flight a host"
        queue.in_flight = True
        self._in_flight += 1
        queue.leased += 1
        if queue.errands:
            self._unrecorded += 1
            return queue.errands.popleft()
        ticket = queue.hand.popleft()
        self.leases[ticket.key] = ticket
        if queue.more and len(queue.hand) < HAND // 2:
            self.hungry.add(queue.host_id)
        return ticket

    def may_lease(self, pages_left: int | None) -> bool:
        """True while one more thing may be handed out, whoever is ready."""
        if len(self.leases) + self._unrecorded >= self._max_leases:
            return False
        return pages_left is None or len(self.leases) < pages_left

    def give_back(self, ticket: Ticket, *, asked: bool = False) -> None:
        """A ticket returns to the head of its host's queue; its reservation ends. `asked`: its host
        was asked for something all the same, and `recorded` follows with the commit of that.

        `release` follows, now or (a host that waits for DNS or an errand) later.
        """
        del self.leases[ticket.key]
        self._unrecorded += asked
        queue = self._queues[ticket.host_id]
        queue.leased -= 1
        if not queue.draining:
            queue.hand.appendleft(ticket)
        if len(queue.hand) >= HAND // 2:
            self.hungry.discard(ticket.host_id)
        # The writer may have released the host already (an errand that ended at once).
        self._settle_in_heap(queue)

    def return_errand(self, errand: Errand) -> None:
        """An errand that could not start goes back to the head; `release` follows later."""
        queue = self._queues[errand.host_id]
        queue.leased -= 1
        self._unrecorded -= 1
        queue.errands.appendleft(errand)
        self._settle_in_heap(queue)

    def release(self, host_id: HostId, ready_at_s: float, *, paused: bool = False) -> None:
        """The host's request has ended; the next one may start at `ready_at_s`, never earlier than
        an earlier word said. `paused`: it waits for more than its ordinary gap."""
        queue = self._queues[host_id]
        assert queue.in_flight, "only a host in flight is released"
        queue.in_flight = False
        self._in_flight -= 1
        queue.ready_at_s = max(queue.ready_at_s, ready_at_s)
        queue.paused = paused
        self._settle_in_heap(queue)

    # -- what the engine looks at --------------------------------------------------------------------

    def at_standstill(self) -> bool:
        """True when every host that has something in hand is paused and none is in flight."""
        return not (self._in_flight or self._unpaused or self.hungry or self.leases)

    def hosts_in_flight(self) -> int:
        """Hosts with a request out, or held by a DNS look-up or an errand."""
        return self._in_flight

    def paused(self) -> int:
        """How many hosts with work wait for more than their gap. O(1)."""
        return len(self._heap) - len(self._unpaused)

    def first_ready_at_s(self) -> float | None:
        """When the first host in the heap is ready (monotonic), or None."""
        entry = self._heap.first()
        return entry.ready_at_s if entry else None

    def queue(self, host_id: HostId) -> BackQueue:
        """The back queue of an active host. Raises KeyError."""
        return self._queues[host_id]

    def paused_hosts(self) -> list[HostId]:
        """The hosts that wait for more than their gap. Cost: O(active hosts)."""
        return [
            queue.host_id
            for queue in self._queues.values()
            if queue.paused and not queue.in_flight and not queue.draining
        ]

    def is_hungry(self) -> bool:
        """True when `wants` would name a host."""
        queues = (self._queues[host_id] for host_id in self.hungry)
        return any(not queue.draining and len(queue.hand) < HAND // 2 for queue in queues)

    def wants(self, also: Iterable[HostId] = ()) -> list[tuple[HostId, str, int, int]]:
        """(host_id, host, loaded_to, room) of the hosts whose hand should be filled from disk, in an
        order that is the same in every process."""
        hosts = self.hungry.union(host_id for host_id in also if host_id in self._queues)
        queues = (self._queues[host_id] for host_id in sorted(hosts))
        return [
            (queue.host_id, queue.host, queue.loaded_to, HAND - len(queue.hand))
            for queue in queues
            if not queue.draining and len(queue.hand) < HAND // 2
        ]

    # -- inside --------------------------------------------------------------------------------------

    def _settle_in_heap(self, queue: BackQueue) -> None:
        """Brings heap, `_unpaused`, `over_budget` and `idle` in line with the queue's state."""
        host_id = queue.host_id
        if queue.in_flight or queue.draining:
            ready = False
        else:
            ready = bool(queue.errands) or (bool(queue.hand) and self._within_host_budget(queue))
        self._unpaused.discard(host_id)
        if not ready:
            self._heap.remove(host_id)
        else:
            self._heap.push(host_id, queue.ready_at_s)
            if not queue.paused:
                self._unpaused.add(host_id)
        if queue.is_empty():
            self.idle.add(host_id)

    def _within_host_budget(self, queue: BackQueue) -> bool:
        limit = self._max_pages_per_host
        if limit is None or queue.stored + queue.leased < limit:
            return True
        if queue.stored >= limit:
            self.over_budget.add(queue.host_id)
        return False
