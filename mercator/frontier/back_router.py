"""Back-queue router: each host to exactly one back queue, and the pin is a row (step 8)."""

from __future__ import annotations

from collections.abc import Iterator

from mercator.ports import Txn
from mercator.values import HostId

PAUSED_ROOM = 3
"""Times `most` that paused hosts may have back queues besides; about a kilobyte each."""


class BackRouter:
    """The host table: which hosts have a back queue, and how many may have one.

    The classic number of back queues, 3 a thread, leaves most threads idle when the gap is long
    against a fetch (throughput is min(N/s, B/(s+D))), so `room` grows while workers starve and front
    queues are not empty, up to `most`, and shrinks again when they do not. Hosts that are paused
    (robots unknown, back-off, Retry-After) do not take room away from the others, up to
    `PAUSED_ROOM` x `most` of them: a list of dead hosts must not hold up the live ones.

    Threads: confined to the writer thread.
    """

    def __init__(self, base: int, most: int) -> None:
        self._base = min(base, most)
        self._most = most
        self._room = self._base
        self._pinned: set[HostId] = set()
        self._paused = 0

    def __contains__(self, host_id: HostId) -> bool:
        return host_id in self._pinned

    def __len__(self) -> int:
        return len(self._pinned)

    def __iter__(self) -> Iterator[HostId]:
        return iter(self._pinned)

    @property
    def free(self) -> int:
        """How many more hosts may get a back queue now."""
        return max(0, self._room + self._paused - len(self._pinned))

    def note_paused(self, hosts: int) -> None:
        """So many of the pinned hosts may not be asked now."""
        self._paused = min(hosts, PAUSED_ROOM * self._most)

    def pin(self, txn: Txn, host_id: HostId) -> None:
        """Gives a host a back queue, as a row of `pins`."""
        txn.pins.put(host_id, b"")
        self._pinned.add(host_id)

    def unpin(self, txn: Txn, host_id: HostId) -> None:
        """Takes an empty back queue from its host; the host's clock stays in its `hosts` row."""
        txn.pins.delete(host_id)
        self._pinned.discard(host_id)

    def load(self, txn: Txn) -> list[HostId]:
        """The pinned hosts of the last run, read at opening: one scan of `pins`."""
        self._pinned = {host_id for host_id, _ in txn.pins.scan()}
        self._room = max(self._base, len(self._pinned))
        return sorted(self._pinned)

    def can_grow(self) -> bool:
        """True while fewer hosts than `most` have room."""
        return self._room < self._most

    def grow(self) -> None:
        """Workers starve while URLs wait in front queues: room for twice as many hosts."""
        self._room = min(self._most, 2 * self._room)

    def shrink(self) -> None:
        """Workers do not starve: an emptied back queue need not be given away again."""
        self._room = max(self._base, min(self._room, len(self._pinned)))
