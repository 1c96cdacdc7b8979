"""Back queues on disk: one FIFO of URL keys per host (step 9)."""

from __future__ import annotations

from typing import NamedTuple

from mercator.ports import Txn
from mercator.rows import QueueKey
from mercator.values import HostId, Ticket, UrlKey


class Hand(NamedTuple):
    """The next tickets of a host, in order. `more`: rows behind `loaded_to` may exist.

    Threads: immutable.
    """

    tickets: list[Ticket]
    loaded_to: int
    more: bool


class BackQueues:
    """Table `back`, keyed by host and sequence.

    A row stays until the commit of the visit that ends its lease, so a crash loses no URL.
    Threads: confined to the writer thread.
    """

    def append(self, txn: Txn, host_id: HostId, sequence: int, key: UrlKey) -> None:
        """Puts a URL at the end of its host's queue."""
        txn.back.put(QueueKey(host_id, sequence), key)

    def remove(self, txn: Txn, host_id: HostId, sequence: int) -> None:
        """Ends a URL's stay. Raises AssertionError when it was not there."""
        assert txn.back.delete(QueueKey(host_id, sequence)), "a lease must have its row in `back`"

    def load(self, txn: Txn, host_id: HostId, host: str, after: int, limit: int) -> Hand:
        """At most `limit` tickets whose sequence is larger than `after`, oldest first."""
        start = QueueKey(host_id, after)
        places: list[tuple[int, UrlKey]] = []
        more = False
        for place, key in txn.back.scan(prefix=host_id, after=start):
            if len(places) == limit:
                more = True
                break
            places.append((place.sequence, key))
        tickets = [ticket_of(txn, host_id, host, sequence, key) for sequence, key in places]
        return Hand(tickets, places[-1][0] if places else after, more)

    def places(self, txn: Txn, host_id: HostId, after: int, limit: int) -> list[tuple[int, UrlKey]]:
        """At most `limit` (sequence, key) pairs behind `after`, oldest first."""
        places: list[tuple[int, UrlKey]] = []
        for place, key in txn.back.scan(prefix=host_id, after=QueueKey(host_id, after)):
            places.append((place.sequence, key))
            if len(places) == limit:
                break
        return places


def ticket_of(txn: Txn, host_id: HostId, host: str, sequence: int, key: UrlKey) -> Ticket:
    """The ticket of a waiting URL, from its row."""
    row = txn.urls.get(key)
    assert row is not None, "a queued URL has a row"
    return Ticket(
        key=key,
        url=row.url,
        key_url=row.key_url,
        host=host,
        host_id=host_id,
        sequence=sequence,
        level=row.level,
        depth=row.depth,
        attempts=row.attempts,
        hops=row.hops,
        seed_began=row.seed_began,
        parent=row.parent,
    )
