"""Bytes <-> keys and rows, table by table; the layouts in words are in `tables.py`.

Rows are msgpack lists of their fields, but for `urls` (`url_codec.py`). Decoders raise one of
DECODE_ERRORS for bytes that are no such row, and StoreVersionError for a row with more fields than
this version knows.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Generic, NamedTuple, TypeVar

from msgpack import Packer, unpackb

from mercator.errors import StoreVersionError
from mercator.rows import (
    ContentRow,
    DeadRow,
    HostRow,
    LinkRow,
    PageRow,
    QueueKey,
    RobotsRow,
    UrlRow,
    VisitRow,
)
from mercator.store.tables import (
    BACK_PREFIX_BYTES,
    DELAYED_PREFIX_BYTES,
    FRONT_PREFIX_BYTES,
    REASON_NUMBERS,
)
from mercator.store.url_codec import decode_url_row, encode_url_row
from mercator.values import FailureKind, HostId, Kind, Reason, UrlKey

DECODE_ERRORS = (ValueError, TypeError, KeyError, IndexError, struct.error)
"""What a decoder raises for damaged bytes; msgpack's own errors are ValueErrors."""

K = TypeVar("K")
V = TypeVar("V")
Row = TypeVar("Row", bound=NamedTuple)

_ORIGIN_TEXT_BYTES = 400
_HASHED = "sha256:"
_REASONS: dict[int, Reason] = {number: reason for reason, number in REASON_NUMBERS.items()}


@dataclass(frozen=True, slots=True)
class RowCodec(Generic[K, V]):
    """How one table's keys and rows become bytes and come back.

    Threads: immutable; the functions keep nothing between calls.
    """

    encode_key: Callable[[K], bytes]
    decode_key: Callable[[bytes], K]
    encode: Callable[[V], bytes]
    decode: Callable[[bytes], V]


def pack(value: object) -> bytes:
    """Plain values as msgpack. Raises TypeError, ValueError or OverflowError for what has no form.

    A Packer of its own for each call: a shared one is not safe between threads, and making it costs
    a tenth of a microsecond.
    """
    packed: bytes = Packer(unicode_errors="surrogatepass").pack(value)
    return packed


def unpack(value: bytes) -> Any:
    """The plain value; tuples come back as lists."""
    return unpackb(value, unicode_errors="surrogatepass", strict_map_key=False)


def fill(row_type: Callable[..., Row], known: int, fields: list[Any]) -> Row:
    """A row from its stored fields; those that were appended later get their defaults.

    Raises StoreVersionError for more fields than `known`, TypeError for too few.
    """
    if len(fields) > known:
        raise StoreVersionError(
            f"a row has {len(fields)} fields where this version knows {known}; "
            f"open the store with the Mercator that wrote it, or a later one"
        )
    return row_type(*fields)


# -- keys -----------------------------------------------------------------------------------------


def _same(key: Any) -> Any:
    return key


def _queue_key(
    prefix_bytes: int,
) -> tuple[Callable[[QueueKey], bytes], Callable[[bytes], QueueKey]]:
    def encode(key: QueueKey) -> bytes:
        prefix, sequence = key
        # A prefix of another length would sort among its neighbours' sequences without a sign.
        if len(prefix) != prefix_bytes:
            raise ValueError(f"the prefix has {len(prefix)} bytes, not {prefix_bytes}")
        return prefix + sequence.to_bytes(8, "big")

    def decode(raw: bytes) -> QueueKey:
        return QueueKey(raw[:prefix_bytes], int.from_bytes(raw[prefix_bytes:], "big"))

    return encode, decode


def _encode_sequence(key: int) -> bytes:
    return key.to_bytes(8, "big")


def _decode_sequence(raw: bytes) -> int:
    return int.from_bytes(raw, "big")


