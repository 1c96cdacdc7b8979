"""The origin that a robots.txt speaks for (RFC 9309, 2.3). Pure."""

from __future__ import annotations

import re

from mercator.urls.canonical import Canonicalizer
from mercator.values import CanonicalUrl

_URLS = Canonicalizer("conservative")  # only the spelling to fetch is used, not the key
_ORIGIN = re.compile(
    r"(https?)://([a-z0-9!$&'()*+,;=~_.-]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]*))?(?![^/?#])"
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def origin_of(url: str) -> str:
    """`https://h:8443` for a URL: scheme, host and port, the scheme's own port left out.

    Cheap for URLs in the spelling that is requested; any other absolute URL is parsed first.
    Raises ValueError for what is no http(s) URL.
    """
    found = _ORIGIN.match(url)
    if found is None:
        parsed = _URLS.parse(url)
        found = _ORIGIN.match(parsed.url) if isinstance(parsed, CanonicalUrl) else None
        if found is None:
            raise ValueError(f"no http(s) URL: {url!r}")
    scheme, host, port = found.groups()
    if port is None or port == _DEFAULT_PORTS[scheme]:
        return f"{scheme}://{host}"
    return f"{scheme}://{host}:{port}"


def robots_url(origin: str) -> str:
    """Where an origin's robots.txt lies (RFC 9309, 2.3)."""
    return f"{origin}/robots.txt"
