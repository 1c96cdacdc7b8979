"""Records as JSON lines: one object a line, UTF-8."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from mercator.errors import UsageError
from mercator.records import Json

# One encoder for all rows: json.dumps makes a new one for every call with an option.
_readable = json.JSONEncoder(ensure_ascii=False).encode
_escaped = json.JSONEncoder().encode


class Row(Protocol):
    """What can be written: any record. Threads: immutable."""

    def as_dict(self) -> Json:
        """The columns by name, JSON-ready."""


class Sink(Protocol):
    """A buffered binary file. Threads: one at a time."""

    def write(self, data: bytes, /) -> object:
        """Takes all of `data`."""


def line(row: Row) -> bytes:
    """One record as a line, with its line end."""
    values = row.as_dict()
    try:
        return _readable(values).encode() + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate of a page's title or anchor has no UTF-8 form; escaped it is valid JSON.
        return _escaped(values).encode() + b"\n"


def write(rows: Iterable[Row], sink: Sink) -> int:
    """Writes one line a record; gives their number. Errors of the sink pass through."""
    count = 0
    for row in rows:
        sink.write(line(row))
        count += 1
    return count


def write_file(rows: Iterable[Row], path: Path) -> int:
    """The same into a file, which appears under its name only when it is whole.

    A path that is there and no plain file (a pipe, a device) is written to as it is.
    Raises UsageError when the file cannot be made.
    """
    plain = path.is_file() or not path.exists()
    target = path.with_name(f"{path.name}.part") if plain else path
    try:
        sink = target.open("wb")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    with sink:
        count = write(rows, sink)
    if plain:
        target.replace(path)
    return count
