"""Bytes to text by the WHATWG Encoding standard.

Python's codecs carry the load; where they part ways with the standard's decoders of the same name
(compared with the standard's index tables, pair by pair) the difference is written here: bytes that
Python leaves undefined, characters that it maps to others, and how far an error reaches. The last
matters most: a standard decoder gives an ASCII byte behind a bad lead byte back, or a broken letter
would swallow the `<` of the next tag.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import lru_cache

from mercator.content.big5_additions import BIG5_ADDITIONS
from mercator.content.labels import encoding_of

_BAD = "\N{REPLACEMENT CHARACTER}"

_MAX_EXACT_ERRORS = 100_000
"""With more errors than that a body is no text: Python's own way to go on after one will do, which
is a hundred times faster."""

_CODECS = {
    "IBM866": "cp866",
    "ISO-8859-8-I": "iso8859-8",
    "KOI8-R": "koi8-r",
    "KOI8-U": "koi8-u",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
    "windows-874": "cp874",
    **{f"windows-{number}": f"cp{number}" for number in range(1250, 1259)},
    **{f"ISO-8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
}
"""The single-byte encodings, each with Python's codec for it."""

_OTHER_BYTES = {
    "KOI8-U": {0xAE: "ў", 0xBE: "Ў"},
    "windows-1255": {0xCA: "\N{HEBREW POINT HOLAM HASER FOR VAV}"},
}


def decode(body: bytes, encoding: str) -> str:
    """The text of a body: errors as U+FFFD, the encoding's own byte order mark removed.

    `encoding` is a name as `decide` gives it, or any label; an unknown one means windows-1252.
    Never raises. O(length); UTF-8 and all-ASCII bodies take the interpreter's fast paths.
    Source: WHATWG Encoding 8 to 14.
    """
    name = encoding if encoding == "UTF-8" else encoding_of(encoding)
    if name == "UTF-8":
        return body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    special = _SPECIAL.get(name or "")
    if special is not None:
        return special(body)
    if body.isascii():
        return body.decode("ascii")
    multi_byte = _MULTI_BYTE.get(name or "")
    if multi_byte is not None:
        return multi_byte(body)
    return codecs.charmap_decode(body, "replace", _table(name or "windows-1252"))[0]


@lru_cache(maxsize=64)
def _table(encoding: str) -> str:
    """The 256 characters of a single-byte encoding; C1 controls stand where Python has nothing."""
    codec = _CODECS.get(encoding, "cp1252")
    characters = [
        bytes((byte,)).decode(codec, "replace")
        if encoding != "x-user-defined" or byte < 0x80
        else chr(0xF700 + byte)
        for byte in range(256)
    ]
    for byte in range(0x80, 0xA0):
        if characters[byte] == _BAD:
            characters[byte] = chr(byte)
    for byte, character in _OTHER_BYTES.get(encoding, {}).items():
        characters[byte] = character
    return "".join(characters)


def _replacement(body: bytes) -> str:
    """Encodings that were used for attacks only: the whole body is one error (WHATWG 14.1)."""
    return _BAD if body else ""


# -- encodings of two and more bytes ----------------------------------------------------------------


def _resumed(error: UnicodeError, resume_at: int, text: str = _BAD) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return text, min(resume_at, len(error.object))


def _pair_error(error: UnicodeError) -> tuple[str, int]:
    """Bad lead bytes go alone, bad pairs whole, but an ASCII byte in second place is given back."""
    assert isinstance(error, UnicodeDecodeError)
    body, start = error.object, error.start
    if body[start] in (0x80, 0xFF) or start + 1 >= len(body) or body[start + 1] < 0x80:
        return _resumed(error, start + 1)
    return _resumed(error, start + 2)


