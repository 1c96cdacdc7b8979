"""A record is whole or it is not: what the reader takes for damage."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mercator.store.warc import capture
from mercator.store.warc_reader import HEAD_BYTES, Record, RecordDamagedError, response_body, scan
from tests.unit.store.results import fetch_result

Opened = Callable[[bytes], int]
BLOCK = b"HTTP/1.1 200 OK\r\n\r\nbody"
END = b"\r\n\r\n"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """A file with the given content, opened for reading."""
    fds: list[int] = []

    def open_(content: bytes) -> int:
        path = tmp_path / str(len(fds))
        path.write_bytes(content)
        fds.append(os.open(path, os.O_RDONLY))
        return fds[-1]

    yield open_
    for fd in fds:
        os.close(fd)


def record(length: object = len(BLOCK), kind: str = "response", block: bytes = BLOCK) -> bytes:
    """A record without digests, with whatever length it claims."""
    head = f"WARC/1.1\r\nWARC-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    return head.encode() + block + END


def packed(content: bytes) -> bytes:
    """The content as a gzip member."""
    return zlib.compress(content, 1, 31)


def both(content: bytes) -> list[tuple[bytes, bool]]:
    """The content as it is, and packed."""
    return [(content, False), (packed(content), True)]


@pytest.mark.parametrize(("content", "is_packed"), both(record()))
def test_a_whole_record(opened: Opened, content: bytes, is_packed: bool) -> None:
    fd = opened(b"before" + content + b"behind")
    assert response_body(fd, 6, packed=is_packed) == b"body"


@pytest.mark.parametrize(
    ("content", "is_packed", "why"),
    [
        *((c, p, "longer than it says") for c, p in both(record(len(BLOCK) - 1))),
        *((c, p, "ends") for c, p in both(record(len(BLOCK) + 9))),
        *((c, p, "how long") for c, p in both(record(-1))),
        *((c, p, "how long") for c, p in both(record(""))),
        *((c, p, "how long") for c, p in both(record("9" * 30))),
        *((c, p, "how long") for c, p in both(record("\u00b2"))),
        *((c, p, "not a response") for c, p in both(record(kind="metadata"))),
        *((c, p, "no HTTP response") for c, p in both(record(4, block=b"body"))),
        *((c, p, "no HTTP response") for c, p in both(record(17, block=BLOCK[:17]))),
        *((c, p, "no WARC record") for c, p in both(b"text" + END)),
        *((c, p, "no WARC record") for c, p in both(b"WARC/1.1\r\nWARC-Type: response\r\n")),
        *((c, p, "no WARC record") for c, p in both(b"x" * (HEAD_BYTES + 9) + record())),
        (packed(record() + b"more"), True, "longer than it says"),
        (packed(record())[:-1], True, "cut off"),
        (packed(record())[:-6] + b"wrong!", True, "gzip"),
        (record(), True, "gzip"),
        (b"", True, "no WARC record"),
        (b"", False, "no WARC record"),
    ],
)
def test_what_is_damage(opened: Opened, content: bytes, is_packed: bool, why: str) -> None:
    with pytest.raises(RecordDamagedError, match=why):
        response_body(opened(content), 0, packed=is_packed)


@pytest.mark.parametrize("level", [1, None])
def test_a_scan_gives_every_record(opened: Opened, level: int | None) -> None:
    large = fetch_result(bytes(range(256)) * 20_000)
    pieces = [capture(fetch_result(b"one"), level), capture(large, level)]
    content = b"".join(pieces)
    records = list(scan(opened(content), 0, len(content), packed=level is not None))
    assert [found.kind for found in records] == ["response", "request"] * 2
    assert [found.end for found in records[:-1]] == [found.offset for found in records[1:]]
    assert (records[0].offset, records[2].offset) == (0, len(pieces[0]))
    assert records[-1].end == len(content)


def test_a_scan_ends_at_the_first_record_that_is_not_whole(opened: Opened) -> None:
    first, second = capture(fetch_result(b"one"), None), capture(fetch_result(b"two"), None)
    damaged = first + second.replace(b"two", b"twO")
    found: list[Record] = []
    with pytest.raises(RecordDamagedError, match="digest"):
        found.extend(scan(opened(damaged), 0, len(damaged), packed=False))
    fd = opened(damaged)
    records = scan(fd, 0, len(damaged), packed=False)
    assert [next(records).kind, next(records).end] == ["response", len(first)]


def test_a_scan_to_the_middle_of_a_record(opened: Opened) -> None:
    content = capture(fetch_result(b"one"), 1)
    with pytest.raises(RecordDamagedError, match="reaches behind"):
        list(scan(opened(content), 0, len(content) - 1, packed=True))
