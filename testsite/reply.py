"""What the server is told to send: a status for the log, and steps.

A step is bytes, a `Wait`, or an `End`. An ordinary answer is one step of bytes, made once and
kept; an odd one is an iterator, asked for its next step only when the last one has been written, so
that a body without end costs no memory.
"""

from __future__ import annotations

import enum
import zlib
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import NamedTuple

LAST_MODIFIED = "Wed, 01 Jan 2025 00:00:00 GMT"
HTML = "text/html; charset=utf-8"
_HEAD_BYTES = 512


class Wait(NamedTuple):
    """Nothing is sent for so long. Threads: immutable."""

    seconds: float


class End(enum.Enum):
    """How an answer ends otherwise than by going on with the next request."""

    CLOSE = "close"
    """The connection is closed in good order (FIN)."""
    RESET = "reset"
    """The connection is torn down (RST)."""
    HANG = "hang"
    """Nothing more is sent until the client goes away."""


Step = bytes | Wait | End


class Reply(NamedTuple):
    """An answer. Threads: immutable, except that an iterator of steps can be used once."""

    status: int
    """As logged; 0 where no status line is sent."""
    steps: bytes | Iterator[Step]


def head(status: int, *fields: tuple[str, str]) -> bytes:
    """A status line and header fields, with the empty line behind them."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "Server: testsite"]
    lines += [f"{name}: {value}" for name, value in fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def whole(
    status: int, body: bytes, *fields: tuple[str, str], content_type: str | None = HTML
) -> Reply:
    """An ordinary answer with its length, in one step. `content_type` None leaves the field out."""
    typed = () if content_type is None else (("Content-Type", content_type),)
    sized = ("Content-Length", str(len(body)))
    return Reply(status, head(status, *typed, sized, *fields) + body)


def page(html: str) -> Reply:
    """A 200 with HTML, an ETag of its bytes and a fixed Last-Modified."""
    body = html.encode()
    tag = f'"{zlib.crc32(body):08x}-{len(body):x}"'
    return whole(200, body, ("ETag", tag), ("Last-Modified", LAST_MODIFIED))


def not_modified(etag: str) -> Reply:
    """A 304 for a page whose ETag the client has."""
    return Reply(304, head(304, ("ETag", etag), ("Last-Modified", LAST_MODIFIED)))


def has_etag(reply: Reply, etag: str) -> bool:
    """Whether the answer's ETag is that one (RFC 9110, 13.1.2; one tag, weak or strong)."""
    if not isinstance(reply.steps, bytes):
        return False
    field = f"\r\nETag: {etag.removeprefix('W/')}\r\n".encode("latin-1")
    return field in reply.steps[:_HEAD_BYTES]


def redirect(location: str | None) -> Reply:
    """A 302; without a Location field when that is None."""
    fields = () if location is None else (("Location", location),)
    return whole(302, b"<!DOCTYPE html><title>Moved</title>\n<p>Moved.</p>\n", *fields)


def odd(status: int, steps: Iterable[Step]) -> Reply:
    """An answer in several steps."""
    return Reply(status, iter(steps))


def not_found() -> Reply:
    """The 404 of every unknown path."""
    return whole(404, b"<!DOCTYPE html><title>Not found</title>\n<p>Not found.</p>\n")