def _encode_text(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")


def _decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _encode_origin(key: str) -> bytes:
    """An origin's key. A host name without end would not fit LMDB's 511 bytes, so long ones are
    hashed behind a byte that UTF-8 does not have; a scan names those "sha256:HEX"."""
    raw = _encode_text(key)
    if len(raw) > _ORIGIN_TEXT_BYTES:
        return b"\xff" + sha256(raw).digest()
    if key.startswith(_HASHED):
        return b"\xff" + bytes.fromhex(key[len(_HASHED) :])
    return raw


def _decode_origin(raw: bytes) -> str:
    return _HASHED + raw[1:].hex() if raw[0] == 0xFF else _decode_text(raw)


# -- rows -----------------------------------------------------------------------------------------


def _decode_host(value: bytes) -> HostRow:
    row = fill(HostRow, len(HostRow._fields), unpack(value))
    kind = row.unreachable_kind
    return row._replace(
        unreachable_kind=None if kind is None else FailureKind(kind), addresses=tuple(row.addresses)
    )


def _decode_page(value: bytes) -> PageRow:
    return fill(PageRow, len(PageRow._fields), unpack(value))


def _decode_content(value: bytes) -> ContentRow:
    return fill(ContentRow, len(ContentRow._fields), unpack(value))


def _decode_robots(value: bytes) -> RobotsRow:
    return fill(RobotsRow, len(RobotsRow._fields), unpack(value))


def _decode_links(value: bytes) -> tuple[LinkRow, ...]:
    known = len(LinkRow._fields)
    return tuple([fill(LinkRow, known, fields) for fields in unpack(value)])


def _decode_visit(value: bytes) -> VisitRow:
    fields = unpack(value)
    fields[2] = Kind(fields[2])
    return fill(VisitRow, len(VisitRow._fields), fields)


def _encode_dead(row: DeadRow) -> bytes:
    return pack((REASON_NUMBERS[row.reason], *row[1:]))


def _decode_dead(value: bytes) -> DeadRow:
    fields = unpack(value)
    fields[0] = _REASONS[fields[0]]
    return fill(DeadRow, len(DeadRow._fields), fields)


URLS: RowCodec[UrlKey, UrlRow] = RowCodec(_same, _same, encode_url_row, decode_url_row)
FRONT: RowCodec[QueueKey, UrlKey] = RowCodec(*_queue_key(FRONT_PREFIX_BYTES), _same, _same)
BACK: RowCodec[QueueKey, UrlKey] = RowCodec(*_queue_key(BACK_PREFIX_BYTES), _same, _same)
DELAYED: RowCodec[QueueKey, UrlKey] = RowCodec(*_queue_key(DELAYED_PREFIX_BYTES), _same, _same)
PINS: RowCodec[HostId, bytes] = RowCodec(_same, _same, _same, _same)
HOSTS: RowCodec[HostId, HostRow] = RowCodec(_same, _same, pack, _decode_host)
PAGES: RowCodec[UrlKey, PageRow] = RowCodec(_same, _same, pack, _decode_page)
CONTENT: RowCodec[bytes, ContentRow] = RowCodec(_same, _same, pack, _decode_content)
LINKS: RowCodec[UrlKey, tuple[LinkRow, ...]] = RowCodec(_same, _same, pack, _decode_links)
ROBOTS: RowCodec[str, RobotsRow] = RowCodec(_encode_origin, _decode_origin, pack, _decode_robots)
VISITS: RowCodec[int, VisitRow] = RowCodec(_encode_sequence, _decode_sequence, pack, _decode_visit)
DEAD: RowCodec[UrlKey, DeadRow] = RowCodec(_same, _same, _encode_dead, _decode_dead)
META: RowCodec[str, object] = RowCodec(_encode_text, _decode_text, pack, unpack)

CODECS: dict[str, RowCodec[Any, Any]] = {
    "meta": META,
    "urls": URLS,
    "front": FRONT,
    "back": BACK,
    "delayed": DELAYED,
    "pins": PINS,
    "hosts": HOSTS,
    "pages": PAGES,
    "content": CONTENT,
    "links": LINKS,
    "robots": ROBOTS,
    "visits": VISITS,
    "dead": DEAD,
}
"""By table name; a test holds it to `tables.TABLES` and to the attributes of `ports.Txn`."""
