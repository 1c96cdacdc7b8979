"""Every door to the outside world, as a Protocol with its contract in words.

Adapters: `clock.py`, `net/`, `store/`, `exchange/`; fakes for tests and notebooks: `testing.py`. The
one Protocol elsewhere is `Body`, in `values.py`, because a `FetchResult` holds one.
All adapters of one port pass the same suite in `tests/contract/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from mercator.rows import (
    ContentRow,
    DeadRow,
    Glance,
    HostRow,
    LinkRow,
    PageRow,
    QueueKey,
    RobotsRow,
    UrlRow,
    VisitRow,
)
from mercator.values import (
    Body,
    BodyPlace,
    CanonicalUrl,
    FetchFailure,
    FetchRequest,
    FetchResult,
    HostId,
    Resolution,
    UrlKey,
)


class Clock(Protocol):
    """Time. Threads: safe from any thread."""

    def monotonic_s(self) -> float:
        """Seconds that never go back; the only clock that intervals are measured with."""

    def unix_s(self) -> float:
        """Unix time for records, derived from the monotonic clock and one reading at the start,
        so that a jump of the system's clock cannot shorten a gap."""

    def sleep_s(self, seconds: float) -> None:
        """Waits that long (a manual clock: advances itself)."""


class Resolver(Protocol):
    """Host name to vetted addresses. Threads: safe from any thread; never blocks its caller."""

    def lookup(self, host: str) -> Resolution | None:
        """The cached answer, or None when nothing is known (then call `request`).

        Names that `--resolve` answers and IP literals are always known. Addresses that the guard
        refuses are not in the answer; when none is left its failure is ADDRESS_REFUSED.
        """

    def request(self, host: str, on_answer: Callable[[], None]) -> None:
        """Looks the name up on the resolver's own threads, once for all who ask at the same time, and
        calls `on_answer` when `lookup` knows it. The callback must be short and must not raise."""

    def close(self) -> None:
        """Drops pending callbacks; the executor is its owner's to end."""


class Fetcher(Protocol):
    """Sends one GET and reads the answer, following no redirect. Threads: safe from any thread."""

    def fetch(self, request: FetchRequest) -> FetchResult | FetchFailure:
        """Never raises for what a server does; connects to `request.addresses` only."""

    def close(self) -> None:
        """Closes idle connections."""


K = TypeVar("K")
V = TypeVar("V")


class Table(Protocol[K, V]):
    """One ordered table inside a transaction. Order is that of the encoded keys, given in `rows`.

    Threads: confined to the thread that began the transaction.
    """

    def get(self, key: K) -> V | None:
        """The row, or None."""

    def put(self, key: K, row: V) -> None:
        """Writes the row, replacing an older one."""

    def put_new(self, key: K, row: V) -> bool:
        """Writes the row if the key is free; says whether it did."""

    def delete(self, key: K) -> bool:
        """Removes the row; says whether there was one."""

    def count(self) -> int:
        """Number of rows, O(1)."""

    def scan(self, *, prefix: bytes = b"", after: K | None = None) -> Iterator[tuple[K, V]]:
        """Rows in key order whose encoded key starts with `prefix`, behind `after` where given.
        The table must not be written by this transaction while the iterator is in use."""


class UrlTable(Table[UrlKey, UrlRow], Protocol):
    """`urls`, with the look that the URL-seen test takes."""

    def glance(self, key: UrlKey, key_url: str) -> Glance | None:
        """State and depth of the row under `key`, without decoding the rest. None when the key is
        free. Raises `KeyTaken` when the row is another URL's (a collision of hashes)."""


class KeyTaken(Exception):
    """The row under a key belongs to another URL; the caller tries the next probe."""


class Txn(Protocol):
    """All tables in one transaction. Reading sees the state of one commit."""

    urls: UrlTable
    front: Table[QueueKey, UrlKey]
    back: Table[QueueKey, UrlKey]
    delayed: Table[QueueKey, UrlKey]
    pins: Table[HostId, bytes]
    hosts: Table[HostId, HostRow]
    pages: Table[UrlKey, PageRow]
    content: Table[bytes, ContentRow]
    links: Table[UrlKey, tuple[LinkRow, ...]]
    robots: Table[str, RobotsRow]
    visits: Table[int, VisitRow]
    dead: Table[UrlKey, DeadRow]
    meta: Table[str, object]
    """Small named values: anything made of None, bool, int, float, str, bytes, list and dict."""


class Tables(Protocol):
    """The durable tables of one shard."""

    def read(self) -> AbstractContextManager[Txn]:
        """A short read transaction, from any thread; do not keep it open over I/O or waiting."""

    def write(self) -> AbstractContextManager[Txn]:
        """The write transaction, by one thread at a time. Leaving the block commits durably; an
        exception rolls everything back. Raises StoreFullError when disk or map is full."""

    def close(self) -> None:
        """Closes; no transaction may be open."""


class Prepared(Protocol):
    """A response made ready for the disk by a worker: compressed, not yet written."""

    size: int

    def close(self) -> None:
        """Gives memory or a temporary file back."""


class Documents(Protocol):
    """Bodies and WARC records. The writer thread appends and syncs before the commit that names them.

    Threads: `prepare` and `read` from any thread; `append`, `sync`, `rollback`, `close`: writer thread.
    """

    def prepare(self, result: FetchResult) -> Prepared:
        """Serialises and compresses request and response; the costly part, outside all locks."""

    def append(self, prepared: Prepared) -> BodyPlace:
        """Writes the record at the end of the current file; gives the response record's place."""

    def sync(self) -> Mapping[str, int | str]:
        """Makes all that was appended durable; gives the position to store in `meta` with the commit
        (key "warc"), from which `open` cuts back what no commit names."""

    def rollback(self, committed: Mapping[str, object] | None) -> None:
        """After a failed commit: cuts back to the position that the tables hold."""

    def read(self, place: BodyPlace, sha256: bytes) -> bytes:
        """The decompressed body. Raises StoreDamagedError when it is not there or not whole."""

    def close(self) -> None:
        """Closes the current file."""


class LinkExchange(Protocol):
    """Carries links whose host another shard owns. With one shard nothing is foreign."""

    def owner(self, host: str) -> int:
        """The shard that owns a host."""

    def send(self, shard: int, urls: Sequence[CanonicalUrl]) -> None:
        """Hands foreign links over; at least once, the URL-seen test of the owner drops repeats."""


class Renderer(Protocol):
    """Renders a page in a browser; for chosen pages only. No adapter exists yet."""

    def render(self, request: FetchRequest) -> FetchResult | FetchFailure:
        """The rendered document as if it had been fetched."""


class Prioritizer(Protocol):
    """URL to front-queue level, 1 (first) to `levels`. Pure; called once for each new URL."""

    levels: int

    def level(
        self,
        *,
        depth: int,
        cross_host: bool,
        host_stored: int,
        host_failed: int,
        sitemap_priority: float | None,
    ) -> int:
        """The level; must lie in 1..`levels`."""


__all__ = [
    "Body",
    "Clock",
    "Documents",
    "Fetcher",
    "KeyTaken",
    "LinkExchange",
    "Prepared",
    "Prioritizer",
    "Renderer",
    "Resolver",
    "Table",
    "Tables",
    "Txn",
    "UrlTable",
]
