"""Names and labels of encodings (WHATWG Encoding 4.2)."""

from __future__ import annotations

import webencodings

_NAMES = {
    name.lower(): name
    for name in (
        *("UTF-8", "IBM866", "KOI8-R", "KOI8-U", "GBK", "Big5", "EUC-JP", "ISO-2022-JP"),
        *("Shift_JIS", "EUC-KR", "UTF-16BE", "UTF-16LE", "ISO-8859-8-I"),
        *(f"ISO-8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    )
}
"""Names as the standard writes them, where they are not all in lower case."""


def encoding_of(label: str) -> str | None:
    """The encoding's name for a label, in any case and with blanks around it; None if unknown."""
    if not label.isascii():
        return None
    encoding = webencodings.lookup(label)
    return None if encoding is None else _NAMES.get(encoding.name, encoding.name)
