"""Codings undone: every coding whole, in small steps, broken, stacked, and as a bomb."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import brotli  # ships no types
import pytest
import zstandard

from mercator.net.decoding import decoded
from mercator.net.faults import AnswerError
from mercator.values import FailureKind
from tests.unit.net.conftest import Fetch, failure, result
from tests.unit.net.loopback import LoopbackServer, answering, chunked, keeping_alive, page

BOMB_BYTES = 200 << 20


class Pieces:
    """A source that hands its bytes out in pieces of `step`, and counts what it was asked for."""

    def __init__(self, data: bytes, step: int = 1 << 30) -> None:
        self._data = data
        self._step = step
        self.left = len(data)

    def read(self, size: int) -> bytes:
        at = len(self._data) - self.left
        piece = self._data[at : at + min(size, self._step)]
        self.left -= len(piece)
        return piece


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def _zstd_stream(data: bytes) -> bytes:
    """Without the content's size in the header, as servers send it."""
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "raw-deflate": ("deflate", _raw_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", _zstd),
    "zstd-stream": ("zstd", _zstd_stream),
}
TEXT = random.Random(7).randbytes(3000) * 3 + b"<p>some text, said twice</p>" * 20_000


def _all(source: Pieces, *codings: str, size: int = 65536) -> bytes:
    reader = decoded(source, codings, len(TEXT))
    out = b"".join(iter(lambda: reader.read(size), b""))
    assert reader.read(size) == b""
    return out


@pytest.mark.parametrize("step", [1, 7, 4096, 1 << 20])
@pytest.mark.parametrize("size", [100, 65536])
@pytest.mark.parametrize("name", PACKERS)
def test_every_coding_in_every_step(name: str, size: int, step: int) -> None:
    coding, pack = PACKERS[name]
    source = Pieces(pack(TEXT), step)
    assert _all(source, coding, size=size) == TEXT
    assert source.left == 0


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("text", [b"", b"x", b"x" * 200_000])
def test_short_and_even_texts(name: str, text: bytes) -> None:
    coding, pack = PACKERS[name]
    assert _all(Pieces(pack(text)), coding) == text


@pytest.mark.parametrize("name", PACKERS)
def test_an_empty_body_is_empty(name: str) -> None:
    assert _all(Pieces(b""), PACKERS[name][0]) == b""


def test_codings_are_undone_last_first() -> None:
    packed = _zstd(brotli.compress(gzip.compress(TEXT)))
    assert _all(Pieces(packed), "gzip", "identity", "br", "zstd") == TEXT


def test_members_and_frames_follow_one_another() -> None:
    assert _all(Pieces(gzip.compress(b"a") + gzip.compress(b"b"), 5), "gzip") == b"ab"
    skippable = b"\x50\x2a\x4d\x18" + (70_000).to_bytes(4, "little") + b"s" * 70_000
    frames = skippable + _zstd(b"a" * 300_000) + skippable + _zstd_stream(b"b")
    assert _all(Pieces(frames, 1000), "zstd") == b"a" * 300_000 + b"b"


@pytest.mark.parametrize("name", ["gzip", "deflate", "raw-deflate", "zstd", "zstd-stream"])
def test_padding_behind_the_end_is_passed_over(name: str) -> None:
    coding, pack = PACKERS[name]
    source = Pieces(pack(TEXT) + b"\0" * 20_000, 1000)
    assert _all(source, coding) == TEXT
    assert source.left == 0
    endless = Pieces(pack(TEXT) + b"\0" * (1 << 20), 1000)
    assert _all(endless, coding) == TEXT
    assert endless.left > 900_000


@pytest.mark.parametrize("name", PACKERS)
def test_a_stream_that_ends_too_early_is_broken(name: str) -> None:
    coding, pack = PACKERS[name]
    packed = pack(TEXT)
    for cut in (1, 3, 5, 9, len(packed) // 2, len(packed) - 1):
        with pytest.raises(AnswerError) as caught:
            _all(Pieces(packed[:cut]), coding)
        assert caught.value.kind is FailureKind.CONTENT_DECODING_ERROR


@pytest.mark.parametrize("name", PACKERS)
def test_a_stream_with_wrong_bytes_is_broken_or_other(name: str) -> None:
    """A coding without a checksum may decode to something else, but nothing but AnswerError rises."""
    coding, pack = PACKERS[name]
    packed = pack(TEXT)
    chance = random.Random(11)
    kinds: list[FailureKind] = []
    for _ in range(200):
        wrong = bytearray(packed)
        wrong[chance.randrange(len(wrong))] ^= 1 << chance.randrange(8)
        try:
            _all(Pieces(bytes(wrong)), coding)
        except AnswerError as error:
            kinds.append(error.kind)
    assert set(kinds) == {FailureKind.CONTENT_DECODING_ERROR}


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_text_that_is_not_packed_at_all(coding: str) -> None:
    with pytest.raises(AnswerError) as caught:
        _all(Pieces(b"<html><p>plain text under a wrong label"), coding)
    assert caught.value.kind is FailureKind.CONTENT_DECODING_ERROR


@pytest.mark.parametrize(("window_log", "fits"), [(23, True), (24, False), (31, False)])
def test_a_zstd_window_is_bounded(window_log: int, fits: bool) -> None:
    frame = b"\x28\xb5\x2f\xfd\0" + bytes([(window_log - 10) << 3]) + b"\x01\x00\x00"
    if fits:
        assert _all(Pieces(frame), "zstd") == b""
        return
    with pytest.raises(AnswerError) as caught:
        _all(Pieces(frame), "zstd")
    assert caught.value.kind is FailureKind.CONTENT_DECODING_ERROR


# -- bombs ----------------------------------------------------------------------------------------


def _zeros() -> Iterator[bytes]:
    block = bytes(1 << 20)
    for _ in range(BOMB_BYTES >> 20):
        yield block


def _gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(block) for block in _zeros()), packer.flush()])


