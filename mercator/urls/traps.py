"""Hard bounds: what a URL alone shows of a trap. What its content shows is judged elsewhere.

Each bound is one that real sites keep (the shape of a folder tree, a form, a file name) and that a
site which mints links without end breaks soon, before many of them are fetched. They are judged on
the canonical URL, so that session parameters and dot segments do not count.
"""

from __future__ import annotations

from typing import Final

from mercator.values import CanonicalUrl, Reason

MAX_URL_BYTES: Final = 2083
"""The longest URL that old browsers could open, so real sites stay below. Applied where a URL is
made (`canonical`), as a longer one has no canonical form."""

MAX_PATH_SEGMENTS: Final = 20
"""Real folder trees are seldom ten deep; paths that grow by a segment a page pass 20 at once."""

MAX_QUERY_PARAMETERS: Final = 12
"""Long forms and open-data tables have up to twelve; filters and toggles that add up have more."""

MAX_GROUP_SEGMENTS: Final = 3
REPEATS: Final = 3
"""A group of 1 to 3 segments three times in a row (`/a/b/a/b/a/b`) is what a relative link yields
on a page that answers under every path. Twice is common: `/news/news/`, `src/app/src/app`."""

NUMBER_REPEATS: Final = 6
"""Of groups made of numbers only: law codes, versions and dates repeat them, `/code/1/1/1/1`."""

_SLASHES_OF_A_REPEAT: Final = REPEATS + 2
"""Slashes in the shortest URL whose path repeats: two of the scheme, one a segment."""


def broken_bound(url: CanonicalUrl) -> Reason | None:
    """PATH_TRAP or QUERY_TRAP when the canonical URL breaks a bound, None when it may be crawled.

    A query is judged for repeats too: `?next=/login?next=/login?next=/login`.
    """
    key_url = url.key_url
    slashes = key_url.count("/")
    if slashes < _SLASHES_OF_A_REPEAT and key_url.count("&") < MAX_QUERY_PARAMETERS:
        return None
    head, _, query = key_url.partition("?")
    segments = head.split("/")[3:]
    if segments[-1] == "":
        del segments[-1]
    if len(segments) > MAX_PATH_SEGMENTS or _repeats(segments):
        return Reason.PATH_TRAP
    if query and (query.count("&") >= MAX_QUERY_PARAMETERS or _repeats(query.split("/"))):
        return Reason.QUERY_TRAP
    return None


def too_deep(depth: int, max_depth: int | None) -> bool:
    """Whether a URL lies further from its seed than the crawl goes; None is no limit."""
    return max_depth is not None and depth > max_depth


def _repeats(segments: list[str]) -> bool:
    """Whether a group of segments comes too often in a row. O(segments x group sizes)."""
    count = len(segments)
    if count - len(set(segments)) < REPEATS - 1:
        return False
    for size in range(1, MAX_GROUP_SEGMENTS + 1):
        alike = 0
        for i in range(size, count):
            if segments[i] != segments[i - size]:
                alike = 0
                continue
            alike += 1
            if alike < (REPEATS - 1) * size:
                continue
            group = segments[i + 1 - size : i + 1]
            if alike >= (NUMBER_REPEATS - 1) * size or not all(map(_is_number, group)):
                return True
    return False


def _is_number(segment: str) -> bool:
    return segment.isdigit()
