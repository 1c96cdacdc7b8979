"""WARC records as they are read back: one body by its place, or a file record by record."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from typing import NamedTuple

READ_BYTES = 65_536
PIECE_BYTES = 1 << 20
HEAD_BYTES = 65_536
"""A record's own header section is a few hundred bytes; a longer one is damage."""

_END = b"\r\n\r\n"


class RecordDamagedError(Exception):
    """The bytes at a place are no whole WARC record; the text says what is wrong with them."""


class Record(NamedTuple):
    """Where a whole record lies in its file, and its WARC-Type. Threads: immutable."""

    offset: int
    end: int
    kind: str


class _RecordBytes:
    """The bytes of one record, unpacked as they are asked for.

    Threads: confined to its caller.
    """

    def __init__(self, fd: int, offset: int, packed: bool) -> None:
        self._fd = fd
        self._at = offset
        self._unpacker = zlib.decompressobj(31) if packed else None
        self._waiting = b""
        self._ready = bytearray()

    def head(self) -> dict[str, str]:
        """The WARC header fields, names in lower case."""
        while (end := self._ready.find(_END)) < 0:
            if len(self._ready) > HEAD_BYTES or not self._more():
                raise RecordDamagedError("there is no WARC record at this place")
        lines = bytes(self._ready[:end]).decode("utf-8", "replace").split("\r\n")
        del self._ready[: end + len(_END)]
        if not lines[0].startswith("WARC/"):
            raise RecordDamagedError("there is no WARC record at this place")
        pairs = (line.partition(":") for line in lines[1:])
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def pieces(self, length: int) -> Iterator[bytes]:
        """The next `length` bytes, in pieces of at most 1 MiB and a bit."""
        while length:
            if not self._ready and not self._more():
                raise RecordDamagedError(f"the record ends {length} bytes too early")
            piece = bytes(self._ready[:length])
            del self._ready[:length]
            length -= len(piece)
            yield piece

    def end(self) -> int:
        """Reads the empty lines behind the block; gives the offset behind the record.

        Raises RecordDamagedError when something else is there or gzip's check sum is wrong.
        """
        if b"".join(self.pieces(len(_END))) != _END:
            raise RecordDamagedError("the record is longer than it says")
        if self._unpacker is None:
            return self._at - len(self._ready)
        while not self._unpacker.eof and not self._ready:
            if not self._more():
                raise RecordDamagedError("the gzip member is cut off")
        if self._ready:
            raise RecordDamagedError("the record is longer than it says")
        return self._at - len(self._waiting)

    def _more(self) -> bool:
        """Gets at most 1 MiB more; says whether anything may have come."""
        if self._unpacker is None:
            got = os.pread(self._fd, READ_BYTES, self._at)
            self._at += len(got)
            self._ready += got
            return bool(got)
        if self._unpacker.eof:
            return False
        if not self._waiting:
            self._waiting = os.pread(self._fd, READ_BYTES, self._at)
            self._at += len(self._waiting)
        given = bool(self._waiting)
        try:
            got = self._unpacker.decompress(self._waiting, PIECE_BYTES)
        except zlib.error as error:
            raise RecordDamagedError(f"gzip: {error}") from error
        self._waiting = self._unpacker.unused_data or self._unpacker.unconsumed_tail
        self._ready += got
        return given or bool(got)


def response_body(fd: int, offset: int, *, packed: bool) -> bytes:
    """The body of the response record at `offset`; only that record is read.

    Raises RecordDamagedError when there is none, or it is not whole. The caller checks the digest.
    """
    record = _RecordBytes(fd, offset, packed)
    head = record.head()
    if head.get("warc-type") != "response":
        raise RecordDamagedError("the record is not a response")
    block = b"".join(record.pieces(_length(head)))
    record.end()
    http_head, end, body = block.partition(_END)
    if not end or not http_head.startswith(b"HTTP/"):
        raise RecordDamagedError("the record holds no HTTP response")
    return body


def scan(fd: int, offset: int, end: int, *, packed: bool) -> Iterator[Record]:
    """The records from `offset` to `end`, each read whole and its block digest checked.

    Raises RecordDamagedError at the first one that is not whole. Memory: 2 MiB.
    """
    while offset < end:
        record = _RecordBytes(fd, offset, packed)
        head = record.head()
        digest = hashlib.sha256()
        for piece in record.pieces(_length(head)):
            digest.update(piece)
        stated = head.get("warc-block-digest", "")
        if stated.startswith("sha256:") and stated != f"sha256:{digest.hexdigest()}":
            raise RecordDamagedError("the block's digest is wrong")
        behind = record.end()
        if behind > end:
            raise RecordDamagedError("the record reaches behind what the tables name")
        yield Record(offset, behind, head.get("warc-type", ""))
        offset = behind


def _length(head: dict[str, str]) -> int:
    text = head.get("content-length", "")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise RecordDamagedError("the record does not say how long it is")
    return int(text)
