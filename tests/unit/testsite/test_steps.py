"""A connection alone, with a handler that answers in given steps."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from itertools import repeat

import pytest

from testsite.connection import Connection
from testsite.loop import READ, WRITE, Loop
from testsite.reply import End, Reply, Step, Wait
from testsite.request import Request

GET = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"


class RecordingLoop(Loop):
    """Remembers which events were asked for. Threads: confined to one."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[int] = []

    def change(self, sock: socket.socket, events: int, callback: Callable[[int], None]) -> None:
        self.changes.append(events)
        super().change(sock, events, callback)


class Swallowing(socket.socket):
    """A socket with room for everything. Threads: confined to one."""

    sends = 0

    def send(self, data: object, flags: int = 0, /) -> int:
        self.sends += 1
        assert self.sends < 100_000, "one answer holds the loop"
        assert isinstance(data, memoryview)
        return len(data)


class Answering:
    """Answers every request with the same steps. Threads: confined to one."""

    latency_s = 0.0

    def __init__(self, steps: Iterator[Step]) -> None:
        self.recorded = RecordingLoop()
        self.loop: Loop = self.recorded
        self.steps = steps
        self.log: list[tuple[str, int]] = []
        self.in_flight = 0

    def answer(self, request: Request) -> Reply:
        return Reply(200, self.steps)

    def begun(self) -> None:
        self.in_flight += 1

    def ended(self, t: float, t_end: float, request: Request, status: int, peer: str) -> None:
        assert t <= t_end
        self.in_flight -= 1
        self.log.append((request.path, status))

    def closed(self, connection: Connection) -> None:
        self.loop.stop()


def serve(steps: Iterator[Step], limit_s: float = 5.0) -> tuple[Answering, Swallowing]:
    """Sends one request and runs the loop until the connection or the time is over."""
    handler = Answering(steps)
    ours, theirs = socket.socketpair()
    sock = Swallowing(ours.family, ours.type, fileno=ours.detach())
    sock.setblocking(False)
    connection = Connection(handler, sock, "peer")
    theirs.sendall(GET)
    handler.loop.call_later(limit_s, handler.loop.stop)
    handler.loop.run()
    connection.end()
    theirs.close()
    handler.loop.close()
    return handler, sock


def test_an_answer_without_end_takes_one_step_a_round() -> None:
    handler, sock = serve(repeat(b"x"), limit_s=0.02)
    assert sock.sends > 1
    assert handler.log == [("/x", 200)]


def test_nothing_is_watched_for_writing_while_an_answer_waits() -> None:
    handler, sock = serve(iter([b"x", b"y", Wait(0.01), b"z", End.CLOSE]))
    assert sock.sends == 3
    assert handler.recorded.changes == [READ | WRITE, READ]


@pytest.mark.parametrize("end", [End.CLOSE, End.RESET])
@pytest.mark.parametrize(("before", "status"), [([], 0), ([b"x"], 200)])
def test_the_status_is_nought_where_nothing_was_sent(
    end: End, before: list[Step], status: int
) -> None:
    handler, _ = serve(iter([*before, end]))
    assert handler.log == [("/x", status)]
    assert handler.in_flight == 0


def test_an_empty_step_is_no_end() -> None:
    handler, sock = serve(iter([b"x", b"", b"y", End.CLOSE]))
    assert sock.sends == 2
    assert handler.log == [("/x", 200)]
