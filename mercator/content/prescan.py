"""What the first bytes of a document say of its encoding (WHATWG HTML 13.2.3.2).

Everything here reads at most `PRESCAN_BYTES`; what stands further down is the parser's business.
"""

from __future__ import annotations

import re

from mercator.content.labels import encoding_of

PRESCAN_BYTES = 1024

_SPACE = rb"\t\n\f\r "
_ATTRIBUTE = re.compile(
    rb"[%b/]*([^%b/>][^%b/>=]*)"
    rb"(?:[%b]*=[%b]*(?:\"([^\"]*)\"|'([^']*)'|([^\"'%b>][^%b>]*)|(?=>)|[\"'](?s:.*)))?"
    % ((_SPACE,) * 7)
)
"""One attribute; a quote that is never closed takes all that is left with it."""

_META = re.compile(rb"<meta(?=[%b/])" % _SPACE, re.IGNORECASE)
_TAG = re.compile(rb"</?[a-zA-Z][^%b>]*" % _SPACE)
_MARKUP = re.compile(rb"<(?=[a-zA-Z!/?])")
_CHARSET = re.compile(r"charset[\t\n\f\r ]*=[\t\n\f\r ]*", re.IGNORECASE)
_CHARSET_VALUE = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^\"'\t\n\f\r ;][^\t\n\f\r ;]*)")
_XML_DECLARATION = re.compile(
    rb"<\?xml[^>]*?encoding[\0-\x20]*=[\0-\x20]*([\"'])([^>\0-\x20]*?)\1[^>]*>"
)


def declared_in_meta(http_equiv: str, content: str | None, charset: str | None) -> str | None:
    """The encoding that one meta element declares, None for none; absent attributes are None.

    What can be read as ASCII is not UTF-16, so that label means UTF-8, and x-user-defined means
    windows-1252. Source: WHATWG HTML 4.2.5.4 and 13.2.3.2.
    """
    if charset is not None:
        encoding = encoding_of(charset)
    elif content is not None and http_equiv.lower() == "content-type":
        encoding = encoding_of(_charset_in(content))
    else:
        return None
    if encoding in ("UTF-16LE", "UTF-16BE"):
        return "UTF-8"
    return "windows-1252" if encoding == "x-user-defined" else encoding


def _charset_in(content: str) -> str:
    """The label in a content attribute, "" for none ("extract a character encoding from a meta")."""
    name = _CHARSET.search(content)
    value = _CHARSET_VALUE.match(content, name.end()) if name else None
    return (value[1] or value[2] or value[3] or "") if value else ""


def from_meta(body: bytes) -> str | None:
    """The encoding of the first meta that declares one: "prescan a byte stream"."""
    head = body[:PRESCAN_BYTES]
    if b"charset" not in head.lower():
        return None
    at = 0
    while at >= 0 and (opening := _MARKUP.search(head, at)):
        at = opening.start()
        if head.startswith(b"<!--", at):
            end = head.find(b"-->", at + 2)
            at = end + 3 if end >= 0 else -1
        elif meta := _META.match(head, at):
            attributes, at = _attributes(head, meta.end())
            encoding = _declared(attributes)
            if encoding is not None and at >= 0:
                return encoding
        elif tag := _TAG.match(head, at):
            _, at = _attributes(head, tag.end())
        else:
            at = head.find(b">", at)
    return None


def _declared(attributes: dict[bytes, bytes]) -> str | None:
    text = {name: value.decode("latin-1") for name, value in attributes.items()}
    return declared_in_meta(text.get(b"http-equiv", ""), text.get(b"content"), text.get(b"charset"))


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag, the first of each name, and where the tag ends (-1: not in here)."""
    attributes: dict[bytes, bytes] = {}
    while attribute := _ATTRIBUTE.match(head, at):
        at = attribute.end()
        value = attribute[2] or attribute[3] or attribute[4] or b""
        attributes.setdefault(attribute[1].lower(), value)
    return attributes, head.find(b">", at)


def utf_16_pattern(body: bytes) -> str | None:
    """UTF-16 without a byte order mark, told by an XML declaration (XML 1.0, appendix F)."""
    if body.startswith(b"<\0?\0x\0"):
        return "UTF-16LE"
    return "UTF-16BE" if body.startswith(b"\0<\0?\0x") else None


def from_xml_declaration(body: bytes) -> str | None:
    """The encoding of an XML declaration at the very start: "get an XML encoding"."""
    if not body.startswith(b"<?xml"):
        return None
    found = _XML_DECLARATION.match(body, 0, PRESCAN_BYTES)
    encoding = encoding_of(found[2].decode("latin-1")) if found else None
    return "UTF-8" if encoding in ("UTF-16LE", "UTF-16BE") else encoding
