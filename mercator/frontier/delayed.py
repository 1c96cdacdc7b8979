"""Delayed queue: URLs that may be tried again at a time of their own (retries, later revisits)."""

from __future__ import annotations

from mercator.ports import Txn
from mercator.rows import QueueKey
from mercator.values import UrlKey


def due_prefix(due_at: float) -> bytes:
    """The due time (Unix seconds) as the key's first 8 bytes: big-endian microseconds."""
    return max(0, round(due_at * 1_000_000)).to_bytes(8, "big")


def due_of(place: QueueKey) -> float:
    """The due time (Unix seconds) of a place."""
    return int.from_bytes(place.prefix, "big") / 1_000_000


class DelayedQueue:
    """Table `delayed`, ordered by due time. Threads: confined to the writer thread."""

    def put(self, txn: Txn, due_at: float, sequence: int, key: UrlKey) -> None:
        """Lets a URL wait until `due_at` (Unix seconds)."""
        txn.delayed.put(QueueKey(due_prefix(due_at), sequence), key)

    def pop_due(self, txn: Txn, unix_s: float, limit: int) -> list[UrlKey]:
        """Takes at most `limit` URLs whose time has come, earliest first."""
        now = due_prefix(unix_s)
        due: list[tuple[QueueKey, UrlKey]] = []
        for place, key in txn.delayed.scan():
            if place.prefix > now or len(due) == limit:
                break
            due.append((place, key))
        for place, _ in due:
            txn.delayed.delete(place)
        return [key for _, key in due]

    def next_due_at(self, txn: Txn) -> float | None:
        """When the first one is due (Unix seconds), or None when none waits."""
        for place, _ in txn.delayed.scan():
            return due_of(place)
        return None
