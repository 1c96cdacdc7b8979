"""The fetcher against servers that misbehave: every one becomes a value, within every bound."""

from __future__ import annotations

import socket

import pytest

from mercator.clock import RealClock
from mercator.net.body import BodyMemory
from mercator.net.connection import Connection
from mercator.net.fetcher import HttpFetcher
from mercator.values import FailureKind, FetchRequest
from tests.unit.net.conftest import Fetch, failure, result
from tests.unit.net.loopback import (
    Conversation,
    Handler,
    LoopbackServer,
    answering,
    chunked,
    keeping_alive,
    page,
)

CHUNKED = "Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", FailureKind.PROTOCOL_ERROR),
        (b"<html>no head at all", FailureKind.PROTOCOL_ERROR),
        (b"\0\xff\0\xff", FailureKind.PROTOCOL_ERROR),
        (b"\r\nHTTP/1.1 200 OK\r\n\r\n", FailureKind.PROTOCOL_ERROR),
        (b"HTTP/1.1 OK\r\n\r\n", FailureKind.PROTOCOL_ERROR),
        (b"HTTP/1.1 2000 OK\r\n\r\n", FailureKind.PROTOCOL_ERROR),
        (b"HTTP/1.1 099 OK\r\n\r\n", FailureKind.PROTOCOL_ERROR),
        (b"HTTP/2.0 200 OK\r\n\r\n", FailureKind.PROTOCOL_ERROR),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", FailureKind.PROTOCOL_ERROR),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20, FailureKind.PROTOCOL_ERROR),
        (page(b"abc", "Content-Length: 3", "Content-Length: 4"), FailureKind.PROTOCOL_ERROR),
        (page(b"abc", "Content-Length: 3, 4"), FailureKind.PROTOCOL_ERROR),
        (b"", FailureKind.CONNECTION_RESET),
        (b"HT", FailureKind.CONNECTION_RESET),
        (b"HTTP/1.1 200 OK\r\nContent-Le", FailureKind.CONNECTION_RESET),
        (page(b"abc", "Content-Length: 4"), FailureKind.INCOMPLETE_BODY),
        (page(chunked(b"abc", end=b""), CHUNKED), FailureKind.INCOMPLETE_BODY),
        (page(b"5\r\nabc", CHUNKED), FailureKind.INCOMPLETE_BODY),
        (page(b"3\r\nabcdef\r\n0\r\n\r\n", CHUNKED), FailureKind.INCOMPLETE_BODY),
        (page(b"zz\r\nabc\r\n0\r\n\r\n", CHUNKED), FailureKind.INCOMPLETE_BODY),
        (page(b"-1\r\nabc\r\n0\r\n\r\n", CHUNKED), FailureKind.INCOMPLETE_BODY),
        (page(b"0x3\r\nabc\r\n0\r\n\r\n", CHUNKED), FailureKind.INCOMPLETE_BODY),
        (page(b"\r\n", CHUNKED), FailureKind.INCOMPLETE_BODY),
        (page(b"1;" + b"e" * 9000, CHUNKED), FailureKind.INCOMPLETE_BODY),
        (page(b"f" * 16 + b"\r\n", CHUNKED), FailureKind.INCOMPLETE_BODY),
        (page(b"abc", "Content-Encoding: gzip"), FailureKind.CONTENT_DECODING_ERROR),
        (page(b"abc", "Content-Encoding: br"), FailureKind.CONTENT_DECODING_ERROR),
        (page(b"abc", "Content-Encoding: compress"), FailureKind.CONTENT_CODING_UNKNOWN),
        (page(b"abc", "Content-Encoding: x, gzip"), FailureKind.CONTENT_CODING_UNKNOWN),
        (
            page(b"abc", "Content-Encoding: gzip, gzip", "Content-Encoding: br, br"),
            FailureKind.CONTENT_CODING_UNKNOWN,
        ),
        (page(b"abc", "Transfer-Encoding: chunked, x"), FailureKind.CONTENT_CODING_UNKNOWN),
    ],
)
def test_broken_answers(fetch: Fetch, answer: bytes, kind: FailureKind) -> None:
    with LoopbackServer(answering(answer)) as server:
        got = failure(fetch(server))
        assert (got.kind, "\n" in got.error, len(got.error) <= 300) == (kind, False, True)
        assert got.address == "127.0.0.1"


