"""The query of a link in its document's encoding (WHATWG URL, "percent-encode after encoding").

The URL parser knows UTF-8 only. A page in another encoding sends the non-ASCII characters of a
query in its own bytes, and its server expects nothing else. The path is always UTF-8.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import lru_cache

import webencodings

_NON_ASCII = re.compile(r"[^\x00-\x7F]+")
_REFERENCE = re.compile(rb"&#([0-9]+);")

_OUTPUT_IS_UTF8 = frozenset(("utf-8", "utf-16le", "utf-16be", "replacement"))
"""WHATWG Encoding, "get an output encoding"."""

_WRITTEN = [
    chr(byte) if 0x20 < byte < 0x7F and chr(byte) not in "\"#<>'" else f"%{byte:02X}"
    for byte in range(256)
]
"""The special-query percent-encode set: a trail byte such as { or \\ stays literal."""

_CODECS = {"gbk": "gb18030"}
"""Python's gbk lacks two thousand characters of the standard's; its gb18030 has them."""

_OWN_BYTES: dict[str, dict[str, bytes]] = {
    "gbk": {"€": b"\x80"},
    "shift_jis": {"¥": b"\\", "‾": b"~"},
    "euc-jp": {"－": "−".encode("euc_jp")},
}
"""Characters for which the standard's encoder and Python's part ways."""

_LACKS: dict[str, Callable[[bytes], bool]] = {
    "big5": lambda encoded: encoded[0] < 0xA1,  # Hong Kong's additions are decoded only
    "euc-jp": lambda encoded: encoded[0] == 0x8F,  # so is JIS X 0212
    "gbk": lambda encoded: len(encoded) == 4,
}
"""Bytes that Python's encoder writes and the standard's does not."""


def with_encoded_query(text: str, encoding: str) -> str:
    """The text with its query's non-ASCII characters percent-encoded in the document's encoding.

    `encoding` is a label; an unknown one and every form of UTF-16 mean UTF-8, which is left to the
    parser. A character that the encoding lacks becomes the escaped text of `&#N;`, as in browsers.
    """
    encode = _encoder(encoding)
    if encode is None:
        return text
    address, hash_, fragment = text.partition("#")
    head, mark, query = address.partition("?")
    return f"{head}{mark}{_NON_ASCII.sub(lambda run: encode(run[0]), query)}{hash_}{fragment}"


@lru_cache(maxsize=64)
def _encoder(label: str) -> Callable[[str], str] | None:
    """Escapes a run of non-ASCII characters; None where the parser's own UTF-8 is right."""
    encoding = webencodings.lookup(label) if label.isascii() else None
    if encoding is None or encoding.name in _OUTPUT_IS_UTF8:
        return None
    name = encoding.name
    if name == "iso-2022-jp":
        return _stateful_run
    encode = codecs.getencoder(_CODECS[name]) if name in _CODECS else encoding.codec_info.encode
    own_bytes = _OWN_BYTES.get(name, {})
    lacks = _LACKS.get(name)

    def character(char: str) -> str:
        encoded = own_bytes.get(char)
        if encoded is None:
            try:
                encoded, _ = encode(char)
            except UnicodeEncodeError:
                encoded = b""
        if not encoded or (lacks is not None and lacks(encoded)):
            return f"%26%23{ord(char)}%3B"
        return "".join([_WRITTEN[byte] for byte in encoded])

    return lambda run: "".join([character(char) for char in run])


def _stateful_run(run: str) -> str:
    """ISO-2022-JP: its escape sequences stand around a run, not around each character."""
    encoded = run.replace("－", "−").encode("iso2022_jp", "xmlcharrefreplace")
    encoded = _REFERENCE.sub(rb"%26%23\1%3B", encoded)
    return "".join([_WRITTEN[byte] for byte in encoded])
