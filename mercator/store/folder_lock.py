"""`DIR/lock`: one process writes a store. The system drops the lock with the process, however it ends."""

from __future__ import annotations

import fcntl
import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from mercator.errors import StateError, StoreInUseError
from mercator.store.disk import disk_error


@dataclass(frozen=True, slots=True)
class LockHolder:
    """Who wrote the lock file. `started_at` is in Unix seconds. Threads: immutable."""

    pid: int
    host: str
    started_at: float


class FolderLock:
    """An exclusive flock on one file, which names its holder for the error text of others.

    The file stays when the lock is given up (removing it would race with the next one), emptied; a
    holder that is still named there has not given it up: it was killed.

    Threads: confined to the thread that opens and closes the store.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1
        self._process_id = 0

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd >= 0

    def acquire(self, unix_s: float) -> LockHolder | None:
        """Takes the lock or raises StoreInUseError at once. Gives the last holder if it did not give
        the lock up, which means that it was killed, else None.

        Raises StateError when this object holds it, StorePermissionError, StoreFullError.
        """
        if self.held:
            raise StateError(f"{self._path} is locked already")
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise disk_error(error, self._path) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            before = _holder(fd)
            me = LockHolder(os.getpid(), platform.node(), unix_s)
            os.ftruncate(fd, 0)
            os.pwrite(fd, json.dumps(asdict(me)).encode() + b"\n", 0)
        except BlockingIOError as error:
            failure = self._in_use(_holder(fd))
            os.close(fd)
            raise failure from error
        except OSError as error:
            os.close(fd)
            raise disk_error(error, self._path) from error
        self._fd = fd
        self._process_id = me.pid
        return before

    def release(self) -> None:
        """Gives the lock up; nothing when it is not held, or in a forked child: it is the parent's.

        The lock itself is removed, not only this descriptor, so that children which inherited the
        descriptor do not keep the store locked.
        """
        if not self.held:
            return
        fd, self._fd = self._fd, -1
        try:
            if os.getpid() == self._process_id:
                os.ftruncate(fd, 0)
                fcntl.flock(fd, fcntl.LOCK_UN)
        finally:
            os.close(fd)

    def _in_use(self, holder: LockHolder | None) -> StoreInUseError:
        folder = self._path.parent
        if holder is None:
            return StoreInUseError(f"{folder} is in use by another process; stop that one first")
        if holder.pid == os.getpid():
            return StoreInUseError(
                f"{folder} is in use by another Crawl of this process (process {holder.pid}); "
                f"go on with that one, or stop it first",
                holder.pid,
            )
        since = datetime.fromtimestamp(holder.started_at, UTC).isoformat(" ", "seconds")
        return StoreInUseError(
            f"{folder} is in use by process {holder.pid} on {holder.host} since {since}; "
            f"stop it first, or look at the store with status, export or explain",
            holder.pid,
        )


def _holder(fd: int) -> LockHolder | None:
    """Who is named in the file; None when nobody is, or not legibly: its holder may be writing it."""
    try:
        fields = json.loads(os.pread(fd, 4096, 0))
        return LockHolder(int(fields["pid"]), str(fields["host"]), float(fields["started_at"]))
    except (ValueError, TypeError, KeyError):
        return None
