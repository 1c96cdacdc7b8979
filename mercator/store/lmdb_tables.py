"""`ports.Tables` on LMDB: one environment a shard, every commit synced. The only importer of lmdb.

Durability is LMDB's default (copy on write, data and then meta page synced): the faster modes lose
or even spoil a store at a power cut. The map is made large and sparse once; growing it is for the
day it is full. `bench/micro/bench_tables.py` has the figures.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import lmdb
from lmdb.verify import VerifyError, verify

from mercator.errors import StateError, StoreDamagedError
from mercator.store.disk import disk_error, make_folder
from mercator.store.lmdb_errors import no_room, opening_error, transaction_error
from mercator.store.tables import FORMAT_KEY, FORMAT_VERSION, TABLES, version_error
from mercator.store.transaction_gate import TransactionGate
from mercator.store.typed import TypedTxn

MAX_READERS = 512
"""Slots for read transactions that are open at the same time, of all processes. The default, 126,
runs out with some notebooks beside a crawl (a slot outlives a killed reader until it is cleared)."""

MAX_TABLES = 32
"""Named databases that the environment can hold: room for tables of later versions."""

COMMITS_BETWEEN_CHECKS = 256
"""A reader that was killed keeps its old pages from being used again, and the file grows until its
slot is cleared. Opening clears them, and a crawl of weeks does so every so many commits."""

SPARE_TRANSACTIONS = 64
"""Finished read transactions kept for the next reader: no allocation, no search for a slot."""

_MAP_UNIT_BYTES = 1 << 16


class LmdbTables:
    """The tables of one shard in an LMDB environment.

    py-lmdb cannot open an environment twice in one process, so all LmdbTables of a process that are
    opened on one path share an environment: a running crawl and a notebook's reads beside it.
    Reads see the last commit and neither wait for a writer nor delay one.

    Threads: safe from any thread; each transaction stays in the thread that began it, and one write
    transaction is open at a time.
    """

    def __init__(self, shared: _Environment, read_only: bool) -> None:
        """Use `open`."""
        self._shared = shared
        self._read_only = read_only
        self._closed = False

    @classmethod
    def open(
        cls, path: str | Path, *, map_bytes: int, read_only: bool = False, create: bool = True
    ) -> LmdbTables:
        """Opens the environment in the folder `path`, making folder and tables where they are not.

        `map_bytes` is the room of the map: sparse, so that it costs address space only. An
        environment that is open in this process keeps its map. With `create=False` (for a store that
        is known to exist) and with `read_only=True` nothing is made. The caller holds the folder's
        lock unless `read_only`.

        Raises StoreDamagedError when the tables are missing or unreadable, StoreVersionError,
        StorePermissionError, StoreFullError, and StateError in a process that was forked while the
        environment was open.
        """
        folder = Path(path).resolve()
        with _registry_lock:
            shared = _registry.get(folder)
            if shared is None:
                shared = _Environment(folder, map_bytes, read_only, create)
                _registry[folder] = shared
            else:
                shared.check_process()
                if shared.read_only and not read_only:
                    shared.reopen_for_writing(map_bytes)
            shared.users += 1
        return cls(shared, read_only)

    @property
    def map_bytes(self) -> int:
        """The room of the map."""
        self._check_open()
        return int(self._shared.env.info()["map_size"])

    @property
    def used_bytes(self) -> int:
        """How much of the map is used, free pages in between included."""
        self._check_open()
        info = self._shared.env.info()
        return int((info["last_pgno"] + 1) * self._shared.page_bytes)

    def read(self) -> _Transaction:
        """A read transaction, see `ports.Tables.read`."""
        return self._transaction(write=False)

    def write(self) -> _Transaction:
        """The write transaction, see `ports.Tables.write`. Raises StateError on entering when one is
        open already."""
        if self._read_only:
            raise StateError("these tables were opened for reading only")
        return self._transaction(write=True)

    def grow(self, map_bytes: int) -> None:
        """Enlarges the map; waits for open transactions and lets none begin meanwhile.

        Raises StateError when one is still open after `transaction_gate.PATIENCE_S`.
        """
        self._check_open()
        self._shared.set_map(map_bytes)

    def close(self) -> None:
        """Closes; may be called twice. The last one on the path closes the environment.

        Raises StateError, with all still open, when a transaction does not end.
        """
        with _registry_lock:
            if self._closed:
                return
            if self._shared.users == 1:
                self._shared.close()
                del _registry[self._shared.path]
            self._shared.users -= 1
            self._closed = True

    def _transaction(self, write: bool) -> _Transaction:
        self._check_open()
        return _Transaction(self._shared, write)

    def _check_open(self) -> None:
        if self._closed:
            raise StateError("the tables are closed")


class _Environment:
    """The environment of one folder, shared by all LmdbTables of this process.

    Threads: `users`, opening and closing guarded by `_registry_lock`; transactions by `gate`.
    """

    def __init__(self, path: Path, map_bytes: int, read_only: bool, create: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.users = 0
        self.gate = TransactionGate()
        self._process_id = os.getpid()
        self._commits = 0
        self._open(map_bytes, create and not read_only)

    def _open(self, map_bytes: int, create: bool) -> None:
        data = self.path / "data.mdb"
        try:
            if create:
                make_folder(self.path)
            elif not data.exists() or not data.stat().st_size:
                # LMDB would make empty tables here, and a crawl begin anew over the loss.
                raise StoreDamagedError(
                    f"the tables in {self.path} are missing (no data.mdb); restore the folder from "
                    f"a copy, or crawl into a new store; nothing was written"
                )
            self.env = lmdb.open(
                str(self.path),
                map_size=_whole_units(map_bytes),
                mode=0o644,
                readonly=self.read_only,
                create=False,
                readahead=self.read_only or _fits_in_memory(data),
                max_readers=MAX_READERS,
                max_dbs=MAX_TABLES,
                max_spare_txns=SPARE_TRANSACTIONS,
            )
        except lmdb.Error as error:
            raise opening_error(error, self.path) from error
        except OSError as error:
            raise disk_error(error, self.path) from error
        try:
            self.page_bytes = int(self.env.stat()["psize"])
            self._check_length(data)
            self.env.reader_check()
            self.handles = self._existing_tables() if self.read_only else self._make_tables()
        except lmdb.Error as error:
            self.env.close()
            raise opening_error(error, self.path) from error
        except BaseException:
            self.env.close()
            raise

    def _check_length(self, data: Path) -> None:
        """Refuses a file that ends before a page in use: a look at it is a bus error, which ends the
        process. Pages that were given back in the commit that took them are never written, so a
        whole file may be a little short too; then all of it is walked (some 200 MB a second)."""
        if data.stat().st_size >= (self.env.info()["last_pgno"] + 1) * self.page_bytes:
            return
        with self.env.begin():  # keeps a writer beside us from using pages again meanwhile
            try:
                problems: list[str] = verify(str(data), subdir=False)  # type: ignore[no-untyped-call]
            except VerifyError as error:
                problems = [str(error)]
        if problems:
            raise StoreDamagedError(
                f"{data} has been cut off ({problems[0]}); restore it from a copy; "
                f"nothing was overwritten"
            )

    def _make_tables(self) -> dict[str, Any]:
        """Opens the tables, making those that are missing, in one commit with the version's row."""
        with self.env.begin(write=True) as raw:
            handles = {t.name: self.env.open_db(t.name.encode(), txn=raw) for t in TABLES}
            meta = TypedTxn(_RawTxn(raw), handles).meta
            if not meta.count():
                meta.put(FORMAT_KEY, FORMAT_VERSION)
            self._check_version(meta.get(FORMAT_KEY))
        return handles

    def _existing_tables(self) -> dict[str, Any]:
        try:
            handles = {t.name: self.env.open_db(t.name.encode(), create=False) for t in TABLES}
        except lmdb.NotFoundError as error:
            raise StoreDamagedError(
                f"the tables in {self.path} are not complete: they were never made whole, or come "
                f"from an earlier Mercator; continue the crawl once, which makes what is missing"
            ) from error
        with self.env.begin() as raw:
            self._check_version(TypedTxn(_RawTxn(raw), handles).meta.get(FORMAT_KEY))
        return handles

    def _check_version(self, version: object) -> None:
        if version != FORMAT_VERSION:
            raise version_error(self.path, version)

    def check_process(self) -> None:
        """Raises StateError in a forked child: LMDB's locks and slots belong to the parent."""
        if os.getpid() != self._process_id:
            raise StateError(
                f"the tables in {self.path} were opened before this process was forked; "
                f"start processes with the spawn method, or open the store in the child only"
            )

    def begin(self, write: bool) -> lmdb.Transaction[bytes]:
        """A transaction that has passed the gate. Raises what `transaction_error` gives."""
        self.check_process()
        try:
            try:
                return self._begin(write)
            except lmdb.MapResizedError:
                self.set_map(0)  # another process has grown the map: take its size over
                return self._begin(write)
        except lmdb.Error as error:
            raise transaction_error(error, self.path) from error

    def _begin(self, write: bool) -> lmdb.Transaction[bytes]:
        self.gate.enter(write)
        try:
            return self.env.begin(write=write)
        except BaseException:
            self.gate.leave(write)
            raise

    def committed(self) -> None:
        """After each commit, still by the writing thread."""
        self._commits += 1
        if self._commits % COMMITS_BETWEEN_CHECKS == 0:
            try:
                self.env.reader_check()
            except lmdb.Error:
                pass  # the commit stands; a slot that is not cleared costs room until the next check

    def commit_error(self, failure: lmdb.Error) -> Exception:
        """LMDB takes a write that ended early, which is how a full disk shows itself first, for an
        I/O error; which of the two it was is found out by writing as much at the same offset."""
        if os.strerror(errno.EIO) in str(failure) and no_room(self.path):
            failure = lmdb.DiskError(os.strerror(errno.ENOSPC))
        return transaction_error(failure, self.path)

    def set_map(self, map_bytes: int) -> None:
        """Sets the map's size (0: what the file says) while no transaction is open."""
        with self.gate.alone():
            try:
                self.env.set_mapsize(_whole_units(map_bytes))
            except lmdb.Error as error:
                raise transaction_error(error, self.path) from error

    def reopen_for_writing(self, map_bytes: int) -> None:
        """Readers came first and a writer now: changes the environment under them."""
        with self.gate.alone():
            self.env.close()
            self.read_only = False
            try:
                self._open(map_bytes, create=False)
            except BaseException:
                self.read_only = True
                self._open(map_bytes, create=False)  # the readers go on
                raise

    def close(self) -> None:
        """Closes the environment; in a forked child it is left to the parent."""
        if os.getpid() == self._process_id:
            with self.gate.alone():
                self.env.close()