def _big5_error(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    lead, trail = (*error.object[error.start : error.start + 2], 0, 0)[:2]
    pointer = (lead - 0x81) * 157 + trail - (0x40 if trail < 0x7F else 0x62)
    if trail >= 0x40 and not 0x7F <= trail <= 0xA0 and pointer in BIG5_ADDITIONS:
        return _resumed(error, error.start + 2, BIG5_ADDITIONS[pointer])
    return _pair_error(error)


def _gb18030_error(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    body, start = error.object, error.start
    if body[start] == 0x80:
        return _resumed(error, start + 1, "€")
    second, third, fourth = (*body[start + 1 : start + 4], -1, -1, -1)[:3]
    if body[start] == 0xFF or not 0x30 <= second <= 0x39:
        return _pair_error(error)
    if third == -1 or (0x81 <= third <= 0xFE and (fourth == -1 or 0x30 <= fourth <= 0x39)):
        return _resumed(error, start + 4)
    return _resumed(error, start + 1)


def _euc_jp_error(error: UnicodeError) -> tuple[str, int]:
    """Python's codec lacks the vendor rows of JIS X 0208, which its Shift_JIS has."""
    assert isinstance(error, UnicodeDecodeError)
    body, start = error.object, error.start
    lead, trail = (*body[start : start + 2], 0, 0)[:2]
    if lead == 0x8F and 0xA1 <= trail <= 0xFE:
        third = body[start + 2] if start + 2 < len(body) else 0xFF
        return _resumed(error, start + (3 if third >= 0x80 else 2))
    if 0xA1 <= lead <= 0xFE and 0xA1 <= trail <= 0xFE:
        row, cell = lead - 0xA0, trail - 0xA0
        first = (row - 1) // 2 + (0x81 if row <= 62 else 0xC1)
        second = cell + (0x3F + (cell > 63) if row % 2 else 0x9E)
        return _resumed(error, start + 2, bytes((first, second)).decode("cp932", "replace")[0])
    if lead not in (0x8E, 0x8F) and not 0xA1 <= lead <= 0xFE:
        return _resumed(error, start + 1)
    return _pair_error(error)


codecs.register_error("mercator.pair", _pair_error)
codecs.register_error("mercator.big5", _big5_error)
codecs.register_error("mercator.gb18030", _gb18030_error)
codecs.register_error("mercator.euc-jp", _euc_jp_error)


def _with_python(codec: str, errors: str, instead: dict[str, str]) -> Callable[[bytes], str]:
    """Python's codec, then the characters that the standard's table has instead of Python's."""
    differing = re.compile(f"[{''.join(instead)}]") if instead else None
    table = str.maketrans(instead)

    def decoded(body: bytes) -> str:
        text = body.decode(codec, "replace")
        if 0 < text.count(_BAD) <= _MAX_EXACT_ERRORS:
            text = body.decode(codec, errors)
        if differing is not None and differing.search(text):
            text = text.translate(table)
        return text

    return decoded


_GB18030_2022 = dict(
    zip(
        "\ue5e5\ue78d\ue78e\ue78f\ue790\ue791\ue792\ue793\ue794\ue795\ue796\ue7c7\u1e3f"
        "\ue81e\ue826\ue82b\ue82c\ue832\ue843\ue854\ue864",
        "\u3000\ufe10\ufe12\ufe11\ufe13\ufe14\ufe15\ufe16\ufe17\ufe18\ufe19\u1e3f\ue7c7"
        "\u9fb4\u9fb5\u9fb6\u9fb7\u9fb8\u9fb9\u9fba\u9fbb",
        strict=True,
    )
)
_gb18030 = _with_python("gb18030", "mercator.gb18030", _GB18030_2022)
_euc_jp_plain = _with_python(
    "euc_jp", "mercator.euc-jp", dict(zip("〜‖−¢£¬", "～∥－￠￡￢", strict=True))
)


def _euc_jp(body: bytes) -> str:
    """Python reads the wide tilde of JIS X 0212 as the ASCII one, which no later step could tell."""
    return _euc_jp_plain(body.replace(b"\x8f\xa2\xb7", b"\xa1\xc1"))


_big5_plain = _with_python(
    "big5hkscs", "mercator.big5", dict(zip("•､‾∼♁☉¥¢£", "‧﹑¯～⊕⊙￥￠￡", strict=True))
)
_BIG5_DOUBLES = {b"\xa2\x41": "∕", b"\xa2\x42": "﹨"}
_BIG5_RUN = re.compile(
    rb"((?:[\x00-\x80\xff]|(?!\xa2[\x41\x42])[\x81-\xfe][\x40-\xff]?)*+)(\xa2[\x41\x42])?"
)
_MAX_BIG5_RUNS = 10_000


def _big5(body: bytes) -> str:
    """Python reads two pairs as the characters of two others, so they are taken out before."""
    doubles = sum(body.count(pair) for pair in _BIG5_DOUBLES)
    if not 0 < doubles <= _MAX_BIG5_RUNS or _is_no_text(body, "big5hkscs"):
        return _big5_plain(body)
    return "".join(
        [
            _big5_plain(run[1]) + _BIG5_DOUBLES.get(run[2] or b"", "")
            for run in _BIG5_RUN.finditer(body)
        ]
    )


def _is_no_text(body: bytes, codec: str) -> bool:
    return body.decode(codec, "replace").count(_BAD) > _MAX_EXACT_ERRORS


# -- ISO-2022-JP ------------------------------------------------------------------------------------

_ESCAPE = re.compile(rb"\x1b(\([BJI]|\$[@B])")
_PAIRS = re.compile(rb"((?:[\x21-\x7e]{2})+)|[\x21-\x7e][^\x1b]?|.", re.DOTALL)
_NOT_ASCII_STATE = re.compile(r"[\x0e\x0f\x1b\x80-\xff]")
_ROMAN = {0x5C: "¥", 0x7E: "‾"}
_KATAKANA = {
    byte: chr(byte - 0x21 + 0xFF61) if 0x21 <= byte <= 0x5F else _BAD for byte in range(256)
}
_TO_EUC = bytes(byte | 0x80 for byte in range(256))


def _iso_2022_jp(body: bytes) -> str:
    """Text between escape sequences; one that nothing stands behind is an error (WHATWG 12.2.1)."""
    if body.count(b"\x1b") > _MAX_EXACT_ERRORS or _is_no_text(body, "iso2022_jp_ext"):
        return body.decode("iso2022_jp_ext", "replace")
    parts: list[str] = []
    state = b"(B"
    pieces = _ESCAPE.split(body)
    for index, piece in enumerate(pieces):
        if index % 2:
            if index > 1 and not pieces[index - 1]:
                parts.append(_BAD)
            state = piece
        elif state[:1] == b"$":
            parts.append(_PAIRS.sub(_jis_pairs, piece).decode("utf-8"))
        elif state == b"(I":
            parts.append(piece.decode("latin-1").translate(_KATAKANA))
        else:
            text = _NOT_ASCII_STATE.sub(_BAD, piece.decode("latin-1"))
            parts.append(text.translate(_ROMAN) if state == b"(J" else text)
    return "".join(parts)


def _jis_pairs(found: re.Match[bytes]) -> bytes:
    if found[1] is None:
        return _BAD.encode()
    return _euc_jp(found[1].translate(_TO_EUC)).encode()


_SPECIAL: dict[str, Callable[[bytes], str]] = {
    "UTF-16LE": lambda body: body.removeprefix(codecs.BOM_UTF16_LE).decode("utf-16-le", "replace"),
    "UTF-16BE": lambda body: body.removeprefix(codecs.BOM_UTF16_BE).decode("utf-16-be", "replace"),
    "ISO-2022-JP": _iso_2022_jp,
    "replacement": _replacement,
}
_MULTI_BYTE: dict[str, Callable[[bytes], str]] = {
    "GBK": _gb18030,
    "gb18030": _gb18030,
    "Big5": _big5,
    "EUC-JP": _euc_jp,
    "EUC-KR": _with_python("cp949", "mercator.pair", {}),
    "Shift_JIS": _with_python(
        "cp932", "mercator.pair", dict.fromkeys("\uf8f0\uf8f1\uf8f2\uf8f3", _BAD)
    ),
}
