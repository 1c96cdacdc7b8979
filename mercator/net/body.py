"""Response bodies: in memory while the process-wide budget lasts, in temporary files beyond it."""

from __future__ import annotations

import errno
import hashlib
import io
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from mercator.errors import StoreError, StoreFullError

_CHUNK_BYTES = 65_536
_EMPTY_SHA256 = hashlib.sha256(b"").digest()


class BodyMemory:
    """The budget that all bodies in memory share: at most `limit_bytes` together.

    A body that would go beyond it moves to a temporary file in `folder` (None: the system's), which
    has no name where the system allows that, so that a crash leaves nothing behind.
    Threads: `_used` is guarded by `_lock` (leaf, never held over I/O).
    """

    def __init__(self, limit_bytes: int, folder: Path | None = None) -> None:
        self._limit_bytes = limit_bytes
        self._folder = folder
        self._lock = threading.Lock()
        self._used = 0

    @property
    def used_bytes(self) -> int:
        """Bytes that bodies hold in memory now."""
        with self._lock:
            return self._used

    def new(self) -> SpooledBody:
        """An empty body to write to; whoever owns it closes it."""
        return SpooledBody(self)

    def reserve(self, size: int) -> bool:
        """Takes `size` bytes from the budget; says whether there was room."""
        with self._lock:
            if self._used + size > self._limit_bytes:
                return False
            self._used += size
            return True

    def give_back(self, size: int) -> None:
        """Returns reserved bytes."""
        with self._lock:
            self._used -= size

    def temporary_file(self) -> IO[bytes]:
        """A new file for one body. Raises OSError."""
        return tempfile.TemporaryFile(dir=self._folder)


class SpooledBody:
    """A body being written, then read: implements `ports.Body`.

    `write` pieces, `finish` once; `size` grows with the pieces, `sha256` stands after `finish`.
    Raises StoreFullError or StoreError when the temporary file cannot be written or read: that is
    this machine's trouble, not the server's.
    Threads: one at a time.
    """

    __slots__ = ("_budget", "_closed", "_file", "_hash", "_memory", "_reserved", "sha256", "size")

    def __init__(self, budget: BodyMemory) -> None:
        self._budget = budget
        self._memory: io.BytesIO | None = None
        self._file: IO[bytes] | None = None
        self._hash = hashlib.sha256()
        self._reserved = 0
        self._closed = False
        self.size = 0
        self.sha256 = _EMPTY_SHA256

    def write(self, piece: bytes) -> None:
        """Appends a piece."""
        if self._closed:
            raise ValueError("the body is closed")
        if self._file is None:
            if self._budget.reserve(len(piece)):
                self._reserved += len(piece)
                if self._memory is None:
                    self._memory = io.BytesIO()
                self._memory.write(piece)
                self.size += len(piece)
                return
            self._move_to_file()
        assert self._file is not None
        try:
            self._file.write(piece)
        except OSError as error:
            raise _local_trouble(error) from error
        self._hash.update(piece)
        self.size += len(piece)

    def finish(self) -> None:
        """Ends writing and makes `sha256` stand."""
        if self._memory is not None:
            # Once over the whole: hashing gives up the interpreter lock for every piece, and many
            # short hand-overs between threads cost more than the hash.
            with self._memory.getbuffer() as held:
                self._hash.update(held)
        elif self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                raise _local_trouble(error) from error
        self.sha256 = self._hash.digest()

    def read(self) -> bytes:
        """The whole body."""
        if self._memory is not None:
            return self._memory.getvalue()
        return b"".join(self.chunks())

    def chunks(self) -> Iterator[bytes]:
        """The body in pieces of at most 64 KiB; those of a file are read as they are asked for."""
        if self._closed:
            raise ValueError("the body is closed")
        if self._memory is not None:
            whole = self._memory.getvalue()
            for at in range(0, len(whole), _CHUNK_BYTES):
                yield whole[at : at + _CHUNK_BYTES]
        elif self._file is not None:
            try:
                self._file.seek(0)
                while piece := self._file.read(_CHUNK_BYTES):
                    yield piece
            except OSError as error:
                raise _local_trouble(error) from error

    def close(self) -> None:
        """Gives memory or file back; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._memory is not None:
            self._memory.close()
        if self._file is not None:
            try:
                self._file.close()
            except OSError:
                pass  # a last flush on a full disk: the body is thrown away anyway
        self._budget.give_back(self._reserved)
        self._reserved = 0

    def _move_to_file(self) -> None:
        try:
            self._file = self._budget.temporary_file()
            if self._memory is not None:
                with self._memory.getbuffer() as held:
                    self._hash.update(held)
                    self._file.write(held)
        except OSError as error:
            raise _local_trouble(error) from error
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        self._budget.give_back(self._reserved)
        self._reserved = 0


def _local_trouble(error: OSError) -> StoreError:
    text = f"cannot keep a body in a temporary file: {error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFullError(f"{text}; free space, or let TMPDIR name a larger disk")
    return StoreError(f"{text}; let TMPDIR name a folder that can be written")
