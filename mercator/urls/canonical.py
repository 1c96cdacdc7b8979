"""Step 2 of a URL's way: text and base to the URL that is fetched and the key it is seen under.

The parser is ada-url, the WHATWG URL standard of 2026: what it makes of a text is what a browser
would ask for. The layer on top drops the fragment, says which URLs are not ours to crawl, and has
the policies make the key.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

import ada_url

from mercator.config import UrlPolicy
from mercator.errors import ConfigError
from mercator.urls.plain_links import Resolve, plain_links
from mercator.urls.policy import POLICIES, POLICY_VERSION
from mercator.urls.policy_lists import LISTS_VERSION
from mercator.urls.query_encoding import with_encoded_query
from mercator.urls.traps import MAX_URL_BYTES
from mercator.values import CanonicalUrl, Reason, RefusedUrl

_OTHER_HOST = re.compile(r"[^:]*://(?:[^/?]*@)?(\[[^\]]*\]|[^/?:]*)")


class Canonicalizer:
    """Makes canonical URLs under one policy.

    `max_url_bytes` bounds both spellings; a longer URL is refused with URL_TOO_LONG.
    Raises ConfigError for a policy that does not exist.
    Threads: immutable.
    """

    __slots__ = ("_policy", "max_url_bytes", "policy")

    def __init__(self, policy: UrlPolicy = "standard", max_url_bytes: int = MAX_URL_BYTES) -> None:
        if policy not in POLICIES:
            raise ConfigError(f"url_policy must be one of {', '.join(POLICIES)}, not {policy!r}")
        self.policy: Final = policy
        self.max_url_bytes: Final = max_url_bytes
        self._policy: Final = POLICIES[policy]

    def parse(
        self, text: str, base: str | None = None, encoding: str = "utf-8"
    ) -> CanonicalUrl | RefusedUrl | None:
        """The URL that `text` stands for in a document at `base`, in a document of `encoding`.

        `text` is what an attribute holds after HTML decoding; without a base it must be absolute.
        `encoding` is a label and concerns non-ASCII characters of the query only. Gives None for
        what does not parse as a URL of any scheme, a `RefusedUrl` for schemes other than http and
        https, for a user name or password, and for a URL that is too long. Never raises on a text.
        O(length of the text).
        """
        href = _parsed(text, base, encoding)
        if href is None:
            return None
        url, host, reason = _judged(href)
        if reason is not None:
            return RefusedUrl(url, host, reason)
        if len(url) > self.max_url_bytes:
            return RefusedUrl(url, host, Reason.URL_TOO_LONG)
        return CanonicalUrl(url, self._policy.key_of(url), host)

    def for_page(self, base: str, encoding: str = "utf-8") -> Resolve:
        """A function that resolves the links of one page, each as `parse(text, base, encoding)`.

        The base is taken apart once, and plain links do not reach the parser (`plain_links`): about
        1 us a link instead of 3, and no hand-over of the interpreter lock.
        """
        by_parser = partial(self.parse, base=base, encoding=encoding)
        page = self.parse(base)
        if not isinstance(page, CanonicalUrl):
            return by_parser
        return plain_links(page, self._policy, self.max_url_bytes, by_parser)


def canonicalize(
    text: str,
    base: str | None = None,
    policy: UrlPolicy = "standard",
    encoding: str = "utf-8",
) -> str | None:
    """The canonical URL of a text under a policy, or None.

    None for what is no http(s) URL, carries a user name or password, or is canonically over 2,083
    bytes: the spelling that was found may be longer, if what the policy drops makes it so.
    Raises ConfigError for a policy that does not exist.
    """
    if policy not in POLICIES:
        raise ConfigError(f"policy must be one of {', '.join(POLICIES)}, not {policy!r}")
    href = _parsed(text, base, encoding)
    if href is None:
        return None
    url, _, reason = _judged(href)
    if reason is not None:
        return None
    key_url = POLICIES[policy].key_of(url)
    return key_url if len(key_url) <= MAX_URL_BYTES else None


def versions() -> dict[str, str]:
    """Of all that a key depends on: the policies' rules, their lists, the URL parser."""
    return {
        "policy": POLICY_VERSION,
        "policy_lists": LISTS_VERSION,
        "ada_url": ada_url.get_version(),  # type: ignore[no-untyped-call]
    }


def _parsed(text: str, base: str | None, encoding: str) -> str | None:
    """The WHATWG parser's serialisation (ASCII for http and https), None for a failure."""
    if not text.isascii():
        text = _scalar_values(text)
        if encoding != "utf-8":
            text = with_encoded_query(text, encoding)
    try:
        if base is None:
            return ada_url.normalize_url(text)
        return ada_url.join_url(_scalar_values(base), text)
    except ValueError:  # the parser's only way to say that this is no URL
        return None


def _scalar_values(text: str) -> str:
    """Lone surrogates, which no encoding can write, become U+FFFD (WebIDL, USVString)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _judged(href: str) -> tuple[str, str, Reason | None]:
    """Fetch spelling, host name, and the reason when the URL is not ours to crawl.

    In a serialised URL the first # begins the fragment, and an @ in the authority ends a user
    name or password; empty ones are not written.
    """
    url = href.partition("#")[0]
    if not url.startswith(("http://", "https://")):
        other = _OTHER_HOST.match(url)
        return url, other[1] if other else "", Reason.UNSUPPORTED_SCHEME
    start = url.index("//") + 2
    authority = url[start : url.index("/", start)]
    reason = None
    if "@" in authority:
        authority = authority.rpartition("@")[2]
        reason = Reason.INVALID_URL
    if ":" in authority and authority[-1] != "]":
        authority = authority.rpartition(":")[0]
    return url, authority, reason
