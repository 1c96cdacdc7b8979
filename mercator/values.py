"""The values that cross doors between rooms, all immutable.

Values that exist once per URL or per link are NamedTuples, because their construction is on the hot
path (about four times cheaper than a frozen dataclass); the rest are frozen dataclasses.
Times named ``*_at`` are Unix seconds, times named ``*_at_s`` are monotonic seconds of the clock,
durations end in ``_s`` or ``_ms``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple, NewType, Protocol

UrlKey = NewType("UrlKey", bytes)
"""16 bytes: 6 of xxh3 over the host name, 10 over the whole canonical URL (`urls/url_key.py`)."""

HostId = NewType("HostId", bytes)
"""The first 6 bytes of every `UrlKey` of the host."""

NO_KEY = UrlKey(b"")
"""Stands for "no URL", e.g. the parent of a seed."""


class State(IntEnum):
    """What became of a URL. The numbers are part of the disk format: never renumber.

    A pending URL lies in exactly one of the tables `front`, `back` and `delayed`; a URL on lease
    (in flight) is a pending one whose ticket is in memory. The legal moves: `frontier/lifecycle.py`.
    """

    PENDING = 1
    STORED = 2
    REDIRECTED = 3
    GONE = 4
    FAILED = 5
    ROBOTS_REFUSED = 6
    REFUSED = 7


class Reason(StrEnum):
    """Why a URL that was discovered is not stored: the closed list of the interface, section 4."""

    INVALID_URL = "invalid_url"
    UNSUPPORTED_SCHEME = "unsupported_scheme"
    OUT_OF_SCOPE = "out_of_scope"
    URL_TOO_LONG = "url_too_long"
    TOO_DEEP = "too_deep"
    PATH_TRAP = "path_trap"
    QUERY_TRAP = "query_trap"
    TEMPLATE_PARKED = "template_parked"
    HOST_BUDGET = "host_budget"
    DOMAIN_BUDGET = "domain_budget"
    PREFIX_BUDGET = "prefix_budget"
    NOFOLLOW = "nofollow"
    ROBOTS_REFUSED = "robots_refused"
    GONE = "gone"
    DNS_FAILED = "dns_failed"
    ADDRESS_REFUSED = "address_refused"
    CONNECT_FAILED = "connect_failed"
    TLS_FAILED = "tls_failed"
    TIMEOUT = "timeout"
    PROTOCOL_ERROR = "protocol_error"
    BODY_BROKEN = "body_broken"
    DECODE_FAILED = "decode_failed"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    REDIRECT_LOOP = "redirect_loop"
    HTTP_ERROR = "http_error"
    BLOCKED_BY_HOST = "blocked_by_host"
    TYPE_NOT_WANTED = "type_not_wanted"
    ROBOTS_UNKNOWN = "robots_unknown"
    POISON = "poison"


REASONS_OF_STATE: dict[State, tuple[Reason, ...]] = {
    State.REFUSED: (
        Reason.INVALID_URL,
        Reason.UNSUPPORTED_SCHEME,
        Reason.OUT_OF_SCOPE,
        Reason.URL_TOO_LONG,
        Reason.TOO_DEEP,
        Reason.PATH_TRAP,
        Reason.QUERY_TRAP,
        Reason.TEMPLATE_PARKED,
        Reason.HOST_BUDGET,
        Reason.DOMAIN_BUDGET,
        Reason.PREFIX_BUDGET,
        Reason.NOFOLLOW,
    ),
    State.ROBOTS_REFUSED: (Reason.ROBOTS_REFUSED,),
    State.GONE: (Reason.GONE,),
    State.FAILED: (
        Reason.DNS_FAILED,
        Reason.ADDRESS_REFUSED,
        Reason.CONNECT_FAILED,
        Reason.TLS_FAILED,
        Reason.TIMEOUT,
        Reason.PROTOCOL_ERROR,
        Reason.BODY_BROKEN,
        Reason.DECODE_FAILED,
        Reason.TOO_MANY_REDIRECTS,
        Reason.REDIRECT_LOOP,
        Reason.HTTP_ERROR,
        Reason.BLOCKED_BY_HOST,
        Reason.TYPE_NOT_WANTED,
        Reason.ROBOTS_UNKNOWN,
        Reason.POISON,
    ),
}
"""The reasons that are counted under each state; the table of interface section 4."""

STATE_OF_REASON: dict[Reason, State] = {
    reason: state for state, reasons in REASONS_OF_STATE.items() for reason in reasons
}


class FailureKind(StrEnum):
    """How a request failed below HTTP. What follows from each: `politeness/failures.py`."""

    DNS_NXDOMAIN = "dns_nxdomain"
    DNS_SERVFAIL = "dns_servfail"
    DNS_TIMEOUT = "dns_timeout"
    DNS_REFUSED = "dns_refused"
    ADDRESS_REFUSED = "address_refused"
    CONNECTION_REFUSED = "connection_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    HOST_UNREACHABLE = "host_unreachable"
    TLS_CERTIFICATE_INVALID = "tls_certificate_invalid"
    TLS_UNKNOWN_CA = "tls_unknown_ca"
    TLS_PROTOCOL_VERSION = "tls_protocol_version"
    TLS_HANDSHAKE_FAILURE = "tls_handshake_failure"
    TLS_HANDSHAKE_TIMEOUT = "tls_handshake_timeout"
    CONNECTION_RESET = "connection_reset"
    READ_TIMEOUT = "read_timeout"
    PROTOCOL_ERROR = "protocol_error"
    HEADERS_TOO_LARGE = "headers_too_large"
    INCOMPLETE_BODY = "incomplete_body"
    CONTENT_DECODING_ERROR = "content_decoding_error"
    CONTENT_CODING_UNKNOWN = "content_coding_unknown"


class Kind(StrEnum):
    """What a request is for; the `kind` column of the ledger."""

    PAGE = "page"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    SIGNAL = "signal"
    UNCLEAN_STOP = "unclean_stop"


class CanonicalUrl(NamedTuple):
    """A URL that may be fetched: the spelling that was found (WHATWG-parsed, without fragment),
    the key under the store's policy, and the host name (lower case, without port).
    Threads: immutable.
    """

    url: str
    key_url: str
    host: str


class RefusedUrl(NamedTuple):
    """A URL text that cannot become a `CanonicalUrl`, and why.

    `reason` is INVALID_URL (a user name in it), URL_TOO_LONG or UNSUPPORTED_SCHEME.
    `url` is the parsed spelling; `host` is "" where the scheme has none.
    Threads: immutable.
    """

    url: str
    host: str
    reason: Reason


class RawLink(NamedTuple):
    """A link as it stands in a page: href after HTML decoding, and what `export links` shows.

    Threads: immutable.
    """

    href: str
    kind: str
    rel: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPage:
    """What one parse of a page gives. `links` are in document order, not yet canonical.

    `encoding_from` is the sniffing step that decided: bom, header, meta, xml, utf-8, default.
    `base_url` is what hrefs are resolved against. `canonical` is absolute or None.
    Threads: immutable.
    """

    encoding: str
    encoding_from: str
    base_url: str
    title: str | None
    links: tuple[RawLink, ...]
    canonical: str | None
    noindex: bool
    nofollow: bool


class Body(Protocol):
    """A decompressed response body, in memory or in a temporary file. Threads: one at a time."""

    size: int
    sha256: bytes

    def read(self) -> bytes:
        """The whole body."""

    def chunks(self) -> Iterator[bytes]:
        """The body in pieces of at most 64 KiB, without holding it whole; from the start each time."""

    def close(self) -> None:
        """Gives memory or file back; may be called twice."""


class Ticket(NamedTuple):
    """A URL on lease to a worker. `sequence` is its place in its host's back queue.

    Threads: immutable.
    """

    key: UrlKey
    url: str
    key_url: str
    host: str
    host_id: HostId
    sequence: int
    level: int
    depth: int
    attempts: int
    hops: int
    seed_began: bool
    parent: UrlKey


class Errand(NamedTuple):
    """A robots.txt redirect that has to be asked under the lease of another host.

    `origin` is the asking origin, `asking_host_id` its host, which stays on lease meanwhile.
    Threads: immutable.
    """

    host: str
    host_id: HostId
    url: str
    origin: str
    asking_host_id: HostId
    hops: int


class Resolution(NamedTuple):
    """A resolver's answer, already judged by the address guard.

    Either `addresses` (IP literals that may be connected to, in order) or `failure` is set.
    `port` replaces the URL's port when connecting (0: the URL's own).
    Threads: immutable.
    """

    addresses: tuple[str, ...]
    port: int
    failure: FailureKind | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """One GET. `content_types`: which 2xx Content-Types are read, as patterns (None: all).

    `timeout_s` counts from connecting to the last byte; `max_body_bytes` counts decompressed.
    Threads: immutable.
    """

    url: str
    addresses: tuple[str, ...]
    port: int
    timeout_s: float
    max_body_bytes: int
    content_types: tuple[str, ...] | None = None
    extra_headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """An answer with a status. `headers` are in order as received, names as spelled.

    `body` is decompressed, at most `max_body_bytes`; `truncated` says that it was cut there.
    `wanted` is False when the body was left unread because of its type.
    Threads: immutable.
    """

    url: str
    status: int
    http_version: str
    status_text: str
    headers: tuple[tuple[str, str], ...]
    request_head: bytes
    body: Body
    truncated: bool
    wanted: bool
    address: str
    started_at: float
    ended_at: float
    elapsed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFailure:
    """A request that gave no usable answer. `status` is set when the head of an answer had come.

    Threads: immutable.
    """

    url: str
    kind: FailureKind
    error: str
    status: int | None
    address: str
    started_at: float
    ended_at: float
    elapsed_s: float
    bytes_read: int = 0
    headers: tuple[tuple[str, str], ...] = ()


class BodyPlace(NamedTuple):
    """Where a body lies: a WARC file's name and offset, or ("", 0) for `bodies/` by SHA-256.

    Threads: immutable.
    """

    warc_file: str
    warc_offset: int
