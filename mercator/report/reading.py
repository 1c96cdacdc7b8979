"""How this room reads a store: batches in short transactions, and keys turned into texts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from mercator.errors import StoreDamagedError
from mercator.ports import Table, Tables, Txn
from mercator.rows import UrlRow
from mercator.values import UrlKey

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")

BATCH = 500
"""Records of one read transaction. A reader that stays open keeps LMDB from reusing pages, so the
file would grow for as long as a person looks at a table."""

REMEMBERED = 32_768
"""Keys whose texts are remembered, at most; about 10 MB."""


def batches(
    tables: Tables,
    pick: Callable[[Txn], Table[K, V]],
    make: Callable[[Txn, K, V], Iterable[R]],
    *,
    size: int = BATCH,
) -> Iterator[R]:
    """What `make` gives for each row of a table, in key order, never inside a transaction.

    At most `size` records plus those of one row are in memory. Beside a running crawl each batch is
    the state of one commit; a row that is written behind the place already read is not seen.
    """
    after: K | None = None
    ended = False
    while not ended:
        batch: list[R] = []
        with tables.read() as txn:
            ended = True
            for key, row in pick(txn).scan(after=after):
                batch.extend(make(txn, key, row))
                after = key
                if len(batch) >= size:
                    ended = False
                    break
        yield from batch


def elsewhere(stores: Sequence[Tables], home: Tables) -> tuple[Tables, ...]:
    """The stores of the other shards."""
    return tuple(tables for tables in stores if tables is not home)


def url_row(txn: Txn, key: UrlKey) -> UrlRow:
    """The `urls` row that another table's row stands on. Raises StoreDamagedError without it."""
    row = txn.urls.get(key)
    if row is None:
        raise StoreDamagedError(
            f"a row of the URL {key.hex()} has no entry in the table of URLs; run check --repair"
        )
    return row


class KeyUrls:
    """Turns keys into `key_url` texts, remembering those of the last `REMEMBERED` keys.

    Threads: confined to the thread that iterates.
    """

    def __init__(self, others: Sequence[Tables] = (), *, bound: int = REMEMBERED) -> None:
        self._others = others
        self._bound = bound
        self._texts: OrderedDict[UrlKey, str | None] = OrderedDict()

    def of(self, txn: Txn, key: UrlKey) -> str | None:
        """The text; None for no key, and for a URL that has none.

        `txn` is tried first, then the other shards. A key that is in no store gives None: a row of
        a shard that is not at hand is no damage.
        """
        if not key:
            return None
        texts = self._texts
        if key in texts:
            texts.move_to_end(key)
            return texts[key]
        row = txn.urls.get(key)
        if row is None:
            row = self._foreign(key)
            if row is None:
                return None
        texts[key] = text = row.key_url or None
        if len(texts) > self._bound:
            texts.popitem(last=False)
        return text

    def _foreign(self, key: UrlKey) -> UrlRow | None:
        for tables in self._others:
            with tables.read() as txn:
                row = txn.urls.get(key)
            if row is not None:
                return row
        return None