class _Transaction:
    """A transaction as a with block. Threads: confined to the thread that entered it."""

    __slots__ = ("_raw", "_shared", "_write")

    def __init__(self, shared: _Environment, write: bool) -> None:
        self._shared = shared
        self._write = write

    def __enter__(self) -> TypedTxn:
        self._raw = self._shared.begin(self._write)
        return TypedTxn(_RawTxn(self._raw), self._shared.handles)

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        shared = self._shared
        try:
            if self._write and error is None:
                self._raw.commit()
                shared.committed()
            else:
                self._raw.abort()
        except lmdb.Error as failure:
            raise shared.commit_error(failure) from failure
        finally:
            shared.gate.leave(self._write)
        if isinstance(error, lmdb.Error):
            raise transaction_error(error, shared.path) from error


class _RawTxn:
    """`typed.RawTxn` over lmdb's transaction. Threads: as the transaction."""

    __slots__ = ("_txn", "delete", "get", "put")

    def __init__(self, txn: lmdb.Transaction[bytes]) -> None:
        self._txn = txn
        self.get = txn.get
        self.put = txn.put
        self.delete = txn.delete

    def count(self, table: Any) -> int:
        return self._txn.stat(table)["entries"]

    def scan(self, table: Any, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        cursor = self._txn.cursor(table)
        return cursor.iternext() if cursor.set_range(start) else iter(())


_registry: dict[Path, _Environment] = {}
_registry_lock = threading.Lock()
"""Guards `_registry`. It is held over opening and closing, because those are what must not meet: two
environments of one file in one process would drop each other's locks (POSIX locks are per process
and file). It is the one piece of state that outlives a Crawl, and empty when all are closed."""


def _fits_in_memory(data: Path) -> bool:
    """Whether the system should read ahead. It makes a cold scan ten times as fast and warms a store
    up, but of a store larger than memory it fills the page cache with neighbours that nobody asked
    for: look-ups are scattered."""
    if not data.exists():
        return True
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return data.stat().st_size < memory_bytes // 2


def _whole_units(map_bytes: int) -> int:
    """LMDB wants whole pages, whatever the page's size."""
    return -(-map_bytes // _MAP_UNIT_BYTES) * _MAP_UNIT_BYTES
