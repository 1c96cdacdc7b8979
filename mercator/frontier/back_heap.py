"""Back-queue heap: the host that may be asked first (step 10)."""

from __future__ import annotations

import heapq
from typing import NamedTuple

from mercator.values import HostId


class Entry(NamedTuple):
    """A host's place in the heap. `order` makes equal times first come, first served.

    Threads: immutable.
    """

    ready_at_s: float
    order: int
    host_id: HostId


class BackHeap:
    """A min-heap of hosts by the monotonic time from which they may be asked; one entry a host.

    An entry that was removed or replaced stays in the list until it comes up (lazy deletion); the
    list is rebuilt when more than half of it is stale, so memory stays O(hosts).

    Cost: O(log n), amortised. Threads: confined to the dispatcher's lock.
    """

    def __init__(self) -> None:
        self._heap: list[Entry] = []
        self._live: dict[HostId, Entry] = {}
        self._order = 0

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, host_id: HostId) -> bool:
        return host_id in self._live

    def push(self, host_id: HostId, ready_at_s: float) -> None:
        """Enters a host, or moves its entry to another time; an equal time keeps its turn."""
        old = self._live.get(host_id)
        if old is not None and old.ready_at_s == ready_at_s:
            return
        self._order += 1
        entry = Entry(ready_at_s, self._order, host_id)
        self._live[host_id] = entry
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._live) + 16:
            self._heap = list(self._live.values())
            heapq.heapify(self._heap)

    def first(self) -> Entry | None:
        """The entry with the earliest time, or None."""
        while self._heap and self._live.get(self._heap[0].host_id) is not self._heap[0]:
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else None

    def pop(self) -> Entry:
        """Takes the first entry. Raises IndexError when there is none."""
        entry = self.first()
        if entry is None:
            raise IndexError("pop from an empty heap")
        heapq.heappop(self._heap)
        del self._live[entry.host_id]
        return entry

    def remove(self, host_id: HostId) -> bool:
        """Takes a host's entry out; says whether there was one."""
        return self._live.pop(host_id, None) is not None
