"""The typed tables of `ports.Txn` over any ordered key-value transaction of bytes.

Both adapters hand their own `RawTxn` in, so that they cannot differ in anything but where the bytes
are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from mercator import ports
from mercator.errors import StoreDamagedError
from mercator.rows import (
    ContentRow,
    DeadRow,
    Glance,
    HostRow,
    LinkRow,
    PageRow,
    QueueKey,
    RobotsRow,
    UrlRow,
    VisitRow,
)
from mercator.store.codec import CODECS, DECODE_ERRORS, RowCodec
from mercator.store.url_codec import glance_url_row
from mercator.values import HostId, UrlKey

K = TypeVar("K")
V = TypeVar("V")


class RawTxn(Protocol):
    """What the typed tables need of a transaction. `get`, `put` and `delete` have the signatures of
    lmdb's own, so that its C methods are called without a Python frame between.

    `table` is the adapter's handle. Keys of 0 or more than 511 bytes are refused by both adapters.
    """

    def get(self, key: bytes, default: None, table: Any, /) -> bytes | None:
        """The value or None."""

    def put(
        self, key: bytes, value: bytes, dupdata: bool, overwrite: bool, append: bool, table: Any, /
    ) -> bool:
        """Writes; without `overwrite` only where the key is free. Says whether it did."""

    def delete(self, key: bytes, value: bytes, table: Any, /) -> bool:
        """Removes; says whether there was something. `value` is b""."""

    def count(self, table: Any, /) -> int:
        """Number of rows."""

    def scan(self, table: Any, start: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values in order, from the first key that is not below `start`."""


class TypedTable(Generic[K, V]):
    """One table of a transaction. Threads: confined to the thread that began the transaction."""

    __slots__ = ("_codec", "_decode", "_encode", "_get", "_handle", "_key", "_name", "_put", "_raw")

    def __init__(self, name: str, raw: RawTxn, handle: Any, codec: RowCodec[K, V]) -> None:
        self._name = name
        self._raw = raw
        self._handle = handle
        self._codec = codec
        self._get = raw.get
        self._put = raw.put
        self._key = codec.encode_key
        self._encode = codec.encode
        self._decode = codec.decode

    def get(self, key: K) -> V | None:
        """The row, or None. Raises StoreDamagedError when its bytes are no such row."""
        raw_key = self._key(key)
        value = self._get(raw_key, None, self._handle)
        if value is None:
            return None
        try:
            return self._decode(value)
        except DECODE_ERRORS as error:
            raise self._damaged(raw_key, error) from error

    def put(self, key: K, row: V) -> None:
        """Writes the row, replacing an older one."""
        self._put(self._key(key), self._encode(row), True, True, False, self._handle)

    def put_new(self, key: K, row: V) -> bool:
        """Writes the row if the key is free; says whether it did."""
        return self._put(self._key(key), self._encode(row), True, False, False, self._handle)

    def delete(self, key: K) -> bool:
        """Removes the row; says whether there was one."""
        return self._raw.delete(self._key(key), b"", self._handle)

    def count(self) -> int:
        """Number of rows, O(1)."""
        return self._raw.count(self._handle)

    def scan(self, *, prefix: bytes = b"", after: K | None = None) -> Iterator[tuple[K, V]]:
        """Rows in key order whose encoded key starts with `prefix`, behind `after` where given.

        Raises StoreDamagedError at a row whose bytes are no such row.
        """
        last = b"" if after is None else self._key(after)
        decode_key, decode = self._codec.decode_key, self._decode
        for raw_key, value in self._raw.scan(self._handle, max(prefix, last)):
            if not raw_key.startswith(prefix):
                return
            if raw_key == last:
                continue
            try:
                item = decode_key(raw_key), decode(value)
            except DECODE_ERRORS as error:
                raise self._damaged(raw_key, error) from error
            yield item

    def _damaged(self, raw_key: bytes, error: Exception) -> StoreDamagedError:
        return StoreDamagedError(
            f"the row {raw_key.hex()} of table {self._name} cannot be read "
            f"({type(error).__name__}: {error}); run `check --repair` on the store"
        )


class TypedUrlTable(TypedTable[UrlKey, UrlRow]):
    """Table `urls`. Threads: confined to the thread that began the transaction."""

    __slots__ = ()

    def glance(self, key: UrlKey, key_url: str) -> Glance | None:
        """State, reason and depth under `key`, or None when the key is free.

        Raises KeyTaken when the row is another URL's. `key_url` "" fits a row that has none.
        """
        value = self._get(key, None, self._handle)
        if value is None:
            return None
        try:
            return glance_url_row(value, key_url)
        except DECODE_ERRORS as error:
            raise self._damaged(key, error) from error


class TypedTxn:
    """`ports.Txn`. A table's view is made when it is first asked for: most transactions need two or
    three of the thirteen.

    Threads: confined to the thread that began the transaction.
    """

    __slots__ = ("_handles", "_raw", *CODECS)

    urls: ports.UrlTable
    front: ports.Table[QueueKey, UrlKey]
    back: ports.Table[QueueKey, UrlKey]
    delayed: ports.Table[QueueKey, UrlKey]
    pins: ports.Table[HostId, bytes]
    hosts: ports.Table[HostId, HostRow]
    pages: ports.Table[UrlKey, PageRow]
    content: ports.Table[bytes, ContentRow]
    links: ports.Table[UrlKey, tuple[LinkRow, ...]]
    robots: ports.Table[str, RobotsRow]
    visits: ports.Table[int, VisitRow]
    dead: ports.Table[UrlKey, DeadRow]
    meta: ports.Table[str, object]

    def __init__(self, raw: RawTxn, handles: Mapping[str, Any]) -> None:
        self._raw = raw
        self._handles = handles

    def __getattr__(self, name: str) -> TypedTable[Any, Any]:
        """Called for a slot that is still empty."""
        codec = CODECS.get(name)
        if codec is None:
            raise AttributeError(f"there is no table {name!r}")
        view_type = TypedUrlTable if name == "urls" else TypedTable
        view = view_type(name, self._raw, self._handles[name], codec)
        setattr(self, name, view)
        return view
