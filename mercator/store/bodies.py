"""`Documents` over single files: with --no-warc a body lies in `DIR/bodies` under its SHA-256."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from mercator.config import Compress
from mercator.errors import StateError
from mercator.ports import Body, Prepared
from mercator.store.disk import disk_error, make_folder, sync_data, sync_folder
from mercator.store.prepared import SPOOL_BYTES, PreparedBytes
from mercator.store.stored_bodies import PART_FOLDER, StoredBodies, body_path
from mercator.store.warc import GZIP_LEVEL
from mercator.store.warc_files import WarcPosition, settle
from mercator.values import BodyPlace, FetchResult

NOWHERE = BodyPlace("", 0)
MAX_OPEN_PARTS = 64
"""So many files are written before they are synced together: a bound on open files."""


class FolderDocuments:
    """Bodies in `DIR/bodies/ab/abcdef...`, one file a distinct body (`.gz` when compressed).

    A body is written to `bodies/part/`, made durable by `sync`, and only then gets its name: a file
    under a digest is always whole. A name that exists is not written again. Files that got their
    name before a commit that failed stay; the next fetch finds them there.

    The WARC files of earlier runs are read, and cut back at opening as `WarcDocuments` does it;
    `sync` hands their position on unchanged, so that a later run with WARC goes on behind them.

    Threads: `prepare` and `read` from any thread; the rest confined to the writer thread.
    """

    def __init__(
        self,
        folder: Path,
        *,
        shard: int,
        compress: Compress,
        position: Mapping[str, object] | None,
    ) -> None:
        """Opens `DIR/bodies`. `position` is the row "warc" of `meta`, None when there is none.

        Raises StoreDamagedError, StorePermissionError, StoreFullError.
        """
        self.stored = StoredBodies(folder)
        self._bodies = self.stored.bodies
        self._parts = self._bodies / PART_FOLDER
        self._shard = shard
        self._compress: Compress = compress
        self._level = GZIP_LEVEL if compress == "gzip" else None
        self._position = settle(self.stored.warc, shard, WarcPosition.from_row(position, shard))
        self._open: dict[bytes, int] = {}
        self._written: set[bytes] = set()
        self._touched: set[Path] = set()
        self._fault = False
        make_folder(self._parts)
        self._drop_parts()

    def prepare(self, result: FetchResult) -> PreparedBytes:
        """Compresses the body; one above `SPOOL_BYTES` goes through a temporary file.

        Raises StoreFullError when there is no room for that file.
        """
        body, level = result.body, self._level
        if body.size <= SPOOL_BYTES:
            content = body.read()
            return PreparedBytes(
                body.sha256, content if level is None else zlib.compress(content, level, 31)
            )
        return PreparedBytes.spooled(
            body.sha256, self._parts, lambda write: _stream(body, level, write)
        )

    def append(self, prepared: Prepared) -> BodyPlace:
        """Writes the body unless it is there already; gives the place that means `bodies/`.

        Raises StoreFullError and the other errors of a disk; the body is then not there.
        """
        assert isinstance(prepared, PreparedBytes), "what `prepare` of this adapter gave"
        self._refuse_after_fault()
        sha256 = prepared.sha256
        if sha256 in self._written:
            return NOWHERE
        if self.stored.why_absent(NOWHERE, sha256) is None:
            # A run that was killed may have given the name without making it durable.
            self._touched.add(body_path(self._bodies, sha256, self._compress).parent)
            return NOWHERE
        if len(self._open) >= MAX_OPEN_PARTS:
            self._sync_parts()
        path = self._part(sha256)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            try:
                prepared.write_to(fd, 0)
            except OSError:
                os.close(fd)
                os.unlink(path)
                raise
        except OSError as error:
            raise disk_error(error, path) from error
        self._open[sha256] = fd
        self._written.add(sha256)
        return NOWHERE

    def sync(self) -> Mapping[str, int | str]:
        """Makes the bodies durable and gives them their names; hands the WARC position on.

        Cost: one fsync a new body and one a folder touched. Raises the errors of a disk.
        """
        self._refuse_after_fault()
        self._sync_parts()
        try:
            for sha256 in sorted(self._written):
                path = body_path(self._bodies, sha256, self._compress)
                if path.parent not in self._touched:
                    make_folder(path.parent)
                    self._touched.add(path.parent)
                os.replace(self._part(sha256), path)
            for folder in sorted(self._touched):
                sync_folder(folder)
        except OSError as error:
            self._fault = True
            raise disk_error(error, error.filename or self._bodies) from error
        self._written.clear()
        self._touched.clear()
        return self._position.as_row()

    def rollback(self, committed: Mapping[str, object] | None = None) -> None:
        """Drops bodies that have no name yet; those that have one are whole and may stay.

        `committed` is what `WarcDocuments.rollback` needs; no WARC file is written here.
        """
        self.close()
        self._written.clear()
        self._drop_parts()
        self._fault = False

    def read(self, place: BodyPlace, sha256: bytes) -> bytes:
        """The body, from `bodies/` or from WARC. Raises StoreDamagedError."""
        return self.stored.read(place, sha256)

    def close(self) -> None:
        """Closes what is open; bodies that were not synced belong to no commit."""
        while self._open:
            _, fd = self._open.popitem()
            os.close(fd)

    def _part(self, sha256: bytes) -> Path:
        return self._parts / f"{self._shard:04d}-{sha256.hex()}"

    def _sync_parts(self) -> None:
        """Makes the content of the open parts durable and closes them."""
        while self._open:
            sha256, fd = self._open.popitem()
            try:
                sync_data(fd)
            except OSError as error:
                self._fault = True
                raise disk_error(error, self._part(sha256)) from error
            finally:
                os.close(fd)

    def _drop_parts(self) -> None:
        """Removes what this shard has left in `part/`; other shards' files are theirs."""
        try:
            for name in os.listdir(self._parts):
                if name.startswith(f"{self._shard:04d}-"):
                    os.unlink(self._parts / name)
        except OSError as error:
            raise disk_error(error, self._parts) from error

    def _refuse_after_fault(self) -> None:
        if self._fault:
            raise StateError("writing documents has failed: call `rollback` before anything else")


def _stream(body: Body, level: int | None, write: Callable[[bytes], object]) -> None:
    """The body in pieces, compressed."""
    packer = None if level is None else zlib.compressobj(level, zlib.DEFLATED, 31)
    for chunk in body.chunks():
        write(packer.compress(chunk) if packer else chunk)
    if packer:
        write(packer.flush())
