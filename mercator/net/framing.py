"""Where a body ends on the wire (RFC 9112, 6): by length, by chunks, or with the connection."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from mercator.net.faults import AnswerError
from mercator.values import FailureKind

if TYPE_CHECKING:
    from mercator.net.answer import Head
    from mercator.net.connection import Connection

_CHUNK_LINE_BYTES = 4096
_TRAILER_BYTES = 16_384
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")


class Source(Protocol):
    """Bytes to be pulled. Threads: one at a time."""

    def read(self, size: int) -> bytes:
        """At least one byte, about `size` at most; b"" at the end, and from then on.

        Raises AnswerError, OSError.
        """


class WireBody(Source, Protocol):
    """A body on the wire, chunks undone, codings not. Threads: one at a time."""

    reusable: bool
    """The body was read to its end and left the connection ready for another answer."""


class NoBody:
    """The body of an answer that has none. Threads: immutable."""

    reusable = True

    def read(self, size: int) -> bytes:
        """Nothing."""
        return b""


class LengthBody:
    """A body of the length that Content-Length says. Threads: one at a time."""

    def __init__(self, connection: Connection, length: int) -> None:
        self._connection = connection
        self._length = length
        self._left = length
        self.reusable = length == 0

    def read(self, size: int) -> bytes:
        """Up to `size` bytes. Raises AnswerError (INCOMPLETE_BODY) when the body is short."""
        if self._left == 0:
            return b""
        piece = self._connection.take(min(size, self._left))
        if not piece:
            raise AnswerError(
                FailureKind.INCOMPLETE_BODY,
                f"the connection ended {self._left} bytes before Content-Length {self._length}",
            )
        self._left -= len(piece)
        self.reusable = self._left == 0
        return piece


class ChunkedBody:
    """A body in chunks (RFC 9112, 7.1); extensions and trailer fields are read and dropped.

    Threads: one at a time.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._left = 0
        self._inside = False
        self._ended = False
        self.reusable = False

    def read(self, size: int) -> bytes:
        """Up to `size` bytes of a chunk. Raises AnswerError (INCOMPLETE_BODY)."""
        if self._ended:
            return b""
        if self._left == 0:
            self._left = self._next_size()
            if self._left == 0:
                self._ended = True
                self._pass_trailer()
                return b""
            self._inside = True
        piece = self._connection.take(min(size, self._left))
        if not piece:
            raise AnswerError(FailureKind.INCOMPLETE_BODY, "the connection ended inside a chunk")
        self._left -= len(piece)
        return piece

    def _next_size(self) -> int:
        if self._inside and self._line() != b"":
            raise AnswerError(FailureKind.INCOMPLETE_BODY, "a chunk is longer than its size")
        line = self._line()
        match = _CHUNK_SIZE.fullmatch(line)
        if match is None:
            raise AnswerError(FailureKind.INCOMPLETE_BODY, f"no chunk size: {line[:40]!r}")
        return int(match[1], 16)

    def _line(self) -> bytes:
        line = self._connection.take_line(_CHUNK_LINE_BYTES)
        if line is None:
            raise AnswerError(FailureKind.INCOMPLETE_BODY, "no end of a line between chunks")
        return line

    def _pass_trailer(self) -> None:
        """The body is whole; what follows only decides whether the connection can go on."""
        left = _TRAILER_BYTES
        while left > 0:
            line = self._connection.take_line(left)
            if line is None:
                return
            if line == b"":
                self.reusable = True
                return
            left -= len(line) + 2


class UntilClosedBody:
    """A body that ends with the connection, as HTTP/1.0 had it. Threads: one at a time."""

    reusable = False

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ended = False

    def read(self, size: int) -> bytes:
        """Up to `size` bytes."""
        if self._ended:
            return b""
        piece = self._connection.take(size)
        self._ended = not piece
        return piece


def framed(connection: Connection, head: Head) -> tuple[WireBody, list[str]]:
    """The body of the answer to a GET, and the transfer codings to undo, in the order applied.

    A Content-Length that is no number is as good as none: the body ends with the connection.
    Raises AnswerError (PROTOCOL_ERROR) when lengths contradict each other (RFC 9112, 6.3).
    """
    if head.status in (204, 304):
        return NoBody(), []
    codings = [coding for coding in head.tokens("transfer-encoding") if coding != "identity"]
    if codings:
        if codings[-1] == "chunked":
            return ChunkedBody(connection), codings[:-1]
        return UntilClosedBody(connection), codings
    lengths = set(head.tokens("content-length"))
    if len(lengths) > 1:
        raise AnswerError(
            FailureKind.PROTOCOL_ERROR, f"Content-Length given as {' and '.join(sorted(lengths))}"
        )
    for length in lengths:
        if length.isascii() and length.isdigit() and len(length) <= 18:
            return LengthBody(connection, int(length)), []
    return UntilClosedBody(connection), []
