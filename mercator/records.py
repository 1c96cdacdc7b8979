"""What a person gets out of a crawl: the rows of the public tables, the summary, an explanation.

Columns, their order and their meaning are those of the interface (sections 2 and 3). Attributes
are Python values (times as aware UTC `datetime`); `as_dict` gives the same as JSON-ready values:
times as RFC 3339 with microseconds and `Z`, empty values as None. Hashes are lower-case hex and
references between tables are `key_url` texts in both.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mercator.errors import StateError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

Json = dict[str, Any]
"""A JSON object: str keys; values of None, bool, int, float, str, list, dict."""

Raw = bytes
"""`bytes` under a name that the column `bytes` does not hide inside a class."""


_LAST_S = 253_402_300_799.0
"""The last second that `datetime` can hold; a later time is shown as this one."""


def utc(unix_s: float) -> datetime | None:
    """Unix seconds as an aware UTC time, to the microsecond; None for 0.0, which means never."""
    return datetime.fromtimestamp(min(unix_s, _LAST_S), UTC) if unix_s else None


def rfc3339(moment: datetime) -> str:
    """`2027-01-15T08:00:00.000000Z`: RFC 3339, always with six digits, so that texts sort.

    `moment` is in UTC, as `utc` gives it.
    """
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def _ready(value: object) -> object:
    if isinstance(value, datetime):
        return rfc3339(value)
    return list(value) if isinstance(value, tuple) else value


COUNTERS = (
    "stored",
    "fetched",
    "redirects",
    "not_modified",
    "duplicates_exact",
    "duplicates_near",
    "robots_refused",
    "refused",
    "failed",
    "gone",
    "seen",
    "known_again",
    "pending",
    "bytes",
)
"""The fields of `Status` that `meta` keeps over all runs, in its row "counters"; a URL on lease counts
as pending there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The counters of a crawl (interface section 2): of the store over all its runs, but for
    `elapsed_s` to `stop_reason`, which are of the last run.

    `seen = stored + redirects + gone + failed + robots_refused + refused + pending + in_flight`,
    and the values of `reasons` sum to `gone + failed + robots_refused + refused`.
    Threads: immutable (`reasons` is the value's own copy and must not be written).
    """

    stored: int = 0
    fetched: int = 0
    redirects: int = 0
    not_modified: int = 0
    duplicates_exact: int = 0
    duplicates_near: int = 0
    robots_refused: int = 0
    refused: int = 0
    failed: int = 0
    gone: int = 0
    seen: int = 0
    known_again: int = 0
    pending: int = 0
    in_flight: int = 0
    hosts: int = 0
    bytes: int = 0
    elapsed_s: float = 0.0
    pages_per_s: float = 0.0
    fetch_ms_p50: float = 0.0
    fetch_ms_p95: float = 0.0
    bucket_wait_s: float = 0.0
    stop_reason: str | None = None
    reasons: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        # `str` takes an enum's member to the plain text that JSON and a repr should show.
        object.__setattr__(self, "reasons", {str(name): n for name, n in self.reasons.items()})

    def as_dict(self) -> Json:
        """Every field by name, in the interface's order."""
        return {name: getattr(self, name) for name in _STATUS} | {"reasons": dict(self.reasons)}

    def groups(self) -> tuple[tuple[str, str], ...]:
        """The fields as (group, text) pairs for people; reasons with the largest first."""
        reasons = sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))
        return (
            ("state", self.stop_reason or "not ended"),
            (
                "pages",
                f"{self.stored} stored ({_size(self.bytes)}), {self.duplicates_exact} exact and "
                f"{self.duplicates_near} near copies, {self.not_modified} not modified",
            ),
            ("answers", f"{self.fetched} fetched, {self.redirects} redirects"),
            (
                "not stored",
                f"{self.refused} refused, {self.robots_refused} refused by robots, "
                f"{self.failed} failed, {self.gone} gone",
            ),
            ("reasons", ", ".join(f"{name} {count}" for name, count in reasons) or "none"),
            (
                "frontier",
                f"{self.seen} URLs of {self.hosts} hosts seen, {self.pending} pending, "
                f"{self.in_flight} in flight, {self.known_again} links known again",
            ),
            (
                "pace",
                f"{self.elapsed_s:.1f} s, {self.pages_per_s:.2f} pages/s, fetch "
                f"{self.fetch_ms_p50:.0f} ms median, {self.fetch_ms_p95:.0f} ms 95th percentile, "
                f"{self.bucket_wait_s:.1f} s waited for the rate",
            ),
        )

    def __repr__(self) -> str:
        lines = (f"  {group:<10}  {text}" for group, text in self.groups())
        return "\n".join(("Status", *lines))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(group)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for group, text in self.groups()
        )
        return f"<table>{rows}</table>"


_STATUS = tuple(Status.__dataclass_fields__)


