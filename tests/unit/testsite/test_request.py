from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testsite.request import parse


@pytest.mark.parametrize(
    ("field", "host"),
    [
        (b"Host: h0000.test", "h0000.test"),
        (b"host:H0000.TEST", "h0000.test"),
        (b"HOST: \t h0000.test:8099", "h0000.test"),
        (b"Host: [::1]:80", "[::1]"),
        (b"Host:", ""),
        (b"X-Host: h0001.test", ""),
        (b"Accept: */*\r\nHost: h0002.test\r\nX: y", "h0002.test"),
    ],
)
def test_the_host_is_the_field_without_port_in_lower_case(field: bytes, host: str) -> None:
    request = parse(b"GET / HTTP/1.1\r\n" + field)
    assert request is not None
    assert request.host == host


@pytest.mark.parametrize(
    ("head", "close"),
    [
        (b"GET / HTTP/1.1\r\nHost: a", False),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close", True),
        (b"GET / HTTP/1.1\r\nHost: a\r\nCONNECTION: CLOSE", True),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive", False),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX-Connection: close", False),
        (b"GET /close HTTP/1.1\r\nHost: a", False),
        (b"GET / HTTP/1.0\r\nHost: a", True),
        (b"GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive", False),
    ],
)
def test_the_connection_closes_when_either_side_says_so(head: bytes, close: bool) -> None:
    request = parse(head)
    assert request is not None
    assert request.close is close


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET",
        b"GET /",
        b"GET / HTTP/2",
        b"GET  HTTP/1.1",
        b"GET /a b HTTP/1.1",
        b"\x16\x03\x01 a b",
    ],
)
def test_what_is_no_request_is_none(head: bytes) -> None:
    assert parse(head) is None


def test_the_target_is_kept_as_sent() -> None:
    request = parse(b"GET /a?b=%20\xe9 HTTP/1.1\r\nHost: a")
    assert request is not None
    assert request.path == "/a?b=%20\xe9"


@pytest.mark.parametrize("name", ["If-None-Match", "if-none-match", "IF-NONE-MATCH"])
def test_if_none_match_is_found_in_any_case(name: str) -> None:
    request = parse(f'GET / HTTP/1.1\r\n{name}: "tag" '.encode())
    assert request is not None
    assert request.if_none_match() == '"tag"'


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_or_none(head: bytes) -> None:
    request = parse(head)
    assert request is None or (request.path and request.host == request.host.lower())
