"""Sorting more records than fit in memory: sorted runs in a temporary file, merged when read."""

from __future__ import annotations

import heapq
import os
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from mercator.store.disk import disk_error

RUN_RECORDS = 1 << 18
READ_RECORDS = 1024


class SortedRecords:
    """Records of `width` bytes each, read back in order.

    Memory: about 25 MB while adding, 64 KiB a run while reading (a run is 262,144 records).
    Threads: confined to its caller.
    """

    def __init__(self, width: int, run_records: int = RUN_RECORDS) -> None:
        self._width = width
        self._run_records = run_records
        self._run: list[bytes] = []
        self._runs: list[int] = []
        self._file: BinaryIO | None = None

    def add(self, record: bytes) -> None:
        """Takes a record of exactly `width` bytes.

        Raises StoreFullError when the folder for temporary files is full.
        """
        assert len(record) == self._width, "records have one width"
        self._run.append(record)
        if len(self._run) >= self._run_records:
            self._spill()

    def __iter__(self) -> Iterator[bytes]:
        """All records in order; cost O(n log n), and one more pass over the file."""
        starts = [sum(self._runs[:i]) for i in range(len(self._runs))]
        runs = [self._read(at, count) for at, count in zip(starts, self._runs, strict=True)]
        return heapq.merge(*runs, iter(sorted(self._run)))

    def close(self) -> None:
        """Gives the temporary file back; may be called twice."""
        self._run = []
        self._runs = []
        if self._file is not None:
            self._file.close()
            self._file = None

    def _spill(self) -> None:
        self._run.sort()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 (`close` closes it)
            self._file.write(b"".join(self._run))
            self._file.flush()
        except OSError as error:
            raise disk_error(error, tempfile.gettempdir()) from error
        self._runs.append(len(self._run))
        self._run = []

    def _read(self, start: int, count: int) -> Iterator[bytes]:
        assert self._file is not None, "a run is in the file"
        width, fd = self._width, self._file.fileno()
        for at in range(start, start + count, READ_RECORDS):
            records = min(READ_RECORDS, start + count - at)
            block = os.pread(fd, records * width, at * width)
            assert len(block) == records * width, "a temporary file keeps what was written to it"
            for offset in range(0, len(block), width):
                yield block[offset : offset + width]
