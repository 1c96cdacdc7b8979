"""Answers that are sent in steps: bodies and heads without end, a drip, a bomb."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from testsite.reply import HTML, Step, Wait, head

DRIP_S = 0.1
DRIP_BYTES = 10_000
BOMB_BYTES = 200_000_000
_BLOCK_BYTES = 65_536


def endless(*, chunked: bool) -> Iterator[Step]:
    """HTML paragraphs for ever, in chunks or up to the end of the connection."""
    coding = ("Transfer-Encoding", "chunked") if chunked else ("Connection", "close")
    yield head(200, ("Content-Type", HTML), coding) + (b"" if chunked else b"<!DOCTYPE html>\n")
    block = (b"<p>There is always one more paragraph.</p>\n" * 1600)[:_BLOCK_BYTES]
    if chunked:
        block = f"{len(block):x}\r\n".encode() + block + b"\r\n"
    while True:
        yield block


def drip() -> Iterator[Step]:
    """`DRIP_BYTES` bytes, one each `DRIP_S` seconds."""
    yield head(200, ("Content-Type", HTML), ("Content-Length", str(DRIP_BYTES)))
    for _ in range(DRIP_BYTES):
        yield Wait(DRIP_S)
        yield b"."


def bigheader() -> Iterator[Step]:
    """A 200 whose head goes on, a field of about 1 KB a step."""
    yield head(200, ("Content-Type", HTML))[:-2]
    for number in range(10**9):
        yield f"X-Filler-{number}: {'x' * 1000}\r\n".encode()


def bomb() -> Iterator[Step]:
    """`BOMB_BYTES` of HTML as one gzip member (RFC 1952), the same deflate block again and again:
    a full flush leaves no reference to what was before, so one block is packed once."""
    block = b"<p>bang</p>\n" * 83_333 + b"\n\n\n\n"
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    blocks = BOMB_BYTES // len(block)
    length = 10 + len(packed) * blocks + 2 + 8
    fields = (("Content-Encoding", "gzip"), ("Content-Length", str(length)))
    yield head(200, ("Content-Type", HTML), *fields) + b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
    checksum = 0
    for _ in range(blocks):
        checksum = zlib.crc32(block, checksum)
        yield packed
    size = len(block) * blocks
    yield b"\x03\x00" + checksum.to_bytes(4, "little") + size.to_bytes(4, "little")
