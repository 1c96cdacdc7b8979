"""A request's head, parsed by hand: a general parser would cost more than the whole answer."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_HEAD_BYTES = 32_768

_HOST = re.compile(rb"(?i)\r\nhost:[ \t]*(\[[^\]\r\n]*\]|[^:\r\n \t]*)")
_CONNECTION = re.compile(rb"(?i)\r\nconnection:[ \t]*([^\r\n]*)")
_IF_NONE_MATCH = re.compile(rb"(?i)\r\nif-none-match:[ \t]*([^\r\n]*)")


class Request(NamedTuple):
    """One request. Threads: immutable."""

    method: str
    host: str
    """Lower case, without port; empty when the head names none."""
    path: str
    """The target as sent, query included; bytes beyond ASCII as Latin-1."""
    close: bool
    """The connection ends after the answer."""
    head: bytes
    """Everything before the empty line."""

    def if_none_match(self) -> str | None:
        """The If-None-Match field, or None."""
        if b"atch" not in self.head and b"ATCH" not in self.head:
            return None  # as for Connection: the search is dear
        found = _IF_NONE_MATCH.search(self.head)
        return None if found is None else found[1].decode("latin-1").strip()


def parse(head: bytes) -> Request | None:
    """The request behind a head (without its empty line); None when it is no HTTP/1 request."""
    line = head[: head.find(b"\r\n")] if b"\r\n" in head else head
    parts = line.split(b" ")
    if len(parts) != 3 or not parts[1] or not parts[2].startswith(b"HTTP/1."):
        return None
    found = _HOST.search(head)
    host = "" if found is None else found[1].decode("latin-1").lower()
    close = parts[2] == b"HTTP/1.0"
    # A look for four letters spares nearly every request the search without regard to case.
    if close or b"lose" in head or b"LOSE" in head:
        named = _CONNECTION.search(head)
        if named is not None:
            wish = named[1].lower()
            close = b"close" in wish or (close and b"keep-alive" not in wish)
    return Request(parts[0].decode("latin-1"), host, parts[1].decode("latin-1"), close, head)
