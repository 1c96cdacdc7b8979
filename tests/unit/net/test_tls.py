"""TLS: certificates and names are checked against the URL's host, whatever address is connected to."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme

from mercator.clock import RealClock
from mercator.net.body import BodyMemory
from mercator.net.fetcher import HttpFetcher
from mercator.values import FailureKind, FetchFailure, FetchRequest, FetchResult
from tests.unit.net.conftest import failure, result
from tests.unit.net.loopback import (
    Conversation,
    Handler,
    LoopbackServer,
    answering,
    keeping_alive,
    page,
)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return path


def _context(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def _fetch(
    port: int,
    host: str = "site.test",
    *,
    ca_file: Path | None,
    timeout_s: float = 10.0,
    times: int = 1,
) -> FetchResult | FetchFailure:
    fetcher = HttpFetcher(
        user_agent="m",
        clock=RealClock(),
        bodies=BodyMemory(1 << 20),
        pool_capacity=1,
        ca_file=str(ca_file) if ca_file else None,
    )
    try:
        for _ in range(times):
            got = fetcher.fetch(
                FetchRequest(
                    url=f"https://{host}/",
                    addresses=("127.0.0.1",),
                    port=port,
                    timeout_s=timeout_s,
                    max_body_bytes=1 << 20,
                )
            )
    finally:
        fetcher.close()
    return got


@pytest.mark.parametrize(
    ("certified", "host"),
    [
        ("site.test", "site.test"),
        ("site.test", "site.test."),
        ("*.site.test", "www.site.test"),
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8::1", "[2001:db8::1]"),
    ],
)
def test_the_right_name(authority: trustme.CA, ca_file: Path, certified: str, host: str) -> None:
    names: list[str | None] = []
    context = _context(authority, certified)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    with LoopbackServer(keeping_alive(page(b"x" * 100_000)), tls=context) as server:
        got = result(_fetch(server.port, host, ca_file=ca_file, times=3))
        assert got.body.read() == b"x" * 100_000
        assert f"Host: {host}".encode() in got.request_head
        assert server.connections == 1
    literal = host in ("127.0.0.1", "[2001:db8::1]")
    assert names == [None if literal else host.rstrip(".")]


@pytest.mark.parametrize(
    ("certified", "host"),
    [("other.test", "site.test"), ("*.site.test", "a.b.site.test"), ("site.test", "127.0.0.1")],
)
def test_the_wrong_name(authority: trustme.CA, ca_file: Path, certified: str, host: str) -> None:
    with LoopbackServer(keeping_alive(page()), tls=_context(authority, certified)) as server:
        got = failure(_fetch(server.port, host, ca_file=ca_file))
        assert got.kind is FailureKind.TLS_CERTIFICATE_INVALID
        assert host in got.error
        assert server.requests == []


def test_an_unknown_authority(authority: trustme.CA) -> None:
    with LoopbackServer(keeping_alive(page()), tls=_context(authority, "site.test")) as server:
        got = failure(_fetch(server.port, ca_file=None))
        assert got.kind is FailureKind.TLS_UNKNOWN_CA
        assert server.requests == []


def _alert(description: int) -> Handler:
    def handler(talk: Conversation) -> None:
        talk.send(b"\x15\x03\x03\x00\x02\x02" + bytes([description]))
        talk.wait_for_close()

    return handler


def _plain(talk: Conversation) -> None:
    talk.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    talk.wait_for_close()


def _reset(talk: Conversation) -> None:
    talk.receive()
    talk.reset()


def _closed(talk: Conversation) -> None:
    pass


@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        (_alert(70), FailureKind.TLS_PROTOCOL_VERSION),
        (_alert(40), FailureKind.TLS_HANDSHAKE_FAILURE),
        (_alert(112), FailureKind.TLS_HANDSHAKE_FAILURE),
        (_plain, FailureKind.TLS_HANDSHAKE_FAILURE),
        (_reset, FailureKind.TLS_HANDSHAKE_FAILURE),
        (_closed, FailureKind.TLS_HANDSHAKE_FAILURE),
    ],
    ids=["version", "handshake-failure", "unrecognized-name", "plain", "reset", "closed"],
)
def test_a_handshake_that_fails(handler: Handler, kind: FailureKind) -> None:
    with LoopbackServer(handler) as server:
        assert failure(_fetch(server.port, ca_file=None)).kind is kind


def test_a_handshake_that_hangs() -> None:
    with LoopbackServer(lambda talk: talk.wait_for_close()) as server:
        got = failure(_fetch(server.port, ca_file=None, timeout_s=0.2))
    assert got.kind is FailureKind.TLS_HANDSHAKE_TIMEOUT
    assert 0.2 <= got.elapsed_s < 0.9


def test_a_host_name_that_no_certificate_can_have() -> None:
    with LoopbackServer(lambda talk: talk.wait_for_close()) as server:
        got = failure(_fetch(server.port, "a" * 70 + ".test", ca_file=None))
    assert got.kind is FailureKind.TLS_HANDSHAKE_FAILURE


def test_dripped_records_do_not_stretch_the_deadline(authority: trustme.CA, ca_file: Path) -> None:
    def drips(talk: Conversation) -> None:
        talk.request()
        talk.send(b"HTTP/1.1 200 OK\r\nX: ")
        while not talk.ended.wait(0.002):
            talk.send(b"x")

    with LoopbackServer(drips, tls=_context(authority, "site.test")) as server:
        got = failure(_fetch(server.port, ca_file=ca_file, timeout_s=0.3))
    assert got.kind is FailureKind.READ_TIMEOUT
    assert 0.3 <= got.elapsed_s < 1.0


def test_an_end_without_farewell(authority: trustme.CA, ca_file: Path) -> None:
    """Without a length it is the end of the body, with one the body is short."""
    context = _context(authority, "site.test")
    with LoopbackServer(answering(b"HTTP/1.1 200 OK\r\n\r\nabc"), tls=context) as server:
        assert result(_fetch(server.port, ca_file=ca_file)).body.read() == b"abc"
    with LoopbackServer(answering(page(b"abc", "Content-Length: 9")), tls=context) as server:
        got = failure(_fetch(server.port, ca_file=ca_file))
        assert got.kind is FailureKind.INCOMPLETE_BODY
