"""What a visit hands to the writer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mercator.engine.host_clock import HostClock
from mercator.ports import Prepared
from mercator.rows import RobotsRow, UrlRow, VisitRow
from mercator.values import Errand, HostId, ParsedPage, Reason, State, Ticket, UrlKey


class Found(NamedTuple):
    """A link, seed or redirect target after steps 1-4.

    `key_url` is "" for what has no canonical form (then `reason` says why). `reason` is None when
    the URL may enter the frontier. `has_row` is False for links that are listed, not followed.
    Threads: immutable.
    """

    url: str
    key_url: str
    host: str
    key: UrlKey
    reason: Reason | None
    kind: str
    rel: str
    anchor: str
    has_row: bool


class Drain(NamedTuple):
    """All that waits for a host (of one origin, where given) ends with a reason, after `attempts` to
    reach the host from `first_at` to `last_at` (Unix seconds; 0: none were made).

    Threads: immutable.
    """

    host_id: HostId
    reason: Reason
    origin: str
    error: str
    attempts: int = 0
    first_at: float = 0.0
    last_at: float = 0.0

    def tried(self, row: UrlRow) -> UrlRow:
        """The row with the attempts on its host, where it was not asked for itself."""
        if row.attempts:
            return row
        return row._replace(attempts=self.attempts, first_at=self.first_at, last_at=self.last_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page to store: what the parse gave and what the answer's head said. Threads: immutable."""

    status: int
    fetched_at: float
    elapsed_ms: float
    address: str
    content_type: str | None
    body_bytes: int
    truncated: bool
    sha256: bytes
    etag: str | None
    last_modified: str | None
    parsed: ParsedPage
    links: tuple[Found, ...]


@dataclass(slots=True, kw_only=True)
class Finished:
    """One visit's end, applied by the writer in one transaction.

    `state` None means that the URL stays pending: `returned` to the head of its back queue, or
    delayed until `due_at`. `requested`: a request for the page itself was made. `respelled`: the
    spelling under which the same URL has to be asked again. `errand` has to be posted, `errand_done`
    is the one whose request this was.
    Threads: made by one worker, then handed to the writer.
    """

    ticket: Ticket | None
    host_id: HostId
    host: str
    clock: HostClock
    state: State | None = None
    reason: Reason | None = None
    error: str = ""
    status: int = 0
    requested: bool = False
    returned: bool = False
    poisoned: bool = False
    respelled: str = ""
    due_at: float = 0.0
    fetch_ms: float | None = None
    visits: tuple[VisitRow, ...] = ()
    records: tuple[Prepared, ...] = ()
    page: Page | None = None
    redirect: Found | None = None
    robots: tuple[str, RobotsRow] | None = None
    drain: Drain | None = None
    errand: Errand | None = None
    errand_done: Errand | None = None

    def close(self) -> None:
        """Gives back what the records hold: committed or lost, they are of no use any more."""
        for record in self.records:
            record.close()
