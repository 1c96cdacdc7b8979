"""Front queues: one FIFO of URL keys per level, on disk (step 7)."""

from __future__ import annotations

from collections.abc import Sequence

from mercator.ports import Txn
from mercator.rows import QueueKey
from mercator.values import UrlKey


class FrontQueues:
    """F FIFO queues in table `front`; level 1 has index 0 in `counts`.

    `counts` is memory only: it is loaded at opening and moves with the writer's transactions (a
    transaction that fails ends the run, so it never has to be taken back).

    Threads: confined to the writer thread.
    """

    def __init__(self, levels: int, counts: Sequence[int] = ()) -> None:
        self.counts = list(counts) or [0] * levels
        assert len(self.counts) == levels, "one count a level"
        self._next_after: list[QueueKey | None] = [None] * levels

    def append(self, txn: Txn, level: int, sequence: int, key: UrlKey) -> None:
        """Puts a URL at the end of the level's queue. `sequence` must be larger than all before."""
        txn.front.put(QueueKey(bytes((level,)), sequence), key)
        self.counts[level - 1] += 1

    def pop(self, txn: Txn, level: int) -> UrlKey | None:
        """Takes the oldest URL of the level, or None."""
        after = self._next_after[level - 1]
        first = next(iter(txn.front.scan(prefix=bytes((level,)), after=after)), None)
        if first is None:
            assert not self.counts[level - 1], "a front queue's count must be what is there"
            return None
        place, key = first
        txn.front.delete(place)
        # Sequences only grow, so nothing can appear before the place just taken.
        self._next_after[level - 1] = place
        self.counts[level - 1] -= 1
        return key

    def waiting(self) -> int:
        """How many URLs wait on all levels."""
        return sum(self.counts)
