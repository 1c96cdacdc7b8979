"""`Documents` over WARC files: every response as a record, whole on disk before the commit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mercator.config import Compress
from mercator.errors import StateError, StoreDamagedError
from mercator.ports import Clock, Prepared
from mercator.store.disk import disk_error, make_folder, sync_data, sync_folder, write_at
from mercator.store.prepared import SPOOL_BYTES, PreparedBytes
from mercator.store.stored_bodies import StoredBodies
from mercator.store.warc import GZIP_LEVEL, WarcInfo, capture, stream_capture, warcinfo_record
from mercator.store.warc_files import WarcName, WarcPosition, is_packed, settle
from mercator.values import BodyPlace, FetchResult


class WarcDocuments:
    """Bodies in `DIR/warc/`: one file after another, each begun at `file_bytes`.

    Order of a commit: `append` ..., `sync`, then the tables' commit with the position that `sync`
    gave. At opening (and in `rollback`) what no commit names is cut off, see `warc_files.settle`.
    A run adds a `warcinfo` record in front of its first record, also when it goes on with a file of
    an earlier run, whose settings may have been others.

    A failed `append` leaves the records before it; they may still be synced and committed. After a
    failed `sync` only `rollback` helps: the kernel may have dropped what it could not write.

    Threads: `prepare` and `read` from any thread; the rest confined to the writer thread.
    """

    def __init__(
        self,
        folder: Path,
        *,
        shard: int,
        compress: Compress,
        info: WarcInfo,
        clock: Clock,
        file_bytes: int,
        position: Mapping[str, object] | None,
    ) -> None:
        """Opens `DIR/warc`. `position` is the row "warc" of `meta`, None when there is none.

        Raises StoreDamagedError when the files do not reach to the position (nothing is touched
        then), StorePermissionError, StoreFullError.
        """
        self.stored = StoredBodies(folder)
        self._folder = self.stored.warc
        self._shard = shard
        self._compress: Compress = compress
        self._level = GZIP_LEVEL if compress == "gzip" else None
        self._info = info
        self._clock = clock
        self._file_bytes = file_bytes
        self._fd = -1
        self._has_records = False
        self._unsynced = False
        self._new_name = False
        self._fault = False
        self._group_ended = False
        make_folder(self._folder)
        self._synced = settle(self._folder, shard, WarcPosition.from_row(position, shard))
        self._end = self._synced
        # Where to cut back to while the tables hold no position: until a second group begins, the
        # first one may still fail to be committed.
        self._uncommitted = self._synced if position is None else None

    def prepare(self, result: FetchResult) -> PreparedBytes:
        """Serialises and compresses; a body above `SPOOL_BYTES` goes through a temporary file.

        Raises StoreFullError when there is no room for that file.
        """
        sha256 = result.body.sha256
        if result.body.size <= SPOOL_BYTES:
            return PreparedBytes(sha256, capture(result, self._level))
        return PreparedBytes.spooled(
            sha256, self._folder, lambda write: stream_capture(result, self._level, write)
        )

    def append(self, prepared: Prepared) -> BodyPlace:
        """Writes the records behind the last ones; gives the place of the response record.

        Raises StoreFullError and the other errors of a disk; the record is then not there.
        """
        assert isinstance(prepared, PreparedBytes), "what `prepare` of this adapter gave"
        self._refuse_after_fault()
        self._begin_group()
        if self._fd < 0:
            self._begin(going_on=self._may_go_on(prepared.size))
        elif self._has_records and self._end.offset + prepared.size > self._file_bytes:
            self._make_durable()
            self._close_file()
            self._begin(going_on=False)
        end = self._end
        self._unsynced = True
        try:
            prepared.write_to(self._fd, end.offset)
        except OSError as error:
            self._cut_tail(self._fd, end.offset)
            raise disk_error(error, self._folder / end.file) from error
        self._end = end._replace(offset=end.offset + prepared.size)
        self._has_records = True
        return BodyPlace(end.file, end.offset)

    def sync(self) -> Mapping[str, int | str]:
        """Makes data and names durable; gives the position for `meta`. Free when nothing is new.

        Raises StoreFullError and the other errors of a disk.
        """
        self._refuse_after_fault()
        self._begin_group()
        self._make_durable()
        self._synced = self._end
        self._group_ended = True
        return self._synced.as_row()

    def rollback(self, committed: Mapping[str, object] | None = None) -> None:
        """Cuts back to `committed`, the position that the tables hold now.

        None stands for tables that hold none: in a new store whose first commit has failed all is
        cut off. Anywhere else it means the last position that `sync` gave.
        Raises StoreDamagedError when the files do not reach that far, and the errors of a disk.
        """
        position = WarcPosition.from_row(committed, self._shard)
        position = position or self._uncommitted or self._synced
        self._close_file()
        self._fault = True
        self._synced = self._end = settle(self._folder, self._shard, position)
        self._unsynced = self._new_name = self._fault = self._group_ended = False

    def read(self, place: BodyPlace, sha256: bytes) -> bytes:
        """The body, from WARC or from `bodies/`. Raises StoreDamagedError."""
        return self.stored.read(place, sha256)

    def close(self) -> None:
        """Closes the current file; what was not synced is in no commit and is cut at opening."""
        self._close_file()

    def _begin_group(self) -> None:
        """Whoever goes on after `sync` has committed what it gave."""
        if self._group_ended:
            self._group_ended = False
            self._uncommitted = None

    def _may_go_on(self, size: int) -> bool:
        """Whether the last file is of this run's kind and has room."""
        file, offset, _ = self._end
        same_kind = bool(file) and is_packed(file) == (self._compress == "gzip")
        return same_kind and offset + size <= self._file_bytes

    def _begin(self, *, going_on: bool) -> None:
        """Opens the file that records go to next, and lets this run's `warcinfo` be the first."""
        if going_on:
            start, flags = self._end, os.O_WRONLY | os.O_CLOEXEC
        else:
            sequence = self._end.sequence + 1 if self._end.file else self._end.sequence
            name = WarcName.make(self._shard, sequence, self._compress)
            start = WarcPosition(name.file, 0, sequence)
            flags = os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL
        path = self._folder / start.file
        head = warcinfo_record(self._info, start.file, self._clock.unix_s(), self._level)
        try:
            fd = os.open(path, flags, 0o666)
        except FileExistsError as error:
            raise StoreDamagedError(
                f"{path} was not there when the store was opened: another program writes in "
                f"{self._folder}; end it and start again"
            ) from error
        except OSError as error:
            raise disk_error(error, path) from error
        try:
            write_at(fd, head, start.offset)
        except OSError as error:
            self._abandon(fd, start)
            raise disk_error(error, path) from error
        self._fd = fd
        self._end = start._replace(offset=start.offset + len(head))
        self._has_records = going_on
        self._unsynced = True
        self._new_name = self._new_name or not going_on

    def _abandon(self, fd: int, start: WarcPosition) -> None:
        """Takes back a `warcinfo` that could not be written whole, and the file begun with it: an
        empty file would stand in the way of the next try."""
        self._cut_tail(fd, start.offset)
        os.close(fd)
        if start.offset == 0:
            try:
                os.unlink(self._folder / start.file)
            except OSError:
                self._fault = True  # `rollback` or the next opening removes it

    def _make_durable(self) -> None:
        """Data first, then the name. A failure is final: the kernel may have dropped the data."""
        if not self._unsynced:
            return
        try:
            sync_data(self._fd)
            if self._new_name:
                sync_folder(self._folder)
        except OSError as error:
            self._fault = True
            raise disk_error(error, self._folder / self._end.file) from error
        self._unsynced = self._new_name = False

    def _cut_tail(self, fd: int, offset: int) -> None:
        """Cuts off what a failed write has left behind the last whole record."""
        try:
            os.ftruncate(fd, offset)
        except OSError:
            self._fault = True  # a torn record stays: only `rollback` may touch the file now

    def _close_file(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def _refuse_after_fault(self) -> None:
        if self._fault:
            raise StateError("writing documents has failed: call `rollback` before anything else")
