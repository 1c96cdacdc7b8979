"""The map of the disk: every table with its key and its value in words, and all frozen numbers.

One LMDB environment a shard (`DIR/shards/0000`), one named database a table. Keys sort as bytes.
All integers and floats are big-endian. Key parts have a fixed length, so no separator is needed.

**How the format may change.** Within one FORMAT_VERSION fields are only ever appended to a row,
with a default in `rows.py`: a shorter row that is read gets the defaults. A program that meets a
longer row than it knows refuses it (StoreVersionError), because writing it back would lose the
field. Any other change counts FORMAT_VERSION up and says in READABLE_WITH which Mercator reads it.
"""

from __future__ import annotations

from typing import NamedTuple

from mercator.errors import StoreVersionError
from mercator.values import Reason

FORMAT_VERSION = 1
"""Of the tables and of `store.json`; stored in both."""

READABLE_WITH: dict[int, str] = {1: "0.1"}
"""Format version -> first Mercator that reads it, for the text of StoreVersionError."""

FORMAT_KEY = "format_version"
"""The row of `meta` that holds the version of the tables."""

KEY_MAX_BYTES = 511
"""LMDB's compiled-in limit; a key has 1 to 511 bytes."""

FRONT_PREFIX_BYTES = 1
BACK_PREFIX_BYTES = 6
DELAYED_PREFIX_BYTES = 8


class TableMap(NamedTuple):
    """One table in words. Threads: immutable."""

    name: str
    key: str
    value: str
    note: str


TABLES: tuple[TableMap, ...] = (
    TableMap(
        "meta",
        "name, UTF-8",
        "msgpack of None, bool, int, float, str, bytes, list, dict",
        "format version, shard i of n, counters, next numbers, settings, position of the WARC",
    ),
    TableMap(
        "urls",
        "url_key: 6 bytes of the host, 10 of the URL",
        "UrlRow, bytes at fixed offsets (url_codec.py)",
        "this is the seen set; the URLs of one host lie together",
    ),
    TableMap(
        "front",
        "level (1 byte), sequence (8)",
        "url_key",
        "front queues: FIFO of each level",
    ),
    TableMap(
        "back",
        "host_id (6 bytes), sequence (8)",
        "url_key",
        "back queues: FIFO of each host",
    ),
    TableMap(
        "delayed",
        "due time (8 bytes: unsigned Unix microseconds), sequence (8)",
        "url_key",
        "retries and revisits, earliest first",
    ),
    TableMap(
        "pins",
        "host_id",
        "nothing (0 bytes)",
        "the router's host table: the hosts that have a back queue; a table of its own so that "
        "opening reads the pinned hosts only, not all",
    ),
    TableMap("hosts", "host_id", "msgpack of HostRow", "a host's clock and counters"),
    TableMap("pages", "url_key", "msgpack of PageRow", "one row a stored page"),
    TableMap(
        "content",
        "SHA-256 of the decompressed body (32 bytes)",
        "msgpack of ContentRow",
        "the content-seen test: who had the body first, where it lies",
    ),
    TableMap(
        "links",
        "url_key of the page",
        "msgpack of a list of LinkRow",
        "adjacency list, in document order",
    ),
    TableMap(
        "robots",
        "asking origin, UTF-8; longer than 400 bytes: 0xff and its SHA-256",
        "msgpack of RobotsRow",
        "the verdict in force and the last good copy",
    ),
    TableMap("visits", "sequence (8 bytes)", "msgpack of VisitRow", "the politeness ledger"),
    TableMap("dead", "url_key", "msgpack of DeadRow", "every URL that has a reason"),
)
"""A row "as msgpack" is the list of its fields in the order of `rows.py`: enums of text as their
text, a Reason as its number, nested rows as lists."""

REASON_NUMBERS: dict[Reason, int] = {
    Reason.INVALID_URL: 1,
    Reason.UNSUPPORTED_SCHEME: 2,
    Reason.OUT_OF_SCOPE: 3,
    Reason.URL_TOO_LONG: 4,
    Reason.TOO_DEEP: 5,
    Reason.PATH_TRAP: 6,
    Reason.QUERY_TRAP: 7,
    Reason.TEMPLATE_PARKED: 8,
    Reason.HOST_BUDGET: 9,
    Reason.DOMAIN_BUDGET: 10,
    Reason.PREFIX_BUDGET: 11,
    Reason.NOFOLLOW: 12,
    Reason.ROBOTS_REFUSED: 13,
    Reason.GONE: 14,
    Reason.DNS_FAILED: 15,
    Reason.ADDRESS_REFUSED: 16,
    Reason.CONNECT_FAILED: 17,
    Reason.TLS_FAILED: 18,
    Reason.TIMEOUT: 19,
    Reason.PROTOCOL_ERROR: 20,
    Reason.BODY_BROKEN: 21,
    Reason.DECODE_FAILED: 22,
    Reason.TOO_MANY_REDIRECTS: 23,
    Reason.REDIRECT_LOOP: 24,
    Reason.HTTP_ERROR: 25,
    Reason.BLOCKED_BY_HOST: 26,
    Reason.TYPE_NOT_WANTED: 27,
    Reason.ROBOTS_UNKNOWN: 28,
    Reason.POISON: 29,
}
"""Part of the disk format: never renumber; a new reason takes the next number. 0 means none.
The numbers of `State` are in `values.py` and frozen likewise."""


def version_error(where: object, version: object) -> StoreVersionError:
    """The error for a store (or tables) at `where` that was written with another format version."""
    reader = READABLE_WITH.get(version) if isinstance(version, int) else None
    with_what = f"Mercator {reader} or later" if reader else "the Mercator that wrote it"
    return StoreVersionError(
        f"{where} has format version {version!r} and this program reads {FORMAT_VERSION}; "
        f"open it with {with_what}; nothing was written"
    )
