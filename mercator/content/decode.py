"""Step 16a of a URL's way: which encoding a body is in, and its text.

The order is that of WHATWG HTML 13.2.3 with one policy on top: where nothing is declared, a body
that is valid UTF-8 is UTF-8 before it is windows-1252.
"""

from __future__ import annotations

import codecs
import re

from mercator.content import media_type, prescan
from mercator.content.decoders import decode
from mercator.content.labels import encoding_of
from mercator.content.markup_bounds import bounded, tree_of

__all__ = ["decide", "decode"]

_META = re.compile(rb"<meta[\t\n\f\r /]", re.IGNORECASE)


def decide(body: bytes, content_type: str | None) -> tuple[str, str]:
    """The encoding's name in the WHATWG Encoding standard, and the step that decided.

    Steps: "bom", "header" (a charset that is a known label), "meta", "xml" (a declaration, or that
    it is XML, whose default is UTF-8), "utf-8" (the whole body is valid, ASCII and empty included),
    "default" (windows-1252). Without a Content-Type the body counts as HTML. A meta behind the
    first 1,024 bytes counts if the parser finds a real one there; that costs a parse, but only of
    bodies with such bytes and no declaration before. Never raises.
    """
    bom = _byte_order_mark(body)
    if bom is not None:
        return bom, "bom"
    essence, label = media_type.parse(content_type) if content_type is not None else ("", "")
    encoding = encoding_of(label) if label else None
    if encoding is not None:
        return encoding, "header"
    if media_type.is_html(essence):
        encoding = prescan.from_meta(body)
        if encoding is not None:
            return encoding, "meta"
        encoding = prescan.utf_16_pattern(body) or prescan.from_xml_declaration(body)
        if encoding is not None:
            return encoding, "xml"
        encoding = _from_late_meta(body)
        if encoding is not None:
            return encoding, "meta"
    elif media_type.is_xml(essence):
        encoding = prescan.utf_16_pattern(body) or prescan.from_xml_declaration(body)
        return encoding or "UTF-8", "xml"
    return ("UTF-8", "utf-8") if _is_utf_8(body) else ("windows-1252", "default")


def _byte_order_mark(body: bytes) -> str | None:
    if body.startswith(codecs.BOM_UTF8):
        return "UTF-8"
    if body.startswith(codecs.BOM_UTF16_LE):
        return "UTF-16LE"
    return "UTF-16BE" if body.startswith(codecs.BOM_UTF16_BE) else None


def _from_late_meta(body: bytes) -> str | None:
    """The first real meta element that declares an encoding, wherever it stands.

    The bytes are parsed as they are: in every encoding that a meta can be read in, markup is ASCII.
    """
    if b"charset" not in body.lower() or not _META.search(body):
        return None
    root = tree_of(bounded(body)).root
    for meta in root.css("meta[charset],meta[http-equiv]") if root is not None else ():
        attributes = meta.attributes
        encoding = prescan.declared_in_meta(
            attributes.get("http-equiv") or "",
            attributes.get("content"),
            attributes["charset"] or "" if "charset" in attributes else None,
        )
        if encoding is not None:
            return encoding
    return None


def _is_utf_8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def whole_characters(body: bytes) -> bytes:
    """A body that was cut at a limit, without the part of a UTF-8 character that may end it.

    Such a part would make the whole body invalid UTF-8, and with it windows-1252. At most three bytes
    go, and none where the end is no such part.
    """
    for size in range(1, min(3, len(body)) + 1):
        lead = body[-size]
        if lead & 0xC0 == 0x80:
            continue
        length = 2 if lead & 0xE0 == 0xC0 else 3 if lead & 0xF0 == 0xE0 else 4
        return body[:-size] if lead >= 0xC0 and size < length else body
    return body
