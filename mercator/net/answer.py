"""The head of an answer: status line and header fields (RFC 9112), read leniently but bounded.

Read here and not by http.client, because that reader stops at the first line that is no field (and
then misses Content-Length and waits for the deadline), takes 103 for the final answer, knows one
spelling of `chunked` only, and costs more than all the rest of a fetch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mercator.net.faults import AnswerError
from mercator.values import FailureKind

if TYPE_CHECKING:
    from mercator.net.connection import Connection

MAX_HEAD_BYTES = 131_072
MAX_HEADERS = 500
_MAX_INTERIM = 8

_STATUS_LINE = re.compile(r"(HTTP/1\.\d)[ \t]+(\d{3})(?:[ \t]+(.*))?")
_BLANKS = " \t"
_LOOKED_AT = frozenset(
    {"connection", "content-encoding", "content-length", "content-type", "transfer-encoding"}
)


class Head(NamedTuple):
    """A parsed head. `headers` as received (latin-1, in order, duplicates kept, folds undone).

    `fields` holds those that the fetcher itself looks at, by lower-case name, each with all its
    values in order.
    Threads: immutable.
    """

    http_version: str
    status: int
    status_text: str
    headers: tuple[tuple[str, str], ...]
    fields: dict[str, list[str]]

    def tokens(self, name: str) -> list[str]:
        """The comma-separated members of a field of `fields`, in lower case, no empty ones."""
        values = self.fields.get(name)
        if values is None:
            return []
        members = (part.strip(_BLANKS).lower() for value in values for part in value.split(","))
        return [member for member in members if member]

    def essence(self) -> str:
        """The media type in lower case without parameters; "" when there is none or it is none.

        Of several Content-Type fields the last counts (WHATWG Fetch, "extract a MIME type").
        """
        values = self.fields.get("content-type")
        if values is None:
            return ""
        essence = values[-1].partition(";")[0].strip(_BLANKS).lower()
        return essence if "/" in essence else ""

    def keeps_alive(self) -> bool:
        """Whether the server will take another request on the connection (RFC 9112, 9.3).

        Not when both kinds of framing are given: one of the two has been smuggled in (6.1).
        """
        if "transfer-encoding" in self.fields and "content-length" in self.fields:
            return False
        options = self.tokens("connection")
        if self.http_version == "HTTP/1.0":
            return "keep-alive" in options and "close" not in options
        return "close" not in options


def read_head(connection: Connection) -> Head:
    """The final answer's head; interim answers (1xx) before it are passed over.

    Raises AnswerError (HEADERS_TOO_LARGE, PROTOCOL_ERROR, CONNECTION_RESET), OSError.
    """
    for _ in range(_MAX_INTERIM + 1):
        head = parse_head(connection.take_head(MAX_HEAD_BYTES))
        if head.status >= 200:
            return head
        if head.status == 101:
            raise AnswerError(
                FailureKind.PROTOCOL_ERROR, "the server changes to a protocol that nobody asked for"
            )
    raise AnswerError(FailureKind.PROTOCOL_ERROR, f"more than {_MAX_INTERIM} interim answers")


def parse_head(block: bytes) -> Head:
    """The head in `block`, which ends with its empty line; lines end with CRLF or LF.

    A line that is no field is passed over; a folded value is joined with a space (RFC 9112, 5.2);
    CR and NUL inside a value become spaces (RFC 9110, 5.5), so that no record made of it can be
    broken up. Raises AnswerError (PROTOCOL_ERROR, HEADERS_TOO_LARGE).
    """
    text = block.decode("latin-1").replace("\r\n", "\n")
    if "\r" in text or "\0" in text:
        text = text.replace("\r", " ").replace("\0", " ")
    lines = text.split("\n")
    match = _STATUS_LINE.fullmatch(lines[0])
    if match is None or match[2] < "100":
        raise AnswerError(FailureKind.PROTOCOL_ERROR, f"no status line of HTTP/1: {lines[0]!r}")
    if len(lines) > MAX_HEADERS:
        raise AnswerError(FailureKind.HEADERS_TOO_LARGE, f"more than {MAX_HEADERS} header fields")
    headers: list[tuple[str, str]] = []
    for line in lines[1:]:
        if line[:1] in _BLANKS:
            if line and headers:
                name, value = headers[-1]
                headers[-1] = (name, f"{value} {line.strip(_BLANKS)}".strip(_BLANKS))
            continue
        name, colon, value = line.partition(":")
        name = name.rstrip(_BLANKS)
        if colon and name:
            headers.append((name, value.strip(_BLANKS)))
    fields: dict[str, list[str]] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in _LOOKED_AT:
            fields.setdefault(lower, []).append(value)
    return Head(match[1], int(match[2]), (match[3] or "").strip(_BLANKS), tuple(headers), fields)
