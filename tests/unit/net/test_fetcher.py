"""The fetcher against servers that behave: what is sent, what comes back, kept-alive connections."""

from __future__ import annotations

import errno
import hashlib
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from urllib3.util import connection as urllib3_connection

from mercator.clock import RealClock
from mercator.errors import ConfigError
from mercator.net.body import BodyMemory
from mercator.net.fetcher import HttpFetcher
from mercator.testing import ManualClock
from mercator.values import FailureKind, FetchRequest
from tests.unit.net.conftest import Fetch, failure, result
from tests.unit.net.loopback import (
    Conversation,
    LoopbackServer,
    answering,
    chunked,
    keeping_alive,
    page,
)


def test_a_page_comes_back_whole(fetch: Fetch) -> None:
    with LoopbackServer(keeping_alive(page(b"<p>hi</p>", "X-One: 1"))) as server:
        got = result(fetch(server, "/a?b=c#fragment"))
    assert (got.status, got.status_text, got.http_version) == (200, "OK", "HTTP/1.1")
    assert got.headers[0] == ("X-One", "1")
    assert got.body.read() == b"<p>hi</p>"
    assert got.body.size == 9
    assert got.body.sha256 == hashlib.sha256(b"<p>hi</p>").digest()
    assert (got.truncated, got.wanted, got.address) == (False, True, "127.0.0.1")
    assert got.url == "http://site.test/a?b=c#fragment"
    assert 0 < got.elapsed_s < 10
    assert got.ended_at - got.started_at == pytest.approx(got.elapsed_s, abs=1e-3)


def test_the_recorded_head_is_what_was_sent(fetch: Fetch) -> None:
    with LoopbackServer(keeping_alive(page())) as server:
        got = result(fetch(server, "/a?b=c#d", extra_headers=(("If-None-Match", '"v1"'),)))
    assert got.request_head == server.requests[0]
    assert got.request_head.split(b"\r\n") == [
        b"GET /a?b=c HTTP/1.1",
        b"Host: site.test",
        b"User-Agent: mercator/0.1 (+me@example.org)",
        b"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        b"Accept-Encoding: gzip, deflate, br, zstd",
        b"Connection: keep-alive",
        b'If-None-Match: "v1"',
        b"",
        b"",
    ]


def test_an_extra_header_replaces_a_standing_one(fetch: Fetch) -> None:
    with LoopbackServer(keeping_alive(page())) as server:
        got = result(fetch(server, extra_headers=(("accept", "text/plain"),)))
    assert got.request_head.lower().count(b"accept:") == 1
    assert b"accept: text/plain" in got.request_head


@pytest.mark.parametrize(
    ("url", "line", "host"),
    [
        ("http://site.test", b"GET / HTTP/1.1", b"Host: site.test"),
        ("http://site.test?q", b"GET /?q HTTP/1.1", b"Host: site.test"),
        ("http://site.test:8000/x", b"GET /x HTTP/1.1", b"Host: site.test:8000"),
        ("http://[2001:db8::1]:8000/x", b"GET /x HTTP/1.1", b"Host: [2001:db8::1]:8000"),
    ],
)
def test_host_and_target_come_from_the_url_whatever_is_connected_to(
    fetcher: HttpFetcher, url: str, line: bytes, host: bytes
) -> None:
    with LoopbackServer(keeping_alive(page())) as server:
        got = result(fetcher.fetch(_request(url, server.port)))
        got.body.close()
    assert got.request_head.split(b"\r\n")[:2] == [line, host]


@pytest.mark.parametrize(
    "url",
    [
        "site.test/",
        "ftp://site.test/",
        "http:///x",
        "http://site.test:65536/",
        "http://site.test/a b",
        "http://me@site.test/",
        "http://site.test/\r\nX: y",
        "http://si\nte.test/",
        "http://ümlaut.test/",
    ],
)
def test_what_is_no_parsed_http_url_is_the_callers_mistake(fetcher: HttpFetcher, url: str) -> None:
    with pytest.raises(ValueError, match=r"to connect to|URL"):
        fetcher.fetch(_request(url, 1))


def test_a_header_that_would_split_the_request_is_refused(fetcher: HttpFetcher) -> None:
    request = _request("http://site.test/", 1, (("X-A", "1\r\nX-B: 2"),))
    with pytest.raises(ValueError, match="header"):
        fetcher.fetch(request)
    with pytest.raises(ConfigError):
        HttpFetcher(user_agent="a\r\nb", clock=RealClock(), bodies=BodyMemory(1), pool_capacity=1)


