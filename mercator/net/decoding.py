"""Content codings undone in bounded steps (RFC 9110, 8.4.1): a decoder hands out about as much as
it was asked for, so that a small body which unpacks to gigabytes never stands in memory.

urllib3's decoders are not used: its zstd decoder needs a library of its own, and the cap on decoded
bytes has to hold for every coding, for codings on codings, and before the next piece is unpacked.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import brotli  # ships no types
import zstandard

from mercator.net.faults import AnswerError
from mercator.net.framing import Source
from mercator.values import FailureKind

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
MAX_CODINGS = 3
_INPUT_BYTES = 16_384
_IGNORED_TAIL_BYTES = 65_536
_ZSTD_WINDOW_BYTES = 8 << 20
"""RFC 9659: senders of the zstd coding use no larger window; one of 2 GB would be legal zstd."""


def decoded(source: Source, codings: Sequence[str], limit: int) -> Source:
    """`source` with `codings` (lower case, in the order in which they were applied) undone.

    `limit` is how much the caller will take; what stands between two codings may be twice as much.
    Raises AnswerError (CONTENT_CODING_UNKNOWN) for an unknown coding, or more than MAX_CODINGS.
    """
    chain = [coding for coding in codings if coding != "identity"]
    if len(chain) > MAX_CODINGS:
        raise AnswerError(
            FailureKind.CONTENT_CODING_UNKNOWN, f"more than {MAX_CODINGS} codings: {len(chain)}"
        )
    for depth, coding in enumerate(reversed(chain)):
        decoder = _DECODERS.get(coding)
        if decoder is None:
            raise AnswerError(FailureKind.CONTENT_CODING_UNKNOWN, f"unknown coding {coding!r}")
        source = decoder(source if depth == 0 else _Between(source, 2 * limit + _INPUT_BYTES))
    return source


class _Between:
    """What stands between two codings, bounded: three codings can make terabytes of nothing out of a
    single piece off the wire, and no deadline is looked at while they are unpacked.

    Threads: one at a time.
    """

    def __init__(self, source: Source, limit: int) -> None:
        self._source = source
        self._left = limit

    def read(self, size: int) -> bytes:
        piece = self._source.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise _broken("coded", "its inner coding is longer than any body that may come of it")
        return piece


class _Input:
    """What a decoder has pulled off its source and not used yet. Threads: one at a time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.held = b""
        self.begun = False

    def pull(self) -> bool:
        """Adds a piece to `held`; False at the end of the source."""
        piece = self._source.read(_INPUT_BYTES)
        if not piece:
            return False
        self.begun = True
        self.held = self.held + piece if self.held else piece
        return True

    def fill(self, size: int) -> bool:
        """Pulls until `held` has `size` bytes; False when the source has no more."""
        while len(self.held) < size:
            if not self.pull():
                return False
        return True

    def take(self, size: int) -> bytes:
        """The first `size` bytes of `held`."""
        piece, self.held = self.held[:size], self.held[size:]
        return piece

    def pass_tail(self) -> None:
        """Reads on behind the end of the coding, so that the framing comes to its own end.

        Padding there is common and harmless; without a bound it could go on till the deadline.
        """
        left = _IGNORED_TAIL_BYTES - len(self.held)
        self.held = b""
        while left > 0 and self.pull():
            left -= len(self.held)
            self.held = b""


def _broken(coding: str, why: object) -> AnswerError:
    return AnswerError(FailureKind.CONTENT_DECODING_ERROR, f"the {coding} body is broken: {why}")


class _ZlibDecoder:
    """gzip, member after member (RFC 1952), and deflate (RFC 1950, or raw RFC 1951 as some send
    it).

    Threads: one at a time.
    """

    def __init__(self, source: Source, coding: str) -> None:
        self._input = _Input(source)
        self._coding = coding
        self._inflate = zlib.decompressobj(31)
        self._started = False
        self._ended = False

    def read(self, size: int) -> bytes:
        while not self._ended:
            if not self._started and not self._start():
                break
            more = bool(self._input.held) or self._input.pull()
            try:
                # Without input left, zlib may still hold output that did not fit the last time.
                piece = self._inflate.decompress(self._input.held, size)
            except zlib.error as error:
                raise _broken(self._coding, error) from error
            self._input.held = self._inflate.unconsumed_tail
            if self._inflate.eof:
                self._input.held = self._inflate.unused_data
                self._next_member()
            elif not more and not piece:
                raise _broken(self._coding, "it ends too early")
            if piece:
                return piece
        return b""

    def _start(self) -> bool:
        """Chooses the format by the first bytes; False for an empty body, which many send."""
        whole = self._input.fill(2)
        if not self._input.begun:
            self._ended = True
            return False
        if self._coding == "deflate":
            first = self._input.held[:2]
            is_zlib = whole and first[0] & 0x8F == 8 and int.from_bytes(first, "big") % 31 == 0
            self._inflate = zlib.decompressobj(15 if is_zlib else -15)
        self._started = True
        return True

    def _next_member(self) -> None:
        if self._coding == "gzip" and self._input.fill(2) and self._input.held[:2] == b"\x1f\x8b":
            self._inflate = zlib.decompressobj(31)
        else:
            self._ended = True
            self._input.pass_tail()


