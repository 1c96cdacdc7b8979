"""The short way for links that need no URL parser: nearly all links of nearly all pages.

ada-url is a cffi binding and gives the interpreter lock up on every call: called once a link by
many threads it halves a crawler's throughput. So a link made only of characters that the parser
would copy is put together here, and everything else goes to the parser. The result is the same for
every input; a property test holds the two ways together.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mercator.urls.policy import Policy
from mercator.values import CanonicalUrl, Reason, RefusedUrl

Resolve = Callable[[str], CanonicalUrl | RefusedUrl | None]
"""One link of a page to its URL; see `canonical.Canonicalizer.parse`."""

_FIRST = r"[A-Za-z0-9_~!$&'*+,=@:-]"
_REST = r"[A-Za-z0-9_~!$&'*+,=@:.-]*+"
_PLAIN_PATH = re.compile(rf"(?:/{_FIRST}{_REST})*+/?+")
"""A path that parser and policies (but `aggressive`) copy. No segment is empty, so that it is no
host, or begins with a dot, so that it is no dot segment; nothing is escaped or a parameter."""

_COPIED_FIRST = r"(?:[A-Za-z0-9_~!$&'()*+,;=@:|-]|%(?!2[Ee]))"
_COPIED_REST = r"(?:[A-Za-z0-9_~!$&'()*+,;=@:|.-]++|%(?!2[Ee]))*+"
_COPIED = re.compile(
    rf"(?:/{_COPIED_FIRST}{_COPIED_REST})*+/?+(?:\?[A-Za-z0-9_~!$&()*+,;=@:|.%/?\[\]-]*+)?+"
)
"""Path and query that the parser copies and a policy may change. `%2e` is a dot in dot segments."""

_SITE = re.compile(r"https?://((?!xn--)(?:[a-z0-9-]++\.(?!xn--))*+[a-z][a-z0-9-]*+)(?=[/?]|\Z)")
"""Scheme and host that the parser copies: lower case, no port, nothing international, and a last
label that is no number, which would make it an IPv4 address."""

_OPAQUE = re.compile(r"(?:mailto|tel|javascript|data):(?!/)[!$-;=?-~]*+")
"""Schemes that pages are full of and nobody crawls."""


def plain_links(
    page: CanonicalUrl, policy: Policy, max_url_bytes: int, by_parser: Resolve
) -> Resolve:
    """Resolves links against the page's URL, asking `by_parser` for those that are not plain."""
    start = page.url.index("/", 8)
    origin = page.url[:start]
    own_site = origin + "/"
    path = page.url[start:].partition("?")[0]
    folder = path[: path.rindex("/") + 1]
    plain_path, copied = _PLAIN_PATH.fullmatch, _COPIED.fullmatch
    key_of, keeps_plain_paths = policy

    def resolve(href: str) -> CanonicalUrl | RefusedUrl | None:
        text = href.partition("#")[0] if "#" in href else href
        if len(text) > max_url_bytes:  # or a link of a million steps would be copied at each
            return by_parser(href)
        site, host = origin, page.host
        if text[:1] == "/":
            rest = text
        elif text.startswith(own_site):
            rest = text[start:]
        elif text[:1] == "?":
            rest = path + text
        elif ":" in text:
            other = _SITE.match(text)
            if other is None:
                if _OPAQUE.fullmatch(text):
                    return RefusedUrl(text, "", Reason.UNSUPPORTED_SCHEME)
                return by_parser(href)
            site, host = other[0], other[1]
            rest = text[other.end() :]
            if rest[:1] != "/":
                rest = "/" + rest
        elif text == "":
            return page
        else:
            rest = folder + text if text[0] != "." else _climbed(folder, text)
        if plain_path(rest):
            url = site + rest
            key_url = url if keeps_plain_paths else key_of(url)
        elif copied(rest):
            url = site + rest
            key_url = key_of(url)
        else:
            return by_parser(href)
        if len(url) > max_url_bytes:
            return by_parser(href)
        return CanonicalUrl(url, key_url, host)

    return resolve


def _climbed(folder: str, text: str) -> str:
    """The path for a link that begins with `./` or `../` steps; others keep their dots, which no
    plain path has."""
    while True:
        if text.startswith("../"):
            text = text[3:]
            folder = folder[: folder.rfind("/", 0, -1) + 1] or "/"
        elif text.startswith("./"):
            text = text[2:]
        else:
            return folder + text
