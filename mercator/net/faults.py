"""What goes wrong with a request, and the one table that gives it its `FailureKind`."""

from __future__ import annotations

import errno
import ssl
from enum import Enum

from urllib3.exceptions import HTTPError, LocationParseError

from mercator.values import FailureKind

_ERROR_CHARACTERS = 300


class AnswerError(Exception):
    """An answer that cannot be used, with the kind that its finder gave it.

    Threads: confined to the thread that raised it.
    """

    def __init__(self, kind: FailureKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Phase(Enum):
    """How far a request has come; it decides what a time-out or a reset means."""

    CONNECT = "connect"
    TLS = "tls"
    ANSWER = "answer"


_TIMEOUTS = {
    Phase.CONNECT: FailureKind.CONNECT_TIMEOUT,
    Phase.TLS: FailureKind.TLS_HANDSHAKE_TIMEOUT,
    Phase.ANSWER: FailureKind.READ_TIMEOUT,
}

_OTHER_ERRORS = {
    Phase.CONNECT: FailureKind.HOST_UNREACHABLE,
    Phase.TLS: FailureKind.TLS_HANDSHAKE_FAILURE,
    Phase.ANSWER: FailureKind.CONNECTION_RESET,
}
"""A reset while TLS is set up is how servers refuse a version, a cipher or a name (SNI)."""

_UNREACHABLE = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN})

_UNKNOWN_CA = frozenset({2, 18, 19, 20, 21})
"""OpenSSL's verify codes for: no issuer (2, 20), self-signed (18, 19), leaf not verifiable (21)."""

_PROTOCOL_VERSION = frozenset(
    {
        "NO_PROTOCOLS_AVAILABLE",
        "TLSV1_ALERT_PROTOCOL_VERSION",
        "UNSUPPORTED_PROTOCOL",
        "VERSION_TOO_LOW",
        "WRONG_SSL_VERSION",
    }
)
"""OpenSSL's reasons for "no common TLS version"."""


def kind_of(error: Exception, phase: Phase) -> FailureKind:
    """The kind of any error that a request may end with; the first row that fits counts.

    `error` is an AnswerError, an OSError (SSL errors and time-outs are such), one of urllib3's that
    wraps one, or a UnicodeError (a host name that cannot go into SNI).
    """
    error = _cause(error)
    if isinstance(error, AnswerError):
        return error.kind
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _UNKNOWN_CA:
            return FailureKind.TLS_UNKNOWN_CA
        return FailureKind.TLS_CERTIFICATE_INVALID
    if isinstance(error, ssl.SSLError):
        if phase is Phase.TLS and error.reason in _PROTOCOL_VERSION:
            return FailureKind.TLS_PROTOCOL_VERSION
        return _OTHER_ERRORS[phase]
    if isinstance(error, TimeoutError):
        return _TIMEOUTS[phase]
    if isinstance(error, ConnectionRefusedError):
        return FailureKind.CONNECTION_REFUSED
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return FailureKind.HOST_UNREACHABLE
    if isinstance(error, ConnectionError) and phase is Phase.CONNECT:
        return FailureKind.CONNECTION_RESET
    return _OTHER_ERRORS[phase]


def text_of(error: Exception) -> str:
    """The error on one line of at most 300 characters, for the ledger."""
    error = _cause(error)
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _ERROR_CHARACTERS else text[: _ERROR_CHARACTERS - 3] + "..."


def _cause(error: Exception) -> Exception:
    """What urllib3 wrapped: its own classes tell less than the system's error below them."""
    while isinstance(error, HTTPError) and not isinstance(error, LocationParseError):
        below = error.__cause__
        if not isinstance(below, Exception):
            break
        error = below
    return error
