"""The rows of the tables, as values. Their bytes are `store/codec.py`'s business; the map of the
tables, with keys and format version, is `store/tables.py`.

All are NamedTuples: they are made and read several times a page.
"""

from __future__ import annotations

from typing import NamedTuple

from mercator.values import FailureKind, HostId, Kind, Reason, State, UrlKey


class UrlRow(NamedTuple):
    """Table `urls`: all that is known of one URL. The table is the seen set.

    `url` is the spelling that is requested, `key_url` the canonical one ("" for the reasons
    url_too_long, invalid_url and unsupported_scheme). `parent` is the page it was first found on,
    or the URL that redirected to it when `hops` > 0. `target` is set in state REDIRECTED.
    `status` is the last answer's (0: none), `last_at` 0.0 while it was never tried.
    Threads: immutable.
    """

    state: State
    url: str
    key_url: str
    reason: Reason | None = None
    level: int = 0
    depth: int = 0
    attempts: int = 0
    hops: int = 0
    is_seed: bool = False
    seed_began: bool = False
    poisoned: int = 0
    status: int = 0
    parent: UrlKey = UrlKey(b"")
    target: UrlKey = UrlKey(b"")
    found_at: float = 0.0
    due_at: float = 0.0
    first_at: float = 0.0
    last_at: float = 0.0


class Glance(NamedTuple):
    """What the URL-seen test needs of a known URL, read without decoding the row.

    Threads: immutable.
    """

    state: State
    reason: Reason | None
    depth: int


class HostRow(NamedTuple):
    """Table `hosts`: a host's clock and counters. The router's pin is a row of `pins`.

    The host may not be asked before max(`due_at`, `blocked_until`). `strikes` counts failures of the
    host in a row (the exponent of its back-off), `unreachable` those below HTTP, the first of them at
    `unreachable_since`. `pending` counts the host's pending URLs wherever they wait.
    Threads: immutable.
    """

    host: str
    due_at: float = 0.0
    gap_s: float = 0.0
    gap_reason: str = ""
    blocked_until: float = 0.0
    block_reason: str = ""
    strikes: int = 0
    unreachable: int = 0
    unreachable_since: float = 0.0
    unreachable_kind: FailureKind | None = None
    stored: int = 0
    failed: int = 0
    pending: int = 0
    body_bytes: int = 0
    addresses: tuple[str, ...] = ()


class RobotsRow(NamedTuple):
    """Table `robots`, by asking origin: the verdict in force and the last good copy.

    `verdict` is "rules", "none" (no limits) or "unknown". `body` and `body_at` are the last copy that
    was had, kept while the file cannot be had; `asked_at` is the last answer or failure,
    `unknown_since` the first failure in a row, `ask_again_at` the earliest next try.
    Threads: immutable.
    """

    verdict: str
    body: bytes
    body_at: float
    asked_at: float
    ask_again_at: float
    unknown_since: float = 0.0
    tries: int = 0
    status: int = 0
    error: str = ""
    etag: str = ""
    last_modified: str = ""


class PageRow(NamedTuple):
    """Table `pages`: one row a stored page (interface section 3), references as keys.

    Threads: immutable.
    """

    status: int
    depth: int
    parent: UrlKey
    fetched_at: float
    elapsed_ms: float
    address: str
    content_type: str | None
    encoding: str | None
    encoding_from: str | None
    body_bytes: int
    truncated: bool
    sha256: bytes
    simhash: bytes | None
    title: str | None
    duplicate_of: UrlKey
    near_duplicate_of: UrlKey
    near_distance: int | None
    canonical: str | None
    noindex: bool
    nofollow: bool
    signals: str | None
    etag: str | None
    last_modified: str | None
    attempts: int
    warc_file: str
    warc_offset: int


class ContentRow(NamedTuple):
    """Table `content`, by SHA-256 of the decompressed body: who had it first, where it lies.

    Threads: immutable.
    """

    first: UrlKey
    warc_file: str
    warc_offset: int


class LinkRow(NamedTuple):
    """One element of table `links`. `target` is a key, or b"" when the link has no row of its own
    (img, rel=sitemap): then `target_url` is its canonical text.
    Threads: immutable.
    """

    target: UrlKey
    target_url: str
    kind: str
    rel: str
    anchor: str


class VisitRow(NamedTuple):
    """Table `visits`: the politeness ledger, one row a request that was sent or tried.

    Threads: immutable.
    """

    host: str
    url: str
    kind: Kind
    address: str
    started_at: float
    ended_at: float
    status: int
    error: str
    body_bytes: int
    gap_s: float
    gap_reason: str
    robots_at: float


class DeadRow(NamedTuple):
    """Table `dead`: every URL with a reason, the refused ones too; what `export failures` walks.

    Threads: immutable.
    """

    reason: Reason
    attempts: int
    error: str


class QueueKey(NamedTuple):
    """A place in `front` (level as one byte), `back` (host_id) or `delayed` (due_at as 8 bytes).

    Threads: immutable.
    """

    prefix: bytes
    sequence: int


__all__ = [
    "ContentRow",
    "DeadRow",
    "Glance",
    "HostId",
    "HostRow",
    "LinkRow",
    "PageRow",
    "QueueKey",
    "RobotsRow",
    "UrlRow",
    "VisitRow",
]