def test_a_failure_tells_what_had_come(fetch: Fetch) -> None:
    with LoopbackServer(answering(page(b"abc", "Content-Length: 40", "X-A: 1"))) as server:
        got = failure(fetch(server))
    assert (got.status, got.bytes_read) == (200, 3)
    assert ("X-A", "1") in got.headers
    assert "37 bytes" in got.error


def test_a_long_error_is_cut_to_one_line(fetch: Fetch) -> None:
    with LoopbackServer(answering(b"HTTP/1.1 x" + b"y" * 1000 + b"\r\n\r\n")) as server:
        got = failure(fetch(server))
    assert len(got.error) == 300
    assert got.error.endswith("...")


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (b"", FailureKind.CONNECTION_RESET),
        (b"HTTP/1.1 200 OK\r\n", FailureKind.CONNECTION_RESET),
        (page(b"abc", "Content-Length: 9"), FailureKind.INCOMPLETE_BODY),
    ],
)
def test_a_reset(fetch: Fetch, sent: bytes, kind: FailureKind) -> None:
    def resets(talk: Conversation) -> None:
        talk.request()
        talk.send(sent)
        talk.reset()

    with LoopbackServer(resets) as server:
        assert failure(fetch(server)).kind is kind


# -- time -----------------------------------------------------------------------------------------


def _silent_after(sent: bytes) -> Handler:
    def handler(talk: Conversation) -> None:
        talk.request()
        talk.send(sent)
        talk.ended.wait()

    return handler


def _dripping(start: bytes, drop: bytes) -> Handler:
    def handler(talk: Conversation) -> None:
        talk.request()
        talk.send(start)
        while not talk.ended.wait(0.002):
            talk.send(drop)

    return handler