class _BrotliDecoder:
    """br (RFC 7932). A step hands out up to half as much again as was asked for.

    Threads: one at a time.
    """

    def __init__(self, source: Source) -> None:
        self._input = _Input(source)
        self._brotli = brotli.Decompressor()
        self._holds_output = False
        self._ended = False

    def read(self, size: int) -> bytes:
        while not self._ended:
            data = b""
            if not self._holds_output:
                if not self._input.held and not self._input.pull():
                    if self._input.begun:
                        raise _broken("br", "it ends too early")
                    break
                data, self._input.held = self._input.held, b""
            try:
                piece: bytes = self._brotli.process(data, output_buffer_limit=size)
            except brotli.error as error:
                raise _broken("br", error) from error
            # The library takes "more data" while it still holds output: only an empty step tells.
            self._holds_output = bool(piece)
            if self._brotli.is_finished():
                self._ended = True
                self._input.pass_tail()
            elif not piece and not self._brotli.can_accept_more_data():
                raise _broken("br", "neither more input nor more output")
            if piece:
                return piece
        return b""


class _ZstdDecoder:
    """zstd, frame after frame (RFC 8878).

    The library's object hands out all that its input holds at once, and 4 bytes can hold 128 KiB.
    So the frame is walked here, block by block: a block holds 128 KiB at most (RFC 8878,
    3.1.1.2.4). Threads: one at a time.
    """

    def __init__(self, source: Source) -> None:
        self._input = _Input(source)
        self._library = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
        self._frame: zstandard.ZstdDecompressionObj
        self._inside = False
        self._has_checksum = False
        self._frames = 0
        self._ended = False

    def read(self, size: int) -> bytes:
        while not self._ended:
            unit = self._block() if self._inside else self._frame_header()
            try:
                piece = self._frame.decompress(unit) if unit else b""
            except zstandard.ZstdError as error:
                raise _broken("zstd", error) from error
            if piece:
                return piece
        return b""

    def _frame_header(self) -> bytes:
        """The next frame's header (RFC 8878, 3.1.1.1); b"" for a frame to skip, or at the end."""
        whole = self._input.fill(5)
        magic = int.from_bytes(self._input.held[:4], "little")
        if whole and magic & 0xFFFF_FFF0 == 0x184D_2A50:
            self._skip_frame()
            return b""
        if not whole or magic != 0xFD2F_B528:
            if self._input.begun and self._frames == 0:
                raise _broken("zstd", "no frame")
            self._ended = True
            self._input.pass_tail()
            return b""
        descriptor = self._input.held[4]
        single_segment = descriptor >> 5 & 1
        size = 5 + (1 - single_segment) + (0, 1, 2, 4)[descriptor & 3]
        size += (single_segment, 2, 4, 8)[descriptor >> 6]
        self._need(size)
        self._has_checksum = bool(descriptor >> 2 & 1)
        self._frame = self._library.decompressobj()
        self._inside = True
        self._frames += 1
        return self._input.take(size)

    def _block(self) -> bytes:
        """The next block, with the frame's checksum behind the last one."""
        self._need(3)
        header = int.from_bytes(self._input.held[:3], "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if kind == 3 or size > 131_072:
            raise _broken("zstd", "no block")
        size = 3 + (1 if kind == 1 else size)
        if last:
            size += 4 if self._has_checksum else 0
            self._inside = False
        self._need(size)
        return self._input.take(size)

    def _skip_frame(self) -> None:
        self._need(8)
        left = int.from_bytes(self._input.take(8)[4:], "little")
        while left > 0:
            self._need(1)
            left -= len(self._input.take(left))

    def _need(self, size: int) -> None:
        if not self._input.fill(size):
            raise _broken("zstd", "it ends too early")


_DECODERS: dict[str, Callable[[Source], Source]] = {
    "gzip": lambda source: _ZlibDecoder(source, "gzip"),
    "x-gzip": lambda source: _ZlibDecoder(source, "gzip"),
    "deflate": lambda source: _ZlibDecoder(source, "deflate"),
    "br": _BrotliDecoder,
    "zstd": _ZstdDecoder,
}
