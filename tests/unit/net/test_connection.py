"""A connection by itself, over a pair of sockets: the buffer, the deadline, what it reports."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator

import pytest

from mercator.clock import RealClock
from mercator.net.connection import Connection
from mercator.net.faults import AnswerError
from mercator.net.framing import LengthBody
from mercator.testing import ManualClock
from mercator.values import FailureKind
from tests.unit.net.loopback import LoopbackServer


class _Sockets:
    """A connection, its server's end, and its clock. Threads: one."""

    def __init__(self) -> None:
        ours, self.server = socket.socketpair()
        self.clock = ManualClock()
        self.connection = Connection("192.0.2.1", 80, self.clock)
        self.connection._socket = self.connection._http.sock = ours
        self.connection._deadline_s = self.clock.monotonic_s() + 30.0


@pytest.fixture
def pair() -> Iterator[_Sockets]:
    pair = _Sockets()
    yield pair
    pair.connection.close()
    pair.server.close()


def test_what_is_taken_is_gone(pair: _Sockets) -> None:
    pair.server.sendall(b"one\r\ntwo\nthree")
    assert pair.connection.take_line(100) == b"one"
    assert pair.connection.take_line(100) == b"two"
    assert pair.connection.take(2) == b"th"
    assert not pair.connection.is_usable()
    assert pair.connection.take(100) == b"ree"
    assert pair.connection.is_usable()
    pair.server.close()
    assert not pair.connection.is_usable()
    assert pair.connection.take(100) == b""
    assert pair.connection.take_line(100) is None


def test_a_line_over_the_limit_is_none(pair: _Sockets) -> None:
    pair.server.sendall(b"x" * 10 + b"\n")
    assert pair.connection.take_line(10) is None
    assert pair.connection.take_line(11) == b"x" * 10


def test_a_head_ends_where_its_empty_line_ends(pair: _Sockets) -> None:
    for head in (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n", b"HTTP/1.1 200 OK\n\n"):
        for at in range(len(head)):
            pair.server.sendall(head[at : at + 1])
        pair.server.sendall(b"body\r\n\r\n")
        assert pair.connection.take_head(100) == head
        assert pair.connection.take(100) == b"body\r\n\r\n"


def test_nothing_is_received_behind_the_deadline(pair: _Sockets) -> None:
    pair.server.sendall(b"x")
    pair.clock.advance_s(30)
    with pytest.raises(TimeoutError):
        pair.connection.take(1)


class _GivesUp:
    """A socket whose TCP connection the system has given up. Threads: one."""

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0

    def recv(self, _size: int) -> bytes:
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")


def test_what_the_system_gives_up_is_not_waited_for(pair: _Sockets) -> None:
    pair.connection._socket.close()
    pair.connection._socket = _GivesUp()  # type: ignore[assignment]
    with pytest.raises(TimeoutError, match="Connection timed out"):
        pair.connection.take(1)


def test_a_body_leaves_the_connection_reusable_only_at_its_end(pair: _Sockets) -> None:
    pair.server.sendall(b"abcde")
    body = LengthBody(pair.connection, 5)
    assert (body.read(3), body.reusable) == (b"abc", False)
    assert (body.read(3), body.reusable) == (b"de", True)
    assert body.read(3) == b""
    short = LengthBody(pair.connection, 1)
    pair.server.close()
    with pytest.raises(AnswerError) as caught:
        short.read(1)
    assert (caught.value.kind, short.reusable) == (FailureKind.INCOMPLETE_BODY, False)


def test_the_handshake_has_the_deadline_and_not_a_time_of_its_own() -> None:
    clock = RealClock()
    with LoopbackServer(lambda talk: talk.wait_for_close()) as server:
        connection = Connection("127.0.0.1", server.port, clock)
        begun_s = clock.monotonic_s()
        connection.connect(begun_s + 60)
        with pytest.raises(TimeoutError):
            connection.start_tls(ssl.create_default_context(), "site.test", begun_s + 0.2)
        assert clock.monotonic_s() - begun_s < 2
        connection.close()
