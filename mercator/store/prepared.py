"""A response made ready for the disk: bytes in memory, or in a temporary file without a name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from mercator.store.disk import disk_error, write_at

SPOOL_BYTES = 262_144
"""Bodies above this go through a temporary file, so that what finished visits hold in memory while
they wait for their commit stays small however large the pages are."""

COPY_BYTES = 1 << 20


class PreparedBytes:
    """What `append` writes, of `size` bytes; `sha256` is the body's.

    Threads: made by one thread, then handed to the writer thread.
    """

    __slots__ = ("_content", "_spool", "sha256", "size")

    def __init__(self, sha256: bytes, content: bytes, spool: BinaryIO | None = None) -> None:
        self.sha256 = sha256
        self._content = content
        self._spool = spool
        self.size = len(content) if spool is None else spool.tell()

    @classmethod
    def spooled(
        cls, sha256: bytes, folder: Path, fill: Callable[[Callable[[bytes], object]], None]
    ) -> PreparedBytes:
        """Bytes that `fill` writes into a temporary file in `folder`, which has no name where the
        system can do that: a crash leaves nothing behind.

        Raises StoreFullError and the other errors of a disk; the file is then gone already.
        """
        try:
            spool = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (`close` closes it)
        except OSError as error:
            raise disk_error(error, folder) from error
        try:
            fill(spool.write)
            spool.flush()
            return cls(sha256, b"", spool)
        except OSError as error:
            _drop(spool)
            raise disk_error(error, folder) from error
        except BaseException:
            _drop(spool)
            raise

    def write_to(self, fd: int, offset: int) -> None:
        """Writes all bytes at `offset`. Raises OSError, after which part of them may be there."""
        if self._spool is None:
            write_at(fd, self._content, offset)
            return
        source = self._spool.fileno()
        done = 0
        while done < self.size:
            piece = os.pread(source, COPY_BYTES, done)
            assert piece, "a temporary file keeps what was written to it"
            write_at(fd, piece, offset + done)
            done += len(piece)

    def close(self) -> None:
        """Gives memory or the temporary file back; may be called twice."""
        self._content = b""
        if self._spool is not None:
            self._spool.close()


def _drop(spool: BinaryIO) -> None:
    """Closes a temporary file whose disk is full: closing flushes, which fails once more."""
    try:
        spool.close()
    except OSError:
        pass  # the error that counts is already on its way to the caller
