"""Check, first part: the queues. Are their rows where they may be, and whom do they name?

Queues are in the order of their places, URLs in the order of their keys; to see that every pending
URL lies in exactly one place the queue rows are sorted by URL, outside of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from mercator.ports import Table, Txn
from mercator.rows import QueueKey
from mercator.store.checkup import Checkup
from mercator.store.findings import Fault
from mercator.store.sorted_records import SortedRecords
from mercator.store.tables import BACK_PREFIX_BYTES, DELAYED_PREFIX_BYTES, FRONT_PREFIX_BYTES
from mercator.values import HostId, UrlKey

URL_KEY_BYTES = 16
_PREFIX_ROOM = 8
_RECORD_BYTES = URL_KEY_BYTES + 1 + _PREFIX_ROOM + 8

QUEUES = ("back", "delayed", "front")
"""In this order the first place of a URL that has several is the one that stays: a URL in a back
queue may be on lease."""

_PREFIX_BYTES = (BACK_PREFIX_BYTES, DELAYED_PREFIX_BYTES, FRONT_PREFIX_BYTES)


class Place(NamedTuple):
    """Where a URL waits: the queue's index in `QUEUES`, and the row's key. Threads: immutable."""

    queue: int
    at: QueueKey

    @property
    def name(self) -> str:
        """The table's name."""
        return QUEUES[self.queue]


class QueuedUrl(NamedTuple):
    """A row of a queue, seen from its URL. Threads: immutable."""

    key: UrlKey
    place: Place

    def pack(self) -> bytes:
        """A record that sorts by URL, then by queue, then by place."""
        prefix, sequence = self.place.at
        return b"".join(
            (
                self.key,
                bytes((self.place.queue,)),
                prefix.ljust(_PREFIX_ROOM, b"\0"),
                sequence.to_bytes(8, "big"),
            )
        )

    @classmethod
    def unpack(cls, record: bytes) -> QueuedUrl:
        """The row in a record of `pack`."""
        queue = record[URL_KEY_BYTES]
        start = URL_KEY_BYTES + 1
        prefix = record[start : start + _PREFIX_BYTES[queue]]
        sequence = int.from_bytes(record[-8:], "big")
        return cls(UrlKey(record[:URL_KEY_BYTES]), Place(queue, QueueKey(prefix, sequence)))


def queue_table(txn: Txn, queue: int) -> Table[QueueKey, UrlKey]:
    """The table of a queue by its index in `QUEUES`."""
    return (txn.back, txn.delayed, txn.front)[queue]


def drop(run: Checkup, place: Place) -> None:
    """Takes a row out of its queue."""
    if run.repair and place.name == "front":
        run.front_counts[place.at.prefix[0]] -= 1
    run.mend(lambda txn: queue_table(txn, place.queue).delete(place.at))


def check_queues(run: Checkup) -> SortedRecords:
    """Looks through all queues; gives their rows by URL, for `queued_urls`. Close it afterwards.

    A row in an impossible place is dropped here; whoever needs it is then found in no queue and
    queued anew. Cost: O(n log n) for n waiting URLs, 33 bytes each in a temporary file.
    """
    found = SortedRecords(_RECORD_BYTES)
    host: HostId | None = None
    for queue in range(len(QUEUES)):
        for at, key in run.rows(partial(queue_table, queue=queue)):
            place = Place(queue, at)
            run.sequence = max(run.sequence, at.sequence)
            if place.name == "front":
                run.front_counts[at.prefix[0]] += 1
            wrong = _wrong(place, key)
            if wrong:
                run.findings.add(Fault.WRONG_PLACE, key.hex(), f"{place.name} {at}: {wrong}")
                drop(run, place)
                run.commit(full_only=True)
                continue
            found.add(QueuedUrl(key, place).pack())
            if place.name == "back" and at.prefix != host:
                host = HostId(at.prefix)
                _check_pin(run, host)
    run.commit()
    return found


def queued_urls(found: SortedRecords) -> Iterator[tuple[UrlKey, Place]]:
    """The sorted rows of `check_queues`."""
    for record in found:
        yield QueuedUrl.unpack(record)


def check_pins(run: Checkup) -> None:
    """Every pin belongs to a host with a row: opening the store needs its name and clock."""
    for host, _ in run.rows(lambda txn: txn.pins):
        with run.tables.read() as txn:
            known = txn.hosts.get(host) is not None
        if not known:
            run.findings.add(Fault.PIN_ORPHAN, host.hex(), "the host has no row; the pin goes")
            run.mend(partial(_unpin, host=host))
            run.commit(full_only=True)
    run.commit()


def _unpin(txn: Txn, host: HostId) -> None:
    txn.pins.delete(host)


def _wrong(place: Place, key: UrlKey) -> str:
    """What cannot be about a queue row, or ""."""
    if len(key) != URL_KEY_BYTES:
        return f"it names no URL, but {len(key)} bytes"
    if place.name == "back" and place.at.prefix != key[: len(place.at.prefix)]:
        return "the URL is another host's"
    if place.name == "front" and place.at.prefix == b"\0":
        return "there is no level 0"
    return ""


def _check_pin(run: Checkup, host: HostId) -> None:
    with run.tables.read() as txn:
        pinned = txn.pins.get(host) is not None
    if not pinned:
        run.findings.add(
            Fault.PIN_MISSING, host.hex(), "URLs wait in a back queue that no host has; pinned"
        )
        run.mend(lambda txn: txn.pins.put(host, b""))