def _size(count: int) -> str:
    size, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRecord:
    """A stored page. `warc_file` is None for a body that lies in `bodies/` under its `sha256`.

    `elapsed_ms` is the request's duration, `bytes` the decompressed length, `attempts` counts the
    requests for this URL, the last one included.
    Threads: immutable; `body` and `soup` read the store and are safe from any thread.
    """

    url: str
    key_url: str
    status: int
    depth: int
    discovered_from: str | None
    fetched_at: datetime | None
    elapsed_ms: float
    address: str | None
    content_type: str | None
    encoding: str | None
    encoding_from: str | None
    bytes: int
    truncated: bool
    sha256: str
    simhash: str | None
    title: str | None
    duplicate_of: str | None
    near_duplicate_of: str | None
    near_distance: int | None
    canonical: str | None
    noindex: bool
    nofollow: bool
    signals: str | None
    etag: str | None
    last_modified: str | None
    attempts: int
    warc_file: str | None
    warc_offset: int | None
    _read_body: Callable[[], Raw] | None = field(default=None, repr=False, compare=False)
    _make_soup: Callable[[Raw, str | None], BeautifulSoup] | None = field(
        default=None, repr=False, compare=False
    )

    def body(self) -> Raw:
        """The decompressed body, read from the store at each call.

        Raises StoreDamagedError when it is not there or not whole, StateError for a record that was
        not read from a store.
        """
        if self._read_body is None:
            raise StateError("this record was not read from a store and has no body")
        return self._read_body()

    @property
    def soup(self) -> BeautifulSoup:
        """The body as a BeautifulSoup tree in the page's encoding, parsed anew at each call."""
        if self._make_soup is None:
            raise StateError("this record was not read from a store and has no body")
        return self._make_soup(self.body(), self.encoding)

    def as_dict(self) -> Json:
        """The columns by name, JSON-ready, in the interface's order."""
        return {name: _ready(getattr(self, name)) for name in PAGE_COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRecord:
    """A link of a stored page, or a redirect. `target` is None where the URL has no `key_url`
    (over 2,083 bytes, or with a user name): its row in `failures` holds the spelling.
    Threads: immutable.
    """

    source: str
    target: str | None
    kind: str
    rel: str | None
    anchor: str | None

    def as_dict(self) -> Json:
        """The columns by name, JSON-ready, in the interface's order."""
        return {
            "source": self.source,
            "target": self.target,
            "kind": self.kind,
            "rel": self.rel,
            "anchor": self.anchor,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRecord:
    """A URL that was discovered and is not stored, with its one reason (interface section 4).

    `first_at` and `last_at` are None and `attempts` is 0 for what was refused before any request.
    Threads: immutable.
    """

    url: str
    key_url: str | None
    reason: str
    status: int | None
    error: str | None
    attempts: int
    first_at: datetime | None
    last_at: datetime | None
    discovered_from: str | None

    def as_dict(self) -> Json:
        """The columns by name, JSON-ready, in the interface's order."""
        return {name: _ready(getattr(self, name)) for name in FAILURE_COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRecord:
    """A host: its counters, its clock and its robots.txt.

    The host may not be asked before `due_at` and `blocked_until`. `robots` is `rules`, `none` (no
    limits), `unknown`, or None before the first answer; `robots_at` is the age of what is in force.
    Threads: immutable.
    """

    host: str
    stored: int
    failed: int
    pending: int
    gap_s: float
    gap_reason: str | None
    due_at: datetime | None
    blocked_until: datetime | None
    robots: str | None
    robots_at: datetime | None
    addresses: tuple[str, ...]
    bytes: int

    def as_dict(self) -> Json:
        """The columns by name, JSON-ready, in the interface's order."""
        return {name: _ready(getattr(self, name)) for name in HOST_COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitRecord:
    """A row of the politeness ledger: one request that was sent or tried.

    `started_at` and `ended_at` are Unix seconds with microseconds kept, because gaps are computed
    from them; `gap_s` is the gap in force before this request and `gap_reason` says why;
    `robots_at` is the age of the robots.txt copy that allowed it.
    Threads: immutable.
    """

    host: str
    url: str | None
    kind: str
    address: str | None
    started_at: float
    ended_at: float
    status: int | None
    error: str | None
    bytes: int
    gap_s: float
    gap_reason: str | None
    robots_at: datetime | None

    def as_dict(self) -> Json:
        """The columns by name, JSON-ready, in the interface's order."""
        return {name: _ready(getattr(self, name)) for name in VISIT_COLUMNS}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of a URL and why.

    `state` is pending, stored, redirected, gone, failed, robots_refused, refused or unknown;
    `reason` is of the closed list, or None; for an unknown URL it is what the rules would say of it
    now. `story` is at most ten lines for a person.
    Threads: immutable.
    """

    url: str
    key_url: str | None
    state: str
    reason: str | None
    story: tuple[str, ...]

    def as_dict(self) -> Json:
        """The fields by name, JSON-ready."""
        return {
            "url": self.url,
            "key_url": self.key_url,
            "state": self.state,
            "reason": self.reason,
            "story": list(self.story),
        }

    def __str__(self) -> str:
        return "\n".join(self.story)


def _columns(record: Any) -> tuple[str, ...]:
    return tuple(name for name in record.__dataclass_fields__ if not name.startswith("_"))


PAGE_COLUMNS = _columns(PageRecord)
LINK_COLUMNS = _columns(LinkRecord)
FAILURE_COLUMNS = _columns(FailureRecord)
HOST_COLUMNS = _columns(HostRecord)
VISIT_COLUMNS = _columns(VisitRecord)
