"""What LMDB says no to, in the words of the error tree: one table, by the name of LMDB's error."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

from mercator.errors import (
    StateError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreInUseError,
    StorePermissionError,
    StoreVersionError,
)
from mercator.store.disk import FORBIDDEN, FULL
from mercator.store.tables import KEY_MAX_BYTES

PROBE_BYTES = 1 << 20

_DAMAGED = (
    StoreDamagedError,
    "the tables in {path} are damaged ({text}); restore the folder from a copy; "
    "nothing was overwritten",
)
_FULL = (
    StoreFullError,
    "cannot write the tables in {path} ({text}); what was committed before is whole: "
    "free some space (or raise the quota) and run the same command again",
)
_FORBIDDEN = (
    StorePermissionError,
    "may not use the tables in {path} ({text}); give this user the right to read and write "
    "data.mdb and lock.mdb (readers write their slot in lock.mdb)",
)
_OTHER = (
    StoreError,
    "cannot use the tables in {path} ({text}); check the disk and run the same command again",
)

_TABLE: dict[str, tuple[type[Exception], str]] = {
    "MapFullError": (
        StoreFullError,
        "the map of the tables in {path} is full; what was committed before is whole: "
        "continue with a larger map_bytes",
    ),
    "DiskError": _FULL,
    "TxnFullError": (
        StoreError,
        "a commit to the tables in {path} changed more pages than LMDB can hold; "
        "continue with a smaller commit_puts",
    ),
    "ReadersFullError": (
        StoreError,
        "all reader slots of the tables in {path} are taken; close some of the programs "
        "that read this store",
    ),
    "CorruptedError": _DAMAGED,
    "PageNotFoundError": _DAMAGED,
    "InvalidError": _DAMAGED,
    "IncompatibleError": _DAMAGED,
    "BadDbiError": _DAMAGED,
    "PanicError": (
        StoreError,
        "LMDB could not write its meta page in {path} ({text}); check the disk, "
        "then open the store again",
    ),
    "BadTxnError": (
        StoreError,
        "an earlier error spoiled this transaction on {path}; nothing of it was committed",
    ),
    "VersionMismatchError": (
        StoreVersionError,
        "the tables in {path} were written by another version of LMDB ({text}); "
        "install the lmdb package that wrote them",
    ),
    "LockError": (
        StoreInUseError,
        "another process is just opening the tables in {path} ({text}); try again in a moment",
    ),
    "MemoryError": (
        StoreError,
        "there is no room for the map of the tables in {path} ({text}); "
        "give a smaller map_bytes, or raise the limit on address space (ulimit -v)",
    ),
    "BadValsizeError": (ValueError, f"a key has 1 to {KEY_MAX_BYTES} bytes"),
}


def opening_error(error: Exception, path: Path) -> Exception:
    """The error of the tree for what LMDB raised while opening; raise it `from` the cause."""
    kind, text = _TABLE.get(type(error).__name__, _OTHER)
    if kind is StoreError or type(error).__name__ == "ReadonlyError":
        kind, text = _by_errno(str(error)) or (kind, text)
    return kind(text.format(path=path, text=error))


def transaction_error(error: Exception, path: Path) -> Exception:
    """The same for what LMDB raised inside a transaction, where "permission denied" means a write
    in a read transaction."""
    if type(error).__name__ == "ReadonlyError":
        return StateError("a read transaction cannot write")
    return opening_error(error, path)


def _by_errno(said: str) -> tuple[type[Exception], str] | None:
    """LMDB hands errors of the system on as their text."""
    if any(os.strerror(number) in said for number in FULL):
        return _FULL
    if any(os.strerror(number) in said for number in FORBIDDEN):
        return _FORBIDDEN
    return None


def no_room(folder: Path) -> bool:
    """Whether data.mdb could not get PROBE_BYTES longer: by disk, quota or limit on a file's size.

    Asked of a file of its own that has a hole in front and is removed again.
    """
    try:
        length = (folder / "data.mdb").stat().st_size
        with TemporaryFile(dir=folder, buffering=0) as probe:
            return os.pwrite(probe.fileno(), bytes(PROBE_BYTES), length) < PROBE_BYTES
    except OSError as error:
        return error.errno in FULL
