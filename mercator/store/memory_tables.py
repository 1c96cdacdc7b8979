"""`ports.Tables` in memory, with the same bytes, for tests and notebooks."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterator
from types import TracebackType

from sortedcontainers import SortedDict

from mercator.errors import StateError
from mercator.store.tables import FORMAT_KEY, FORMAT_VERSION, KEY_MAX_BYTES, TABLES
from mercator.store.typed import RawTxn, TypedTxn

_HANDLES = {table.name: table.name for table in TABLES}


class MemoryTables:
    """Tables that end with the process; nothing of them is durable.

    A commit changes the tables in place, or copies of them while a reader looks at the old ones
    (O(n) then, for the tables that the commit wrote to).

    Threads: safe from any thread; each transaction stays in the thread that began it, and one write
    transaction is open at a time. Fields guarded by `_lock` (leaf, never held over I/O).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: dict[str, SortedDict] = {name: SortedDict() for name in _HANDLES}
        self._readers = 0
        self._writing = False
        self._closed = False
        with self.write() as txn:
            txn.meta.put(FORMAT_KEY, FORMAT_VERSION)

    def read(self) -> _Read:
        """A read transaction, see `ports.Tables.read`."""
        return _Read(self)

    def write(self) -> _Write:
        """The write transaction, see `ports.Tables.write`. Raises StateError on entering when one is
        open already."""
        return _Write(self)

    def close(self) -> None:
        """Closes; may be called twice. Raises StateError when a transaction is open."""
        with self._lock:
            if self._readers or self._writing:
                raise StateError("a transaction is open; leave its with block before closing")
            self._closed = True

    def _begin(self, write: bool) -> dict[str, SortedDict]:
        with self._lock:
            if self._closed:
                raise StateError("the tables are closed")
            if write:
                if self._writing:
                    raise StateError(
                        "a write transaction is open already; one thread writes at a time"
                    )
                self._writing = True
            else:
                self._readers += 1
            return self._tables

    def _end_read(self) -> None:
        with self._lock:
            self._readers -= 1

    def _end_write(self, changes: dict[str, SortedDict]) -> None:
        """Takes a write transaction's changes over; none when it is rolled back."""
        with self._lock:
            self._writing = False
            tables = dict(self._tables)
            for name, changed in changes.items():
                if self._readers:
                    tables[name] = tables[name].copy()
                for key, value in changed.items():
                    if value is None:
                        tables[name].pop(key, None)
                    else:
                        tables[name][key] = value
            self._tables = tables


class _Read:
    """A read transaction as a with block. Threads: confined to the thread that entered it."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    def __enter__(self) -> TypedTxn:
        raw: RawTxn = _RawRead(self._tables._begin(write=False))
        return TypedTxn(raw, _HANDLES)

    def __exit__(self, *_error: object) -> None:
        self._tables._end_read()


class _Write:
    """A write transaction as a with block. Threads: confined to the thread that entered it."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    def __enter__(self) -> TypedTxn:
        self._raw = _RawWrite(self._tables._begin(write=True))
        return TypedTxn(self._raw, _HANDLES)

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._tables._end_write(self._raw.changes if error is None else {})


class _RawRead:
    """`typed.RawTxn` over the tables of one commit. Threads: as the transaction."""

    def __init__(self, tables: dict[str, SortedDict]) -> None:
        self._tables = tables

    def get(self, key: bytes, default: None, table: str, /) -> bytes | None:
        value: bytes | None = self._tables[table].get(_filled(key))
        return value

    def put(
        self,
        key: bytes,
        value: bytes,
        dupdata: bool,
        overwrite: bool,
        append: bool,
        table: str,
        /,
    ) -> bool:
        raise StateError("a read transaction cannot write")

    def delete(self, key: bytes, value: bytes, table: str, /) -> bool:
        raise StateError("a read transaction cannot write")

    def count(self, table: str, /) -> int:
        return len(self._tables[table])

    def scan(self, table: str, start: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        rows = self._tables[table]
        return ((key, rows[key]) for key in rows.irange(start))


class _RawWrite:
    """`typed.RawTxn` that keeps its changes beside the tables until the commit; None marks a row
    that was removed. Threads: as the transaction."""

    def __init__(self, tables: dict[str, SortedDict]) -> None:
        self._tables = tables
        self.changes: dict[str, SortedDict] = {}

    def get(self, key: bytes, default: None, table: str, /) -> bytes | None:
        changed = self.changes.get(table)
        if changed is not None and key in changed:
            value: bytes | None = changed[key]
            return value
        value = self._tables[table].get(_filled(key))
        return value

    def put(
        self,
        key: bytes,
        value: bytes,
        dupdata: bool,
        overwrite: bool,
        append: bool,
        table: str,
        /,
    ) -> bool:
        if len(key) > KEY_MAX_BYTES:
            raise ValueError(f"a key has 1 to {KEY_MAX_BYTES} bytes")
        if not overwrite and self.get(key, None, table) is not None:
            return False
        self.changes.setdefault(table, SortedDict())[_filled(key)] = value
        return True

    def delete(self, key: bytes, value: bytes, table: str, /) -> bool:
        if self.get(key, None, table) is None:
            return False
        self.changes.setdefault(table, SortedDict())[key] = None
        return True

    def count(self, table: str, /) -> int:
        rows = self._tables[table]
        changed = self.changes.get(table, {})
        return len(rows) + sum(
            (value is not None) - (key in rows) for key, value in changed.items()
        )

    def scan(self, table: str, start: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        rows, changed = self._tables[table], self.changes.get(table)
        if changed is None:
            yield from ((key, rows[key]) for key in rows.irange(start))
            return
        for key in _merged(rows.irange(start), changed.irange(start)):
            value = changed[key] if key in changed else rows[key]
            if value is not None:
                yield key, value


def _merged(left: Iterator[bytes], right: Iterator[bytes]) -> Iterator[bytes]:
    """Two ascending runs as one, a key of both once."""
    last = None
    for key in heapq.merge(left, right):
        if key != last:
            yield key
        last = key


def _filled(key: bytes) -> bytes:
    if not key:
        raise ValueError(f"a key has 1 to {KEY_MAX_BYTES} bytes")
    return key
