"""One table: what an answer or a failure means for its URL and for its host.

The URL's part is an `Action`, the host's part a `HostVerdict`. Statuses by RFC 9110, 15 (an unknown
one counts as the x00 of its class, one outside 100 to 599 as a server error), RFC 6585 and the
habits of crawlers; the reasons are a closed list (`values.Reason`).
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from mercator.politeness.http_date import parse_http_date
from mercator.values import FailureKind, FetchFailure, FetchResult, Reason


class Action(Enum):
    """What happens to the URL. Threads: immutable."""

    STORE = "store"
    FOLLOW = "follow"
    RETRY = "retry"
    GIVE_UP = "give_up"
    GONE = "gone"
    NOT_MODIFIED = "not_modified"


class HostVerdict(Enum):
    """What the answer says about the host. Threads: immutable.

    PAUSE: it asks for a rest (429, 503, Retry-After). UNREACHABLE: name, connection or TLS could
    not be had this time; it counts against the host, not the URL. FATAL: that will not change, so
    all URLs of the host end with the same reason.
    """

    FINE = "fine"
    PAUSE = "pause"
    UNREACHABLE = "unreachable"
    FATAL = "fatal"


class Judgement(NamedTuple):
    """What to do about one attempt.

    `reason` is set when this is the end (GIVE_UP and GONE). `retry_after_s` is the server's wish,
    cut at the ceiling, None without one; it applies to the host whatever becomes of the URL.
    Threads: immutable.
    """

    action: Action
    reason: Reason | None
    host: HostVerdict
    retry_after_s: float | None


class _Entry(NamedTuple):
    """A line of the table: may another attempt help, with which reason does it end, whose fault.

    Threads: immutable.
    """

    again: bool
    reason: Reason
    host: HostVerdict = HostVerdict.FINE


_UNREACHABLE = HostVerdict.UNREACHABLE
_FATAL = HostVerdict.FATAL

_KINDS: dict[FailureKind, _Entry] = {
    FailureKind.DNS_NXDOMAIN: _Entry(False, Reason.DNS_FAILED, _FATAL),
    FailureKind.DNS_SERVFAIL: _Entry(True, Reason.DNS_FAILED, _UNREACHABLE),
    FailureKind.DNS_TIMEOUT: _Entry(True, Reason.DNS_FAILED, _UNREACHABLE),
    FailureKind.DNS_REFUSED: _Entry(True, Reason.DNS_FAILED, _UNREACHABLE),
    FailureKind.ADDRESS_REFUSED: _Entry(False, Reason.ADDRESS_REFUSED, _FATAL),
    FailureKind.CONNECTION_REFUSED: _Entry(True, Reason.CONNECT_FAILED, _UNREACHABLE),
    FailureKind.CONNECT_TIMEOUT: _Entry(True, Reason.CONNECT_FAILED, _UNREACHABLE),
    FailureKind.HOST_UNREACHABLE: _Entry(True, Reason.CONNECT_FAILED, _UNREACHABLE),
    FailureKind.TLS_CERTIFICATE_INVALID: _Entry(False, Reason.TLS_FAILED, _FATAL),
    FailureKind.TLS_UNKNOWN_CA: _Entry(False, Reason.TLS_FAILED, _FATAL),
    FailureKind.TLS_PROTOCOL_VERSION: _Entry(False, Reason.TLS_FAILED, _FATAL),
    FailureKind.TLS_HANDSHAKE_FAILURE: _Entry(True, Reason.TLS_FAILED, _UNREACHABLE),
    FailureKind.TLS_HANDSHAKE_TIMEOUT: _Entry(True, Reason.TLS_FAILED, _UNREACHABLE),
    FailureKind.CONNECTION_RESET: _Entry(True, Reason.PROTOCOL_ERROR),
    FailureKind.READ_TIMEOUT: _Entry(True, Reason.TIMEOUT),
    FailureKind.PROTOCOL_ERROR: _Entry(True, Reason.PROTOCOL_ERROR),
    # The bound is ours, and the answer will be as large again. An unknown coding stays unknown.
    FailureKind.HEADERS_TOO_LARGE: _Entry(False, Reason.PROTOCOL_ERROR),
    FailureKind.INCOMPLETE_BODY: _Entry(True, Reason.BODY_BROKEN),
    FailureKind.CONTENT_DECODING_ERROR: _Entry(True, Reason.DECODE_FAILED),
    FailureKind.CONTENT_CODING_UNKNOWN: _Entry(False, Reason.DECODE_FAILED),
}

_CLIENT_ERROR = _Entry(False, Reason.HTTP_ERROR)
_SERVER_ERROR = _Entry(True, Reason.HTTP_ERROR)
_STATUSES: dict[int, _Entry] = {
    403: _Entry(False, Reason.BLOCKED_BY_HOST),
    408: _Entry(True, Reason.HTTP_ERROR),
    425: _Entry(True, Reason.HTTP_ERROR),
    429: _Entry(True, Reason.BLOCKED_BY_HOST, HostVerdict.PAUSE),
    501: _Entry(False, Reason.HTTP_ERROR),
    503: _Entry(True, Reason.HTTP_ERROR, HostVerdict.PAUSE),
    505: _Entry(False, Reason.HTTP_ERROR),
    508: _Entry(False, Reason.HTTP_ERROR),
}
_GONE = frozenset({404, 410})
_NEVER_FOLLOWED = frozenset({304, 305, 306})

_DELAY_SECONDS = re.compile(r"[0-9]+")
_CONDITION = re.compile(rb"\r?\n(?:if-none-match|if-modified-since)[ \t]*:", re.IGNORECASE)


def judge(
    answer: FetchResult | FetchFailure,
    *,
    attempts: int,
    retries: int,
    now: float,
    max_retry_after_s: float,
) -> Judgement:
    """What follows from one attempt; `attempts` counts it, `retries` are allowed after the first.

    `now` is Unix time when the answer came. An unreachable host means RETRY whatever `attempts`
    says: when a whole host is given up is not decided by one URL. A failure after the head of an
    answer of 400 or more is judged by that status, since nothing of its body is wanted.
    """
    status = answer.status
    if isinstance(answer, FetchResult) and 200 <= answer.status < 300:
        return Judgement(Action.STORE, None, HostVerdict.FINE, None)
    if isinstance(answer, FetchFailure) and (status is None or status < 400):
        return _decided(_KINDS[answer.kind], attempts, retries, None)
    wish_s = retry_after_s(answer.headers, now, max_retry_after_s)
    if isinstance(answer, FetchResult) and 300 <= answer.status < 400:
        return _redirected(answer, wish_s)
    if status in _GONE:
        return Judgement(Action.GONE, Reason.GONE, _rest(HostVerdict.FINE, wish_s), wish_s)
    return _decided(_entry_of(status, wish_s), attempts, retries, wish_s)


def reason_of_failure(kind: FailureKind) -> Reason:
    """The reason that a URL has when this failure was its last."""
    return _KINDS[kind].reason


def retry_after_s(headers: Iterable[tuple[str, str]], now: float, ceiling: float) -> float | None:
    """The server's Retry-After in seconds from `now` (Unix), at most `ceiling`; None without one.

    Takes delay-seconds and HTTP-dates, nothing else (RFC 9110, 10.2.3); a date of the past is 0.
    Where the field comes more than once the longest valid wish counts: it meets the others too.
    """
    wish_s: float | None = None
    for name, value in headers:
        if len(name) == 11 and name.lower() == "retry-after":
            one_s = _wish_s(value.strip(" \t"), now)
            if one_s is not None:
                wish_s = max(one_s, wish_s or 0.0)
    return None if wish_s is None else min(wish_s, ceiling)


def backoff_s(n: int, base: float, cap: float, random: random.Random) -> float:
    """Full jitter: uniform in [0, min(cap, base x 2^n)]; any `n`, however large."""
    try:
        ceiling = min(cap, math.ldexp(base, n))
    except OverflowError:
        ceiling = cap
    return random.uniform(0.0, ceiling)


def _entry_of(status: int | None, wish_s: float | None) -> _Entry:
    if status is None:
        return _SERVER_ERROR
    if status == 413 and wish_s is not None:
        return _SERVER_ERROR  # said to be temporary (RFC 9110, 15.5.14)
    return _STATUSES.get(status, _CLIENT_ERROR if 400 <= status < 500 else _SERVER_ERROR)


def _decided(entry: _Entry, attempts: int, retries: int, wish_s: float | None) -> Judgement:
    host = _rest(entry.host, wish_s)
    unreachable = entry.host is HostVerdict.UNREACHABLE
    if unreachable or (entry.again and attempts <= retries):
        return Judgement(Action.RETRY, None, host, wish_s)
    return Judgement(Action.GIVE_UP, entry.reason, host, wish_s)


def _redirected(answer: FetchResult, wish_s: float | None) -> Judgement:
    """A 3xx. Where it leads is for others to judge; 305 names a proxy, which is never used."""
    host = _rest(HostVerdict.FINE, wish_s)
    if answer.status == 304 and _CONDITION.search(answer.request_head):
        return Judgement(Action.NOT_MODIFIED, None, host, wish_s)
    if answer.status not in _NEVER_FOLLOWED and any(
        name.lower() == "location" and value.strip() for name, value in answer.headers
    ):
        return Judgement(Action.FOLLOW, None, host, wish_s)
    return Judgement(Action.GIVE_UP, Reason.HTTP_ERROR, host, wish_s)


def _rest(host: HostVerdict, wish_s: float | None) -> HostVerdict:
    """A wish that still lies ahead pauses the host whatever the status."""
    return HostVerdict.PAUSE if wish_s and host is HostVerdict.FINE else host


def _wish_s(value: str, now: float) -> float | None:
    if _DELAY_SECONDS.fullmatch(value):
        return float(value)  # not int(), which refuses more than some thousand digits
    at = parse_http_date(value, now)
    return None if at is None else max(0.0, at - now)
