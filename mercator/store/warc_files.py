"""The WARC files of a shard: their names, how far the tables name them, and the cut back to there.

    DIR/warc/mercator-SSSS-NNNNNNNN.warc.gz      (.warc when records are not compressed)

SSSS is the shard, NNNNNNNN the sequence; sequences of a shard grow by one. Table `meta` holds,
under "warc", the *position*: the file that was written last and its length as of the last commit.
What lies behind it belongs to visits whose commit never happened, and is cut off at opening: the
visits are made again, and their records must not be there twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from mercator.config import Compress
from mercator.errors import StoreDamagedError
from mercator.store.disk import disk_error, sync_folder

NAME = "mercator"
SUFFIXES: dict[Compress, str] = {"gzip": ".warc.gz", "none": ".warc"}
ASIDE = ".unnamed"
"""Ending of files that were set aside because the tables know nothing at all of them."""

_FILE_NAME = re.compile(rf"{NAME}-(\d{{4,}})-(\d{{8,}})\.warc(\.gz)?")
_SAFE_NAME = re.compile(r"[0-9A-Za-z_][0-9A-Za-z._-]*\.warc(\.gz)?")


class WarcName(NamedTuple):
    """A file of this program, ordered by shard and sequence. Threads: immutable."""

    shard: int
    sequence: int
    file: str

    @classmethod
    def parse(cls, file: str) -> WarcName | None:
        """The parts of a file's name, or None when it is not one of this program's."""
        match = _FILE_NAME.fullmatch(file)
        return cls(int(match[1]), int(match[2]), file) if match else None

    @classmethod
    def make(cls, shard: int, sequence: int, compress: Compress) -> WarcName:
        """The name of a file."""
        return cls(shard, sequence, f"{NAME}-{shard:04d}-{sequence:08d}{SUFFIXES[compress]}")


class WarcPosition(NamedTuple):
    """How far the tables name the shard's files: `file` up to `offset`, and all of those before.

    `file` "": nothing of the files from `sequence` on.
    Threads: immutable.
    """

    file: str
    offset: int
    sequence: int

    def as_row(self) -> dict[str, int | str]:
        """The value under "warc" in `meta`."""
        return {"file": self.file, "offset": self.offset, "sequence": self.sequence}

    @classmethod
    def from_row(cls, row: object, shard: int) -> WarcPosition | None:
        """The position in a row of `meta`; None for None. Raises StoreDamagedError."""
        if row is None:
            return None
        if isinstance(row, Mapping):
            file, offset, sequence = (row.get(name) for name in cls._fields)
            if (
                isinstance(file, str)
                and type(offset) is int
                and type(sequence) is int
                and offset >= 0
                and sequence >= 0
                and (not file or WarcName.parse(file) == WarcName(shard, sequence, file))
            ):
                return cls(file, offset, sequence)
        raise StoreDamagedError(
            f"the tables' note of how far the WARC files go cannot be read ({row!r}); "
            f"run `mercator check DIR --repair`"
        )


def is_warc_name(file: str) -> bool:
    """Whether a row may name this file: no folders, no hidden files."""
    return _SAFE_NAME.fullmatch(file) is not None


def is_packed(file: str) -> bool:
    """Whether the file's records are gzip members."""
    return file.endswith(".gz")


def shard_files(folder: Path, shard: int) -> list[WarcName]:
    """The shard's files in `DIR/warc`, oldest first; nothing when there is no such folder."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise disk_error(error, folder) from error
    parsed = (WarcName.parse(name) for name in names)
    return sorted(name for name in parsed if name and name.shard == shard)


def settle(folder: Path, shard: int, position: WarcPosition | None) -> WarcPosition:
    """Leaves of the shard's files exactly what the tables name; gives the position to go on from.

    Later files are removed and the last one is cut. Nothing at all is touched when the file that
    the position names is missing or too short: then something else went wrong, and what is left is
    worth more than order. Without a position the tables name nothing; files that are there all the
    same (the first commit never happened, or the tables were lost) are set aside, not removed.

    Files of other shards and other names are never touched.
    Raises StoreDamagedError, StorePermissionError, StoreError. Cost: O(files of the folder).
    """
    files = shard_files(folder, shard)
    try:
        if position is None:
            for name in files:
                _set_aside(folder, name.file)
            position = WarcPosition("", 0, 0)
        else:
            if position.file:
                _check_reaches(folder, position)
            for name in files:
                if name.sequence >= position.sequence and name.file != position.file:
                    os.unlink(folder / name.file)
            if position.file and os.stat(folder / position.file).st_size > position.offset:
                os.truncate(folder / position.file, position.offset)
        if files:
            sync_folder(folder)
    except OSError as error:
        raise disk_error(error, error.filename or folder) from error
    return position


def _check_reaches(folder: Path, position: WarcPosition) -> None:
    """Raises StoreDamagedError when the named file is missing or shorter than the tables say."""
    path = folder / position.file
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        found = "is missing"
    else:
        if size >= position.offset:
            return
        found = f"has only {size} bytes"
    raise StoreDamagedError(
        f"{path} {found}, but the tables name its first {position.offset} bytes: put the file back "
        f"from a copy, or give up what was in it with `mercator check DIR --repair`"
    )


def _set_aside(folder: Path, file: str) -> None:
    """Renames a file out of the set, never over another one."""
    target = folder / (file + ASIDE)
    number = 1
    while target.exists():
        number += 1
        target = folder / f"{file}{ASIDE}-{number}"
    os.rename(folder / file, target)