def test_a_name_is_never_looked_up(fetcher: HttpFetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    system = socket.getaddrinfo

    def watching(host: object, *args: object, **kwargs: object) -> object:
        asked.append(host)
        return system(host, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", watching)
    with LoopbackServer(keeping_alive(page())) as server:
        got = result(fetcher.fetch(_request("http://localhost/", server.port)))
        got.body.close()
    assert set(asked) <= {"127.0.0.1"}
    with pytest.raises(ValueError, match="localhost"):
        fetcher.fetch(_request("http://localhost/", 1, addresses=("localhost",)))
    with pytest.raises(ValueError, match="address"):
        fetcher.fetch(_request("http://localhost/", 1, addresses=()))


def test_the_next_address_is_tried_when_one_refuses(fetcher: HttpFetcher) -> None:
    with LoopbackServer(keeping_alive(page())) as server:
        request = _request("http://site.test/", server.port, addresses=("127.0.0.9", "127.0.0.1"))
        got = result(fetcher.fetch(request))
        got.body.close()
        assert got.address == "127.0.0.1"
        again = result(fetcher.fetch(request))
        again.body.close()
        assert server.connections == 1


def test_refused_everywhere(fetcher: HttpFetcher) -> None:
    with LoopbackServer(keeping_alive(page())) as server:
        port = server.port
    got = failure(
        fetcher.fetch(
            _request("http://site.test/", port, addresses=("127.0.0.1", "255.255.255.255"))
        )
    )
    assert got.kind is FailureKind.CONNECTION_REFUSED
    assert got.address == "127.0.0.1"
    assert got.status is None


def test_unreachable_network(fetcher: HttpFetcher) -> None:
    got = failure(fetcher.fetch(_request("http://site.test/", 1, addresses=("255.255.255.255",))))
    assert got.kind is FailureKind.HOST_UNREACHABLE


# -- kept-alive connections -----------------------------------------------------------------------


def test_requests_of_a_host_share_a_connection(fetch: Fetch) -> None:
    with LoopbackServer(keeping_alive(page())) as server:
        for _ in range(5):
            assert result(fetch(server)).status == 200
        assert server.connections == 1
        assert len(server.requests) == 5


@pytest.mark.parametrize(
    "answer",
    [
        page(b"x", "Connection: close"),
        page(b"x").replace(b"HTTP/1.1", b"HTTP/1.0"),
        page(b"x", "Content-Length: 1") + b"y",
        page(chunked(b"x"), "Transfer-Encoding: chunked", "Content-Length: 1"),
    ],
    ids=["close", "1.0", "bytes-left-over", "both-framings"],
)
def test_a_connection_that_must_not_be_used_again_is_not(fetch: Fetch, answer: bytes) -> None:
    with LoopbackServer(keeping_alive(answer)) as server:
        result(fetch(server))
        result(fetch(server))
        assert server.connections == 2


def test_http_1_0_may_keep_alive(fetch: Fetch) -> None:
    answer = page(b"x", "Connection: Keep-Alive").replace(b"HTTP/1.1", b"HTTP/1.0")
    with LoopbackServer(keeping_alive(answer)) as server:
        assert result(fetch(server)).http_version == "HTTP/1.0"
        result(fetch(server))
        assert server.connections == 1


def test_a_connection_closed_while_idle_costs_nothing(fetch: Fetch) -> None:
    with LoopbackServer(answering(page(b"1")), answering(page(b"2"))) as server:
        assert result(fetch(server)).body.read() == b"1"
        assert result(fetch(server)).body.read() == b"2"
        assert server.connections == 2


def test_a_connection_closed_as_the_request_arrives_is_replaced_once(fetch: Fetch) -> None:
    def drops_the_second(talk: Conversation) -> None:
        talk.request()
        talk.send(page(b"1"))
        talk.request()

    with LoopbackServer(drops_the_second, answering(page(b"2"))) as server:
        result(fetch(server))
        assert result(fetch(server)).body.read() == b"2"
        assert (server.connections, len(server.requests)) == (2, 3)


def test_a_connection_reset_as_the_request_arrives_is_replaced_once(fetch: Fetch) -> None:
    def resets(talk: Conversation) -> None:
        talk.request()
        talk.send(page(b"1"))
        talk.request()
        talk.reset()

    with LoopbackServer(resets, resets, resets) as server:
        result(fetch(server))
        assert result(fetch(server)).body.read() == b"1"
        assert server.connections == 2


def test_a_fresh_connection_that_is_closed_is_not_tried_again(fetch: Fetch) -> None:
    def closes(talk: Conversation) -> None:
        talk.request()

    with LoopbackServer(closes) as server:
        got = failure(fetch(server))
        assert got.kind is FailureKind.CONNECTION_RESET
        assert server.connections == 1


def test_an_answer_that_had_begun_is_not_asked_for_again(fetch: Fetch) -> None:
    def breaks_off(talk: Conversation) -> None:
        talk.request()
        talk.send(page(b"1"))
        talk.request()
        talk.send(b"HTTP/1.1 200 OK\r\nContent-")

    with LoopbackServer(breaks_off) as server:
        result(fetch(server))
        assert failure(fetch(server)).kind is FailureKind.CONNECTION_RESET
        assert (server.connections, len(server.requests)) == (1, 2)


@pytest.mark.parametrize("late", [False, True], ids=["with-the-answer", "later"])
def test_what_a_server_says_unasked_is_not_the_next_answer(fetch: Fetch, late: bool) -> None:
    read, said = threading.Event(), threading.Event()

    def says_408(talk: Conversation) -> None:
        talk.request()
        talk.send(page(b"1"))
        if late:
            read.wait()
        talk.send(page(b"idle too long", status="408 Request Timeout"))
        said.set()
        talk.wait_for_close()

    with LoopbackServer(says_408, answering(page(b"2"))) as server:
        result(fetch(server))
        read.set()
        said.wait()
        assert result(fetch(server)).body.read() == b"2"


def test_an_old_connection_is_not_trusted(bodies: BodyMemory) -> None:
    clock = ManualClock()
    fetcher = HttpFetcher(user_agent="m", clock=clock, bodies=bodies, pool_capacity=8)
    with LoopbackServer(keeping_alive(page())) as server:
        for pause_s, connections in ((0, 1), (59, 1), (61, 2)):
            clock.advance_s(pause_s)
            result(fetcher.fetch(_request("http://site.test/", server.port))).body.close()
            assert server.connections == connections
        fetcher.close()


def test_a_connection_to_an_address_that_is_no_longer_vetted_is_closed(
    fetcher: HttpFetcher,
) -> None:
    with LoopbackServer(keeping_alive(page())) as server:
        result(fetcher.fetch(_request("http://site.test/", server.port))).body.close()
        request = _request("http://site.test/", server.port, addresses=("127.0.0.2",))
        assert failure(fetcher.fetch(request)).kind is FailureKind.CONNECTION_REFUSED
        assert len(server.requests) == 1


def test_idle_connections_are_bounded(bodies: BodyMemory) -> None:
    fetcher = HttpFetcher(user_agent="m", clock=RealClock(), bodies=bodies, pool_capacity=2)
    with LoopbackServer(keeping_alive(page())) as server:
        for host in ("a", "b", "c", "c", "b", "a"):
            got = fetcher.fetch(_request(f"http://{host}.test/", server.port))
            result(got).body.close()
        assert server.connections == 4
        fetcher.close()
        result(fetcher.fetch(_request("http://a.test/", server.port))).body.close()
        fetcher.close()


def test_nothing_stays_open_once_the_fetcher_is_closed(fetcher: HttpFetcher) -> None:
    gone = threading.Event()

    def handler(talk: Conversation) -> None:
        while talk.request():
            talk.send(page())
        gone.set()

    fetcher.close()
    with LoopbackServer(handler) as server:
        result(fetcher.fetch(_request("http://site.test/", server.port))).body.close()
        assert gone.wait(10)


def test_idle_connections_make_room_when_descriptors_run_out(
    fetcher: HttpFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_connection = urllib3_connection.create_connection
    errors = [OSError(errno.EMFILE, "Too many open files")]

    def short(*args: Any, **kwargs: Any) -> socket.socket:
        if errors and len(server.requests) == 1:
            raise errors.pop()
        return create_connection(*args, **kwargs)

    monkeypatch.setattr(urllib3_connection, "create_connection", short)
    with LoopbackServer(keeping_alive(page())) as server:
        result(fetcher.fetch(_request("http://a.test/", server.port))).body.close()
        result(fetcher.fetch(_request("http://b.test/", server.port))).body.close()
        result(fetcher.fetch(_request("http://a.test/", server.port))).body.close()
        assert not errors
        assert server.connections == 3


# -- types and statuses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "wanted"),
    [
        ("text/html; charset=utf-8", True),
        ("TEXT/Plain", True),
        ("application/atom+xml", True),
        ("application/pdf", True),
        ("image/png", False),
        ("application/octet-stream; x=text/html", False),
        ("", True),
        ("html", True),
    ],
)
def test_types_that_are_not_wanted_are_left_unread(
    fetch: Fetch, content_type: str, wanted: bool
) -> None:
    types = ("text/*", "*xml", "application/PDF")
    with LoopbackServer(keeping_alive(page(b"body", f"Content-Type: {content_type}"))) as server:
        got = result(fetch(server, content_types=types))
        assert (got.wanted, got.body.read()) == (wanted, b"body" if wanted else b"")
        fetch(server, content_types=types)
        assert server.connections == (1 if wanted else 2)


def test_an_answer_without_type_is_wanted(fetch: Fetch) -> None:
    with LoopbackServer(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")) as server:
        assert result(fetch(server, content_types=("text/*",))).wanted


def test_an_unwanted_type_is_no_matter_where_the_status_decides(fetch: Fetch) -> None:
    answer = page(b"png", "Content-Type: image/png", status="404 Not Found")
    with LoopbackServer(answering(answer)) as server:
        got = result(fetch(server, content_types=("text/*",)))
    assert (got.status, got.wanted, got.body.read()) == (404, True, b"png")


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_statuses_without_a_body(fetch: Fetch, status: str) -> None:
    answer = f"HTTP/1.1 {status}\r\nContent-Length: 500\r\n\r\n".encode()
    with LoopbackServer(keeping_alive(answer)) as server:
        got = result(fetch(server))
        assert (got.body.size, got.body.read()) == (0, b"")
        assert got.body.sha256 == hashlib.sha256(b"").digest()
        fetch(server)
        assert server.connections == 1


def test_a_redirect_is_handed_back(fetch: Fetch) -> None:
    answer = page(b"moved", "Location: /b", status="301 Moved Permanently")
    with LoopbackServer(keeping_alive(answer)) as server:
        got = result(fetch(server))
        assert (got.status, dict(got.headers)["Location"]) == (301, "/b")
        assert len(server.requests) == 1


def test_error_bodies_are_sampled(fetch: Fetch) -> None:
    answer = page(b"e" * 300_000, status="500 Internal Server Error")
    with LoopbackServer(answering(answer)) as server:
        got = result(fetch(server))
    assert (got.body.size, got.truncated) == (262_144, True)


@pytest.mark.parametrize(
    "answer",
    [
        page(b"short", "Content-Length: 500", status="404 Not Found"),
        page(b"not gzip", "Content-Encoding: gzip", status="404 Not Found"),
        page(b"?", "Content-Encoding: rot13", status="404 Not Found"),
    ],
)
def test_trouble_in_an_error_body_does_not_hide_the_status(fetch: Fetch, answer: bytes) -> None:
    with LoopbackServer(answering(answer)) as server:
        got = result(fetch(server))
    assert (got.status, got.truncated) == (404, True)


def test_a_ca_file_that_cannot_be_read(tmp_path: Path) -> None:
    for name in ("missing.pem", "empty.pem"):
        (tmp_path / "empty.pem").write_text("")
        with pytest.raises(ConfigError, match=name):
            HttpFetcher(
                user_agent="m",
                clock=RealClock(),
                bodies=BodyMemory(1),
                pool_capacity=1,
                ca_file=str(tmp_path / name),
            )


def test_the_budget_is_given_back(fetch: Fetch, bodies: BodyMemory) -> None:
    with LoopbackServer(
        answering(page(b"x" * 1000)), answering(page(b"short", "Content-Length: 9"))
    ) as server:
        got = result(fetch(server))
        assert bodies.used_bytes == 1000
        failure(fetch(server))
        assert bodies.used_bytes == 1000
        got.body.close()
        got.body.close()
        assert bodies.used_bytes == 0


def _request(
    url: str,
    port: int,
    extra_headers: tuple[tuple[str, str], ...] = (),
    addresses: tuple[str, ...] = ("127.0.0.1",),
) -> FetchRequest:
    return FetchRequest(
        url=url,
        addresses=addresses,
        port=port,
        timeout_s=10.0,
        max_body_bytes=1 << 20,
        extra_headers=extra_headers,
    )
