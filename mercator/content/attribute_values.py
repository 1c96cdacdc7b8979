"""The small languages inside of attributes: rel tokens, refresh, srcset; and text as it is shown."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_ANCHOR_CHARS = 200
MAX_TITLE_CHARS = 500
_MAX_REL_CHARS = 1000
_MAX_CANDIDATES = 100
INLINE_NAMES = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn"),
        *("em", "font", "i", "ins", "kbd", "label", "mark", "nobr", "q", "s", "samp", "small"),
        *("span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    )
)
"""Elements whose text runs on with what stands beside them; all others set it apart."""

UNSHOWN_NAMES = frozenset(
    ("script", "style", "template", "textarea", "iframe", "noembed", "noframes")
)
"""Elements whose text is not shown as the page's."""

RAW_PER_SHOWN_CHAR = 20
"""How much white space a shown character may come with before the rest of the text is cut off."""

_REFRESH_TIME = re.compile(
    r"[\t\n\f\r ]*+(?:[0-9]++|(?=\.))[0-9.]*+(?=[;,\t\n\f\r ])[\t\n\f\r ]*+[;,]?[\t\n\f\r ]*+"
)
_REFRESH_URL = re.compile(r"[uU][rR][lL][\t\n\f\r ]*+=[\t\n\f\r ]*+")
_CANDIDATE = re.compile(r"[\t\n\f\r ,]*+([^\t\n\f\r ]++)")
_DESCRIPTORS = re.compile(r"(?:[^(,]++|\([^)]*+\)?)*+,?")


@lru_cache(maxsize=1024)
def _tokens(rel: str) -> str:
    return " ".join(dict.fromkeys(rel.lower().split()))


def rel_tokens(rel: str | None) -> str:
    """The tokens of a rel attribute in lower case, each once, in order, joined by one space.

    What lies behind the first 1,000 characters is no longer a set of link types.
    """
    return _tokens(rel[:_MAX_REL_CHARS]) if rel else ""


def shown_text(raw: str, limit: int) -> str:
    """The text with runs of white space as one space, cut to `limit` characters."""
    if len(raw) > limit * RAW_PER_SHOWN_CHAR:
        raw = raw.lstrip()[: limit * RAW_PER_SHOWN_CHAR]
    return " ".join(raw.split())[:limit].rstrip()


def refresh_target(content: str) -> str:
    """The URL of a refresh pragma or Refresh field as written; "" for a plain reload or none.

    A number must stand in front; `url=` and a quote may; without `url=` the rest is the URL.
    Source: WHATWG HTML 4.2.5.3, "shared declarative refresh steps".
    """
    time = _REFRESH_TIME.match(content)
    if time is None:
        return ""
    target = content[time.end() :]
    if target[:1] in ("u", "U"):
        name = _REFRESH_URL.match(target)
        if name is None:
            return target
        target = target[name.end() :]
    if target[:1] in ("'", '"'):
        target = target[1:].partition(target[0])[0]
    return target


def srcset_urls(srcset: str) -> list[str]:
    """The URLs of a srcset attribute, the first hundred (WHATWG HTML 4.8.4.3.10)."""
    urls: list[str] = []
    at = 0
    while len(urls) < _MAX_CANDIDATES and (candidate := _CANDIDATE.match(srcset, at)):
        url = candidate[1]
        at = candidate.end()
        if url.endswith(","):
            url = url.rstrip(",")
        else:
            descriptors = _DESCRIPTORS.match(srcset, at)
            at = descriptors.end() if descriptors else len(srcset)
        urls.append(url)
    return urls