def _deflate_bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=-15)
    return b"".join([*(packer.compress(block) for block in _zeros()), packer.flush()])


def _brotli_bomb() -> bytes:
    packer = brotli.Compressor(quality=1)
    return b"".join([*(packer.process(block) for block in _zeros()), packer.finish()])


def _zstd_bomb() -> bytes:
    """Blocks of 4 bytes that each hold 128 KiB of zeros, written by hand (RFC 8878, 3.1.1.2)."""
    header = b"\x28\xb5\x2f\xfd\x00" + bytes([10 << 3])
    block = (1 << 1 | 131_072 << 3).to_bytes(3, "little") + b"\0"
    return header + block * (BOMB_BYTES >> 17) + b"\x01\x00\x00"


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "gzip": ("gzip", _gzip_bomb),
    "deflate": ("deflate", _deflate_bomb),
    "br": ("br", _brotli_bomb),
    "zstd": ("zstd", _zstd_bomb),
    "gzip-in-gzip": ("gzip, gzip", lambda: gzip.compress(_gzip_bomb())),
    "zstd-in-br": ("zstd, br", lambda: brotli.compress(_zstd_bomb())),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_cut_without_ever_standing_in_memory(fetch: Fetch, name: str) -> None:
    codings, make = BOMBS[name]
    bomb = page(make(), f"Content-Encoding: {codings}")
    assert len(bomb) < BOMB_BYTES / 150
    limit = 1 << 20
    with LoopbackServer(answering(bomb)) as server:
        tracemalloc.start()
        try:
            got = result(fetch(server, max_body_bytes=limit))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (got.truncated, got.body.size) == (True, limit)
    assert peak < 1.125 * limit + 700_000


def test_what_stands_between_codings_is_bounded(fetch: Fetch) -> None:
    """Members without content: a megabyte of coding that never becomes a byte of body."""
    hollow = gzip.compress(gzip.compress(b"") * 50_000)
    with LoopbackServer(answering(page(hollow, "Content-Encoding: gzip, gzip"))) as server:
        got = failure(fetch(server, max_body_bytes=1000))
        assert got.kind is FailureKind.CONTENT_DECODING_ERROR
    with LoopbackServer(answering(page(hollow, "Content-Encoding: gzip, gzip"))) as server:
        assert result(fetch(server, max_body_bytes=1 << 20)).body.size == 0


def test_a_whole_bomb_under_the_limit_is_a_page(fetch: Fetch) -> None:
    with LoopbackServer(answering(page(_zstd_bomb(), "Content-Encoding: zstd"))) as server:
        got = result(fetch(server, max_body_bytes=300 << 20))
    assert (got.truncated, got.body.size) == (False, BOMB_BYTES)


@pytest.mark.parametrize("name", PACKERS)
def test_a_coded_page_keeps_its_connection(fetch: Fetch, name: str) -> None:
    coding, pack = PACKERS[name]

    packed = pack(TEXT)
    answer = page(
        chunked(packed[:10], packed[10:]),
        "Transfer-Encoding: chunked",
        f"Content-Encoding: {coding.upper()}",
    )
    with LoopbackServer(keeping_alive(answer)) as server:
        for _ in range(3):
            assert result(fetch(server)).body.read() == TEXT
        assert server.connections == 1


def test_transfer_codings_are_undone_too(fetch: Fetch) -> None:

    packed = gzip.compress(brotli.compress(TEXT))
    answer = page(chunked(packed), "Transfer-Encoding: gzip, chunked", "Content-Encoding: br")
    with LoopbackServer(answering(answer)) as server:
        assert result(fetch(server)).body.read() == TEXT


def test_a_short_wire_is_told_from_a_broken_coding(fetch: Fetch) -> None:
    packed = gzip.compress(TEXT)
    short = page(packed[:-9], "Content-Encoding: gzip", f"Content-Length: {len(packed)}")
    with LoopbackServer(answering(short)) as server:
        got = failure(fetch(server))
    assert got.kind is FailureKind.INCOMPLETE_BODY
    assert got.bytes_read > 0
