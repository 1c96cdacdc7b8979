"""The three URL policies: the spelling that is fetched to the key under which it is seen.

Each takes an http(s) URL as the WHATWG parser wrote it, without fragment, and returns a URL that is
never longer. A stronger policy works on the weaker one's result, so that what is one URL under a
policy is one under each stronger one. All are idempotent, also through the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import itemgetter
from typing import Final, NamedTuple

from mercator.config import UrlPolicy
from mercator.urls.policy_lists import (
    COOKIELESS_SEGMENT,
    INDEX_DOCUMENT,
    PATH_SESSION_NAMES,
    PATH_TOKEN_SESSION_NAMES,
    SESSION_NAMES,
    SESSION_PREFIXES,
    TOKEN_SESSION_NAMES,
    TOKEN_VALUE,
    TRACKING_NAMES,
    TRACKING_PREFIXES,
)

POLICY_VERSION: Final = "1"
"""Of the rules below; the lists have their own. Written into every store, as keys depend on it."""

UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""RFC 3986, 2.3: the characters whose escapes mean the same as themselves."""

_HEX = "0123456789ABCDEFabcdef"
_MEANING: dict[str, str] = {
    a + b: c if (c := chr(int(a + b, 16))) in UNRESERVED else f"%{a}{b}".upper()
    for a in _HEX
    for b in _HEX
}
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_CHANGES = re.compile(
    "%(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-Fa-f]|2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])"
)
"""An escape that the conservative policy rewrites; most URLs with escapes have none."""
_STRAY = re.compile("%(?![0-9A-Fa-f]{2})")

_DROPPED_PREFIXES = TRACKING_PREFIXES + SESSION_PREFIXES
_DROPPED_NAMES = TRACKING_NAMES | SESSION_NAMES
_TOKEN = re.compile(TOKEN_VALUE)
_COOKIELESS = re.compile(COOKIELESS_SEGMENT)
_INDEX = re.compile(INDEX_DOCUMENT, re.IGNORECASE)
_NAME = itemgetter(0)


def conservative_key(url: str) -> str:
    """What RFC 3986 (6.2.2) and the WHATWG standard make equal, and nothing else.

    Hexadecimal digits of escapes in upper case, escapes of unreserved characters decoded, once.
    """
    if "%" not in url or _CHANGES.search(url) is None:
        return url
    if _STRAY.search(url) is None:
        return _ESCAPE.sub(_meaning, url)
    return _beside_strays(url)


def standard_key(url: str) -> str:
    """The conservative key without session and tracking parameters, its query sorted by name.

    Pieces of one name keep their order, since it can matter; `a` and `a=` stay apart.
    """
    head, mark, query = conservative_key(url).partition("?")
    if ";" in head or "(" in head:
        head = _without_sessions(head)
    if mark and (query := _sorted_query(query)):
        return f"{head}?{query}"
    return head


def aggressive_key(url: str) -> str:
    """The standard key without double slashes, trailing slash and index document in the path.

    Index documents go until none is left: `/a/index.html/index.php` is `/a`.
    """
    head, mark, query = standard_key(url).partition("?")
    start = head.index("/", 8)
    segments = [segment for segment in head[start:].split("/") if segment]
    while segments and _INDEX.fullmatch(segments[-1]):
        segments.pop()
    return f"{head[:start]}/{'/'.join(segments)}{mark}{query}"


class Policy(NamedTuple):
    """A policy: its key function, and whether it leaves every plain path (`plain_links`) as it is.

    Threads: immutable.
    """

    key_of: Callable[[str], str]
    keeps_plain_paths: bool


POLICIES: Final[dict[UrlPolicy, Policy]] = {
    "conservative": Policy(conservative_key, True),
    "standard": Policy(standard_key, True),
    "aggressive": Policy(aggressive_key, False),
}


def _meaning(escape: re.Match[str]) -> str:
    return _MEANING[escape[1]]


def _beside_strays(url: str) -> str:
    """As `conservative_key`, for text in which some % begins no escape.

    A digit is not decoded where it would complete an escape with a stray % before it: `%%34%31`
    would become `%41`, another URL, and `A` the next time.
    """
    written = ""
    done = 0
    for escape in _ESCAPE.finditer(url):
        written += url[done : escape.start()]
        done = escape.end()
        meaning = _MEANING[escape[1]]
        if meaning in _HEX and (
            (written[-2:-1] == "%" and written[-1] in _HEX)
            or (written[-1:] == "%" and url[done : done + 1] in _HEX_DIGITS)
        ):
            meaning = escape[0].upper()
        written += meaning
    return written + url[done:]


_HEX_DIGITS = frozenset(_HEX)
"""As a set: an empty string is no member, while it is part of every string."""


def _sorted_query(query: str) -> str:
    """The pieces that count, sorted by name; "" when none is left."""
    kept = []
    for piece in query.split("&"):
        if piece:
            name, _, value = piece.partition("=")
            folded = name.lower()
            if not (
                folded.startswith(_DROPPED_PREFIXES)
                or folded in _DROPPED_NAMES
                or (folded in TOKEN_SESSION_NAMES and _TOKEN.fullmatch(value))
            ):
                kept.append((name, piece))
    if len(kept) > 1:
        kept.sort(key=_NAME)
    return "&".join([piece for _, piece in kept])


def _without_sessions(head: str) -> str:
    """Scheme, authority and path without the sessions that frameworks write into paths."""
    start = head.index("/", 8)
    kept = []
    for segment in head[start + 1 :].split("/"):
        clean = _without_parameters(segment) if ";" in segment else segment
        if not _COOKIELESS.fullmatch(clean):
            kept.append(clean)
    if ".." in kept or "." in kept:
        kept = _without_dots(kept)
    return f"{head[:start]}/{'/'.join(kept)}"


def _without_parameters(segment: str) -> str:
    name, *parameters = segment.split(";")
    kept = [name]
    for parameter in parameters:
        label, _, value = parameter.partition("=")
        folded = label.lower()
        if folded not in PATH_SESSION_NAMES and not (
            folded in PATH_TOKEN_SESSION_NAMES and _TOKEN.fullmatch(value)
        ):
            kept.append(parameter)
    return ";".join(kept)


def _without_dots(segments: list[str]) -> list[str]:
    """Dot segments that came to light (`..;jsessionid=1`) resolved as the parser would, which
    otherwise does so the next time the key is parsed."""
    resolved: list[str] = []
    for segment in segments:
        if segment == "..":
            del resolved[-1:]
        elif segment != ".":
            resolved.append(segment)
    if segments[-1] in (".", ".."):
        resolved.append("")
    return resolved
