"""The value of table `urls`: bytes at fixed offsets, so that a look costs no decoding of the row.

::

    offset  bytes
         0      1  state (values.State)
         1      1  reason (tables.REASON_NUMBERS; 0: none)
         2      1  flags, see below
         3      1  level
         4      4  depth
         8      4  length of the text
        12      8  found_at (Unix seconds, float)
        20      n  text: key_url
         .     16  parent                                                    (flag PARENT)
         .     16  target                                                    (flag TARGET)
         .     34  attempts (4), hops (2), poisoned (2), status (2),
                   due_at, first_at, last_at (8 each)                        (flag TRIED)
         .      .  url, to the end, where it is not key_url                  (flag URL_DIFFERS)

A URL that was found on a page, spelled as its key and not yet tried takes 36 bytes and its text.
Text is UTF-8 in which lone surrogates are allowed: no text that Python can hold breaks a row.
"""

from __future__ import annotations

import struct

from mercator.errors import StoreVersionError
from mercator.ports import KeyTaken
from mercator.rows import Glance, UrlRow
from mercator.store.tables import REASON_NUMBERS
from mercator.values import Reason, State, UrlKey

IS_SEED = 1
SEED_BEGAN = 2
URL_DIFFERS = 4
PARENT = 8
TARGET = 16
TRIED = 32
_KNOWN_FLAGS = 63

_HEAD = struct.Struct(">BBBBIId")
_TRIED = struct.Struct(">IHHHddd")
_TEXT_AT = _HEAD.size
_KEY_BYTES = 16

_STATES: dict[int, State] = {state.value: state for state in State}
_REASONS: dict[int, Reason | None] = {0: None, **{n: r for r, n in REASON_NUMBERS.items()}}
_NUMBER_OF: dict[Reason | None, int] = {reason: number for number, reason in _REASONS.items()}


def encode_url_row(row: UrlRow) -> bytes:
    """The row's bytes. Raises struct.error for a number that does not fit its field, ValueError for a
    parent or target that has neither 0 nor 16 bytes."""
    # fmt: off
    (state, url, key_url, reason, level, depth, attempts, hops, is_seed, seed_began, poisoned,
     status, parent, target, found_at, due_at, first_at, last_at) = row
    # fmt: on
    flags = (IS_SEED if is_seed else 0) | (SEED_BEGAN if seed_began else 0)
    text = key_url.encode("utf-8", "surrogatepass")
    tail = b""
    if parent or target:
        if len(parent) not in (0, _KEY_BYTES) or len(target) not in (0, _KEY_BYTES):
            raise ValueError("a URL key has 16 bytes")
        flags |= (PARENT if parent else 0) | (TARGET if target else 0)
        tail = parent + target
    if attempts or hops or poisoned or status or due_at or first_at or last_at:
        flags |= TRIED
        tail += _TRIED.pack(attempts, hops, poisoned, status, due_at, first_at, last_at)
    if url != key_url:
        flags |= URL_DIFFERS
        tail += url.encode("utf-8", "surrogatepass")
    head = _HEAD.pack(state, _NUMBER_OF[reason], flags, level, depth, len(text), found_at)
    return head + text + tail


def decode_url_row(value: bytes) -> UrlRow:
    """The row. Raises StoreVersionError for flags of a later version, and ValueError, KeyError or
    struct.error for bytes that are no row."""
    state, reason, flags, level, depth, text_bytes, found_at = _HEAD.unpack_from(value)
    if flags > _KNOWN_FLAGS:
        raise StoreVersionError(
            "a row of table urls has parts that this version does not know; "
            "open the store with the Mercator that wrote it, or a later one"
        )
    at = _TEXT_AT + text_bytes
    text = value[_TEXT_AT:at].decode("utf-8", "surrogatepass")
    parent = target = b""
    if flags & PARENT:
        parent = value[at : at + _KEY_BYTES]
        at += _KEY_BYTES
    if flags & TARGET:
        target = value[at : at + _KEY_BYTES]
        at += _KEY_BYTES
    attempts = hops = poisoned = status = 0
    due_at = first_at = last_at = 0.0
    if flags & TRIED:
        attempts, hops, poisoned, status, due_at, first_at, last_at = _TRIED.unpack_from(value, at)
        at += _TRIED.size
    url = text
    if flags & URL_DIFFERS and at <= len(value):
        url = value[at:].decode("utf-8", "surrogatepass")
    elif at != len(value):
        raise ValueError("the row is shorter or longer than its parts")
    return UrlRow(
        state=_STATES[state],
        url=url,
        key_url=text,
        reason=_REASONS[reason],
        level=level,
        depth=depth,
        attempts=attempts,
        hops=hops,
        is_seed=bool(flags & IS_SEED),
        seed_began=bool(flags & SEED_BEGAN),
        poisoned=poisoned,
        status=status,
        parent=UrlKey(parent),
        target=UrlKey(target),
        found_at=found_at,
        due_at=due_at,
        first_at=first_at,
        last_at=last_at,
    )


def glance_url_row(value: bytes, key_url: str) -> Glance:
    """State, reason and depth of the row, if it is `key_url`'s.

    Raises KeyTaken when the row is another URL's. "" fits a row without key_url and no other.
    """
    state, reason, _flags, _level, depth, text_bytes, _found_at = _HEAD.unpack_from(value)
    if value[_TEXT_AT : _TEXT_AT + text_bytes] != key_url.encode("utf-8", "surrogatepass"):
        raise KeyTaken
    return Glance(_STATES[state], _REASONS[reason], depth)
