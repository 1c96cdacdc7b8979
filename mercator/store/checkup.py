"""A check in progress: how it reads without long transactions, and how it mends in short ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

from mercator.ports import Table, Tables, Txn
from mercator.rows import QueueKey, UrlRow
from mercator.store.findings import Findings
from mercator.store.stored_bodies import StoredBodies
from mercator.values import UrlKey

K = TypeVar("K")
V = TypeVar("V")
Mend = Callable[[Txn], object]

ROWS_PER_READ = 500
MENDS_PER_COMMIT = 500
KNOWN_KEYS = 50_000
"""References that were just found to exist; most links and parents name the same few URLs."""


class Checkup:
    """What all parts of a check share. Mends are collected and committed a few hundred at a time;
    without `repair` they are dropped.

    `sequence` is the largest number in use, `front_counts` the rows of each front level, `counters`
    and `reasons` what the rows of `urls` add up to.
    Threads: confined to the thread that checks, which is the only one in the store.
    """

    def __init__(
        self,
        tables: Tables,
        documents: StoredBodies,
        findings: Findings,
        *,
        repair: bool,
        bodies: bool,
    ) -> None:
        self.tables = tables
        self.documents = documents
        self.findings = findings
        self.repair = repair
        self.bodies = bodies
        self.sequence = 0
        self.front_counts: Counter[int] = Counter()
        self.counters: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self._mends: list[Mend] = []
        self._known: set[UrlKey] = set()

    def rows(
        self, table: Callable[[Txn], Table[K, V]], at_once: int = ROWS_PER_READ
    ) -> Iterator[tuple[K, V]]:
        """All rows of a table in key order; no transaction is open between two of them.

        Rows behind the last `at_once` are read later, and show what was mended meanwhile.
        """
        after: K | None = None
        while True:
            with self.tables.read() as txn:
                part = list(islice(table(txn).scan(after=after), at_once))
            yield from part
            if len(part) < at_once:
                return
            after = part[-1][0]

    def mend(self, change: Mend) -> None:
        """Takes a change that puts something right."""
        if not self.repair:
            return
        self._mends.append(change)

    def commit(self, *, full_only: bool = False) -> None:
        """Commits the collected changes (with `full_only`: when there are enough of them).

        Raises StoreFullError. May not be called inside a transaction.
        """
        if not self._mends or (full_only and len(self._mends) < MENDS_PER_COMMIT):
            return
        with self.tables.write() as txn:
            for change in self._mends:
                change(txn)
        self._mends.clear()

    def has_url(self, txn: Txn, key: UrlKey) -> bool:
        """Whether a key has a row in `urls`; no check ever removes one."""
        if key in self._known:
            return True
        if txn.urls.get(key) is None:
            return False
        if len(self._known) >= KNOWN_KEYS:
            self._known.clear()
        self._known.add(key)
        return True

    def queue(self, key: UrlKey, row: UrlRow) -> None:
        """Lets a pending URL wait at the end of its front queue."""
        if not self.repair:
            return
        level = min(255, max(1, row.level))
        self.sequence += 1
        place = QueueKey(bytes((level,)), self.sequence)
        self.front_counts[level] += 1
        self.mend(lambda txn: txn.front.put(place, key))
