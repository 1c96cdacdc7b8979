"""What one answer to a request for robots.txt means (RFC 9309, 2.3.1). Pure."""

from __future__ import annotations

from typing import NamedTuple

from mercator.politeness.robots_rules import ROBOTS_MAX_BYTES, whole_lines
from mercator.ports import Body
from mercator.rows import RobotsRow
from mercator.urls.canonical import Canonicalizer
from mercator.values import CanonicalUrl, FetchFailure, FetchResult

RULES = "rules"
NONE = "none"
UNKNOWN = "unknown"

_FOLLOWED = frozenset({300, 301, 302, 303, 307, 308})
_LONGEST_VALIDATOR = 512
_URLS = Canonicalizer("conservative")  # only the spelling to fetch is used, not the key


class Follow(NamedTuple):
    """The answer was a redirect: `url` has to be asked, after `hops` redirects.

    Threads: immutable.
    """

    url: str
    hops: int


class Had(NamedTuple):
    """The file could be had ("rules") or is not there ("none"): a verdict that is in force now.

    Threads: immutable.
    """

    verdict: str
    status: int
    body: bytes = b""
    etag: str = ""
    last_modified: str = ""


def read_answer(
    answer: FetchResult | FetchFailure, *, hops: int, max_redirects: int, before: RobotsRow | None
) -> Follow | Had | None:
    """What the answer after `hops` redirects says; None: nothing, the file is unknown.

    `before` is what was known when the request was made. A 3xx or 4xx counts by its status even
    when its body broke off, since nothing of the body is wanted. A redirect that cannot be
    followed, and one more than `max_redirects`, mean that there is no file (2.3.1.2).
    """
    status = answer.status or 0
    if status in _FOLLOWED and hops < max_redirects:
        target = _target(answer)
        if target is not None:
            return Follow(target, hops + 1)
    if 300 <= status < 500 and status != 304:
        return Had(NONE, status)
    if isinstance(answer, FetchFailure):
        return None
    if status == 304:
        # Without a condition in the request there is no copy that a 304 could speak of.
        if hops > 0 or before is None or not condition(before):
            return None
        etag, modified = _validators(answer)
        return Had(
            RULES, status, before.body, etag or before.etag, modified or before.last_modified
        )
    if not 200 <= status < 300 or not answer.wanted:
        return None
    body = whole_lines(_start_of(answer.body), cut=answer.truncated)
    # A validator belongs to the URL that gave it: one from behind a redirect is not kept.
    return Had(RULES, status, body, *(_validators(answer) if hops == 0 else ("", "")))


def condition(row: RobotsRow) -> tuple[tuple[str, str], ...]:
    """The headers that ask for the file only if it has changed (RFC 9110, 13.1)."""
    headers = []
    if row.etag:
        headers.append(("If-None-Match", row.etag))
    if row.last_modified:
        headers.append(("If-Modified-Since", row.last_modified))
    return tuple(headers)


def _target(answer: FetchResult | FetchFailure) -> str | None:
    """Where a redirect leads, if that is a URL that may be asked at all."""
    location = _header(answer, "location")
    target = _URLS.parse(location, answer.url) if location else None
    return target.url if isinstance(target, CanonicalUrl) else None


def _header(answer: FetchResult | FetchFailure, wanted: str) -> str:
    for name, value in answer.headers:
        if name.lower() == wanted:
            return value.strip()
    return ""


def _start_of(body: Body) -> bytes:
    """As much of a body as is read, and a little more where it goes on."""
    start = b""
    for chunk in body.chunks():
        start += chunk
        if len(start) > ROBOTS_MAX_BYTES:
            break
    return start


def _validators(answer: FetchResult) -> tuple[str, str]:
    """ETag and Last-Modified, as far as they may be sent back."""
    return _sendable(_header(answer, "etag")), _sendable(_header(answer, "last-modified"))


def _sendable(value: str) -> str:
    """A value that no client can send would make every later request for the file fail."""
    fits = value.isascii() and value.isprintable() and len(value) <= _LONGEST_VALIDATOR
    return value if fits else ""