@pytest.mark.parametrize(
    "handler",
    [
        _silent_after(b""),
        _silent_after(b"HTTP/1.1 200 OK\r\n"),
        _silent_after(page(b"abc", "Content-Length: 9")),
        _silent_after(page(b"0\r\n", CHUNKED)),
        _dripping(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
        _dripping(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        _dripping(b"HTTP/1.1 ", b" "),
        _dripping(page(b"", "Content-Length: 9999999"), b"x"),
        _dripping(page(b"", CHUNKED), b"1\r\nx\r\n"),
        _dripping(page(b"", CHUNKED) + b"1;", b"x"),
        _dripping(page(b"", CHUNKED) + b"0\r\n", b"X: y\r\n"),
        _dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
    ],
    ids=[
        "nothing",
        "half-head",
        "half-body",
        "no-end-of-chunks",
        "dripped-header",
        "dripped-headers",
        "dripped-status",
        "dripped-body",
        "dripped-chunks",
        "dripped-chunk-extension",
        "dripped-trailer",
        "dripped-until-closed",
    ],
)
def test_the_deadline_is_one_for_all(fetch: Fetch, handler: Handler) -> None:
    with LoopbackServer(handler) as server:
        got = failure(fetch(server, timeout_s=0.2))
    assert got.kind is FailureKind.READ_TIMEOUT
    assert 0.2 <= got.elapsed_s < 0.9


def test_the_deadline_holds_on_a_kept_alive_connection_too(fetch: Fetch) -> None:
    def first_fast_then_slow(talk: Conversation) -> None:
        talk.request()
        talk.send(page())
        talk.request()
        talk.ended.wait()

    with LoopbackServer(first_fast_then_slow) as server:
        result(fetch(server, timeout_s=30.0))
        got = failure(fetch(server, timeout_s=0.2))
        assert got.kind is FailureKind.READ_TIMEOUT
        assert 0.2 <= got.elapsed_s < 0.9
        assert server.connections == 1


def _address_request(port: int, timeout_s: float, *addresses: str) -> FetchRequest:
    return FetchRequest(
        url="http://site.test/",
        addresses=addresses,
        port=port,
        timeout_s=timeout_s,
        max_body_bytes=100,
    )


def test_a_silent_address_does_not_eat_the_turn_of_the_next(fetcher: HttpFetcher) -> None:
    with (
        LoopbackServer(keeping_alive(page())) as server,
        socket.socket() as full,
        socket.socket() as first,
        socket.socket() as second,
    ):
        # A listener on the same port that accepts nothing, and whose queue is full.
        full.bind(("127.0.0.2", server.port))
        full.listen(0)
        for filling in (first, second):
            filling.setblocking(False)
            filling.connect_ex(("127.0.0.2", server.port))
        got = result(fetcher.fetch(_address_request(server.port, 1.0, "127.0.0.2", "127.0.0.1")))
        got.body.close()
        assert got.address == "127.0.0.1"
        assert got.elapsed_s < 1.0
        alone = failure(fetcher.fetch(_address_request(server.port, 0.2, "127.0.0.2")))
        assert alone.kind is FailureKind.CONNECT_TIMEOUT
        assert 0.2 <= alone.elapsed_s < 0.9


# -- size -----------------------------------------------------------------------------------------


def _endless(start: bytes, more: bytes) -> Handler:
    def handler(talk: Conversation) -> None:
        talk.request()
        talk.send(start)
        while True:
            talk.send(more)

    return handler


@pytest.mark.parametrize(
    "start",
    [
        page(b"", f"Content-Length: {1 << 60}"),
        b"HTTP/1.1 200 OK\r\n\r\n",
        page(b"", "Content-Length: many"),
    ],
    ids=["length", "until-closed", "bad-length"],
)
def test_an_endless_body_is_cut(fetch: Fetch, start: bytes) -> None:
    with LoopbackServer(_endless(start, b"x" * 65536)) as server:
        got = result(fetch(server, max_body_bytes=200_001))
        assert (got.truncated, got.body.size) == (True, 200_001)
        assert got.body.read() == b"x" * 200_001
        got = result(fetch(server, max_body_bytes=10))
        assert server.connections == 2


def test_endless_chunks_are_cut(fetch: Fetch) -> None:
    with LoopbackServer(_endless(page(b"", CHUNKED), chunked(b"xyz", end=b"") * 9000)) as server:
        got = result(fetch(server, max_body_bytes=100_000))
    assert (got.truncated, got.body.size) == (True, 100_000)


def test_what_is_broken_off_has_ended_when_its_connection_is_closed(
    fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gap to the next request counts from the end, and a server that still sends is busy."""
    closed_at: list[float] = []
    close = Connection.close

    def closing(connection: Connection) -> None:
        close(connection)
        closed_at.append(RealClock().unix_s())

    monkeypatch.setattr(Connection, "close", closing)
    with LoopbackServer(_endless(page(b"", CHUNKED), chunked(b"xyz", end=b"") * 9000)) as server:
        cut = result(fetch(server, max_body_bytes=1000))
        assert closed_at[0] <= cut.ended_at
        closed_at.clear()
        unread = result(fetch(server, content_types=("image/*",)))
        assert (unread.wanted, closed_at[0] <= unread.ended_at) == (False, True)


def test_a_body_of_just_the_limit_is_whole(fetch: Fetch) -> None:
    with LoopbackServer(keeping_alive(page(b"x" * 1000))) as server:
        got = result(fetch(server, max_body_bytes=1000))
        assert (got.truncated, got.body.size) == (False, 1000)
        got = result(fetch(server, max_body_bytes=999))
        assert (got.truncated, got.body.size) == (True, 999)
        assert server.connections == 1


@pytest.mark.parametrize(
    "handler",
    [
        _endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65536),
        _endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 5000),
        _endless(b"HTTP/1.1 200 OK\r\nX: y\r\n", b" folded\r\n" * 5000),
        answering(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 501 + b"\r\n"),
        answering(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 140_000 + b"\r\n\r\n"),
    ],
    ids=["one-line", "many-lines", "folded", "count", "size"],
)
def test_a_head_is_bounded(fetch: Fetch, handler: Handler) -> None:
    with LoopbackServer(handler) as server:
        assert failure(fetch(server)).kind is FailureKind.HEADERS_TOO_LARGE


def test_interim_answers_are_bounded(fetch: Fetch) -> None:
    with LoopbackServer(_endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")) as server:
        assert failure(fetch(server)).kind is FailureKind.PROTOCOL_ERROR


def test_bodies_beyond_the_budget_lie_in_files() -> None:
    bodies = BodyMemory(1000)
    fetcher = HttpFetcher(user_agent="m", clock=RealClock(), bodies=bodies, pool_capacity=1)
    with LoopbackServer(keeping_alive(page(b"x" * 5000))) as server:
        got = result(
            fetcher.fetch(
                FetchRequest(
                    url="http://site.test/",
                    addresses=("127.0.0.1",),
                    port=server.port,
                    timeout_s=10.0,
                    max_body_bytes=4000,
                )
            )
        )
        assert (got.body.size, got.body.read()) == (4000, b"x" * 4000)
        assert bodies.used_bytes == 0
        got.body.close()
        fetcher.close()


# -- what is strange but right --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (page(chunked(b"ab", b"c"), CHUNKED), b"abc"),
        (page(chunked(b"ab", b"c"), "transfer-encoding:Chunked"), b"abc"),
        (page(b"2;x=y\r\nab\r\n1 \r\nc\r\n0\r\n\r\n", CHUNKED), b"abc"),
        (page(b"2\nab\n1\nc\n0\n\n", CHUNKED), b"abc"),
        (page(chunked(b"abc", end=b"0\r\nTrailer: x\r\n\r\n"), CHUNKED), b"abc"),
        (page(chunked(b"abc", end=b"0\r\n"), CHUNKED), b"abc"),
        (page(chunked(b"abc"), "Transfer-Encoding: identity, chunked"), b"abc"),
        (page(b"abcd", "Transfer-Encoding: identity", "Content-Length: 3"), b"abc"),
        (page(b"abc", "Content-Length: 3, 3"), b"abc"),
        (page(b"abc", "Content-Length: 3", "Content-Length: 3"), b"abc"),
        (page(b"abc", "Content-Length: none"), b"abc"),
        (b"HTTP/1.0 200\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", b"abc"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + page(b"abc"), b"abc"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3 + page(b"abc"), b"abc"),
        (b"HTTP/1.1 200 OK\r\nno field\r\n: x\r\nContent-Length : 3\r\n\r\nabcd", b"abc"),
        (page(b"abc", "Content-Encoding: identity"), b"abc"),
        (page(b"", "Content-Encoding: gzip"), b""),
        (page(b"", "Content-Encoding: br"), b""),
        (page(b"", "Content-Encoding: zstd"), b""),
        (page(b"", "Content-Encoding: deflate"), b""),
    ],
)
def test_lenient_where_it_is_harmless(fetch: Fetch, answer: bytes, body: bytes) -> None:
    with LoopbackServer(answering(answer)) as server:
        got = result(fetch(server))
        assert (got.status, got.body.read(), got.truncated) == (200, body, False)


def test_a_trailer_without_end_only_costs_the_connection(fetch: Fetch) -> None:
    with LoopbackServer(_endless(page(b"3\r\nabc\r\n0\r\n", CHUNKED), b"X: y\r\n" * 500)) as server:
        assert result(fetch(server)).body.read() == b"abc"
        assert result(fetch(server)).body.read() == b"abc"
        assert server.connections == 2


def test_headers_keep_order_duplicates_and_bytes(fetch: Fetch) -> None:
    answer = (
        b"HTTP/1.1 200 Sch\xf6n\r\nSet-Cookie: a\r\nX-Fold: one\r\n\ttwo\r\nset-cookie:  b \r\n"
        b"X-Bare: a\rb\0c\r\nX-Latin: \xe9\r\nContent-Length: 0\r\n\r\n"
    )
    with LoopbackServer(answering(answer)) as server:
        got = result(fetch(server))
    assert got.status_text == "Schön"
    assert got.headers == (
        ("Set-Cookie", "a"),
        ("X-Fold", "one two"),
        ("set-cookie", "b"),
        ("X-Bare", "a b c"),
        ("X-Latin", "é"),
        ("Content-Length", "0"),
    )
