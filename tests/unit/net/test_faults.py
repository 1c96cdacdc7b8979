"""The table from error to FailureKind, row by row."""

from __future__ import annotations

import errno
import ssl

import pytest
from urllib3.connection import HTTPConnection
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from mercator.net.faults import AnswerError, Phase, kind_of, text_of
from mercator.values import FailureKind


def _verification(code: int) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code = code
    return error


def _tls(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


def _wrapped(cause: Exception) -> Exception:
    outer = NewConnectionError(HTTPConnection("192.0.2.1"), "Failed to establish a connection")
    outer.__cause__ = cause
    return outer


def _timed_out() -> Exception:
    outer = ConnectTimeoutError("timed out")
    outer.__cause__ = TimeoutError("timed out")
    return outer


CONNECT, TLS, ANSWER = Phase.CONNECT, Phase.TLS, Phase.ANSWER


@pytest.mark.parametrize(
    ("error", "phase", "kind"),
    [
        (AnswerError(FailureKind.INCOMPLETE_BODY, "x"), ANSWER, FailureKind.INCOMPLETE_BODY),
        (_timed_out(), CONNECT, FailureKind.CONNECT_TIMEOUT),
        (TimeoutError(), TLS, FailureKind.TLS_HANDSHAKE_TIMEOUT),
        (TimeoutError(), ANSWER, FailureKind.READ_TIMEOUT),
        (_wrapped(ConnectionRefusedError()), CONNECT, FailureKind.CONNECTION_REFUSED),
        (_wrapped(OSError(errno.EHOSTUNREACH, "x")), CONNECT, FailureKind.HOST_UNREACHABLE),
        (_wrapped(OSError(errno.ENETUNREACH, "x")), CONNECT, FailureKind.HOST_UNREACHABLE),
        (_wrapped(OSError(errno.ETIMEDOUT, "x")), CONNECT, FailureKind.CONNECT_TIMEOUT),
        (_wrapped(PermissionError(errno.EACCES, "x")), CONNECT, FailureKind.HOST_UNREACHABLE),
        (_wrapped(ConnectionResetError()), CONNECT, FailureKind.CONNECTION_RESET),
        (OSError(errno.EHOSTUNREACH, "x"), ANSWER, FailureKind.HOST_UNREACHABLE),
        (ConnectionResetError(), ANSWER, FailureKind.CONNECTION_RESET),
        (BrokenPipeError(), ANSWER, FailureKind.CONNECTION_RESET),
        (ConnectionResetError(), TLS, FailureKind.TLS_HANDSHAKE_FAILURE),
        (_verification(10), TLS, FailureKind.TLS_CERTIFICATE_INVALID),
        (_verification(62), TLS, FailureKind.TLS_CERTIFICATE_INVALID),
        (_verification(18), TLS, FailureKind.TLS_UNKNOWN_CA),
        (_verification(19), TLS, FailureKind.TLS_UNKNOWN_CA),
        (_verification(20), TLS, FailureKind.TLS_UNKNOWN_CA),
        (_tls("UNSUPPORTED_PROTOCOL"), TLS, FailureKind.TLS_PROTOCOL_VERSION),
        (_tls("TLSV1_ALERT_PROTOCOL_VERSION"), TLS, FailureKind.TLS_PROTOCOL_VERSION),
        (_tls("SSLV3_ALERT_HANDSHAKE_FAILURE"), TLS, FailureKind.TLS_HANDSHAKE_FAILURE),
        (_tls("DECRYPTION_FAILED_OR_BAD_RECORD_MAC"), ANSWER, FailureKind.CONNECTION_RESET),
        (UnicodeError("label too long"), TLS, FailureKind.TLS_HANDSHAKE_FAILURE),
    ],
)
def test_the_table(error: Exception, phase: Phase, kind: FailureKind) -> None:
    assert kind_of(error, phase) is kind


def test_the_text_is_one_line_of_the_cause() -> None:
    assert text_of(_wrapped(OSError(errno.EHOSTUNREACH, "No route\nto host"))) == (
        f"[Errno {errno.EHOSTUNREACH}] No route to host"
    )
    assert text_of(ConnectionResetError()) == "ConnectionResetError"
    assert len(text_of(ValueError("x" * 1000))) == 300
