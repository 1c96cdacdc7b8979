"""A Content-Type field taken apart as browsers do (WHATWG MIME Sniffing, "parse a MIME type")."""

from __future__ import annotations

import re
from functools import lru_cache

_MAX_FIELD_CHARS = 4096
"""A longer field is cut here: the cache below keeps its keys."""

_ESSENCE = re.compile(
    r"[\n\r\t ]*([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)[\n\r\t ]*(?:;|$)"
)
_PARAMETER = re.compile(
    r"[\n\r\t ]*(?P<name>[^;=]*)"
    r"(?:=(?:\"(?P<quoted>(?:[^\"\\]|\\.|\\$)*+)(?:\"[^;]*|$)|(?P<bare>[^;]*)))?(?:;|$)",
    re.DOTALL,
)
_QUOTED_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_TEXT_ESSENCES = frozenset(
    (
        "application/json",
        "application/javascript",
        "application/ecmascript",
        "application/x-javascript",
        "application/xml",
        "application/x-ndjson",
        "application/yaml",
    )
)


@lru_cache(maxsize=512)
def parse(content_type: str) -> tuple[str, str]:
    """Essence in lower case and charset parameter of a Content-Type field, each "" if there is none.

    The first charset with a value counts, only double quotes quote, and a blank before the `=`
    makes another name of it. What has no `type/subtype` has no essence, and then no charset.
    """
    field = content_type[:_MAX_FIELD_CHARS]
    essence = _ESSENCE.match(field)
    if essence is None:
        return "", ""
    at = essence.end()
    while at < len(field):
        parameter = _PARAMETER.match(field, at)
        if parameter is None:  # cannot be: every part of the pattern may be empty
            break
        at = parameter.end()
        if parameter["name"].lower() != "charset":
            continue
        if parameter["quoted"] is not None:
            value = re.sub(r"\\(.?)", lambda escape: escape[1] or "\\", parameter["quoted"])
        else:
            value = (parameter["bare"] or "").rstrip("\n\r\t ")
            if not value:
                continue
        if _QUOTED_VALUE.fullmatch(value):
            return essence[1].lower(), value
    return essence[1].lower(), ""


def is_html(essence: str) -> bool:
    """A page for the HTML parser; without a usable Content-Type a body is taken for one."""
    return essence in ("text/html", "")


def is_xhtml(essence: str) -> bool:
    """A page for the XML parser."""
    return essence == "application/xhtml+xml"


def is_xml(essence: str) -> bool:
    """An XML document, XHTML included (WHATWG MIME Sniffing, "XML MIME type")."""
    return essence.endswith("+xml") or essence in ("text/xml", "application/xml")


def is_text(essence: str) -> bool:
    """A body that has a character encoding: HTML, XML, text of any kind, JSON, scripts."""
    return (
        essence.startswith("text/")
        or is_html(essence)
        or is_xml(essence)
        or essence in _TEXT_ESSENCES
        or essence.endswith("+json")
    )
