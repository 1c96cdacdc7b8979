"""One client's connection: reads heads, writes answers in their steps, and tells the log."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Protocol

from testsite.loop import READ, WRITE, Loop, Timer
from testsite.reply import End, Reply, Step, Wait, whole
from testsite.request import MAX_HEAD_BYTES, Request, parse

MAX_PIPELINED_BYTES = 131_072
_RECEIVE_BYTES = 65_536
_NO_LINGER = struct.pack("ii", 1, 0)
_WANT = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Handler(Protocol):
    """What a connection needs of its server. Threads: the loop's thread."""

    loop: Loop
    latency_s: float

    def answer(self, request: Request) -> Reply:
        """The answer to a request."""

    def begun(self) -> None:
        """A request's head is complete."""

    def ended(self, t: float, t_end: float, request: Request, status: int, peer: str) -> None:
        """A request has been answered or broken off; called once for each `begun`."""

    def closed(self, connection: Connection) -> None:
        """The connection is gone."""


class Connection:
    """Serves one connection, one request after the other; what was pipelined waits its turn.

    Threads: confined to the loop's thread.
    """

    __slots__ = (
        "_close",
        "_handler",
        "_in",
        "_on_event",
        "_out",
        "_peer",
        "_request",
        "_sent",
        "_shaking",
        "_sock",
        "_status",
        "_steps",
        "_t",
        "_t_end",
        "_t_received",
        "_timer",
        "_watched",
    )

    def __init__(self, handler: Handler, sock: socket.socket, peer: str) -> None:
        self._handler = handler
        self._sock: socket.socket | None = sock
        self._peer = peer
        self._in = b""
        self._out = memoryview(b"")
        self._request: Request | None = None
        self._steps: Iterator[Step] = iter(())
        self._status = 0
        self._sent = False
        self._close = False
        self._t = self._t_end = self._t_received = 0.0
        self._timer: Timer | None = None
        self._watched = READ
        self._shaking = isinstance(sock, ssl.SSLSocket)
        self._on_event: Callable[[int], None] = self._ready
        handler.loop.watch(sock, READ, self._on_event)

    # -- reading -------------------------------------------------------------------------------

    def _ready(self, events: int) -> None:
        if self._shaking:
            self._shake()
            return
        if events & READ:
            self._receive()
        if events & WRITE and self._sock is not None:
            self._go_on(self._advance)

    def _shake(self) -> None:
        assert isinstance(self._sock, ssl.SSLSocket)
        try:
            self._sock.do_handshake()
        except ssl.SSLWantWriteError:
            self._watch(WRITE)
        except ssl.SSLWantReadError:
            self._watch(READ)
        except OSError:
            self.end()  # the client did not like the certificate, or went away
        else:
            self._shaking = False
            self._watch(READ)

    def _receive(self) -> None:
        assert self._sock is not None
        try:
            data = self._sock.recv(_RECEIVE_BYTES)
        except _WANT:
            return
        except OSError:
            data = b""
        if not data:
            self.end()
            return
        self._t_received = monotonic()
        self._in = self._in + data if self._in else data
        if self._request is None:
            self._next()
        elif len(self._in) > MAX_PIPELINED_BYTES:
            self.end()  # a client that asks on and on without reading would fill the memory

    def _next(self) -> None:
        """Answers the requests whose heads are complete, up to one that has to wait."""
        while self._request is None and self._sock is not None:
            end = self._in.find(b"\r\n\r\n")
            if end < 0:
                if len(self._in) > MAX_HEAD_BYTES:
                    self._refuse(431, self._in)
                return
            head, self._in = self._in[:end], self._in[end + 4 :]
            request = parse(head)
            if request is None:
                self._refuse(400, head)
                return
            self._begin(request)
            if self._handler.latency_s:
                self._pause(self._handler.latency_s, self._answer)
            else:
                self._answer()

    def _refuse(self, status: int, head: bytes) -> None:
        """Answers what cannot be understood, and ends the connection: where the next head begins is
        unknown."""
        self._begin(Request("", "", head[:200].decode("latin-1"), True, head))
        self._start(whole(status, b""))

    def _begin(self, request: Request) -> None:
        self._request = request
        self._t = self._t_received
        self._sent = False
        self._status = 0
        self._handler.begun()

    # -- writing -------------------------------------------------------------------------------

    def _answer(self) -> None:
        assert self._request is not None
        self._start(self._handler.answer(self._request))

    def _start(self, reply: Reply) -> None:
        request = self._request
        assert request is not None
        self._status = reply.status
        self._close = request.close
        steps = reply.steps
        if isinstance(steps, bytes):
            if request.close:
                steps = steps.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
            if request.method == "HEAD":
                steps = steps[: steps.find(b"\r\n\r\n") + 4]
            self._out = memoryview(steps)
            self._steps = iter(())
        else:
            self._steps = steps
        self._advance()

    def _advance(self) -> None:
        """Writes while there is room, one step at most, and takes the step behind it."""
        sock = self._sock
        if sock is None or self._request is None or self._timer is not None:
            return
        wrote = False
        while True:
            if self._out:
                if wrote:
                    # One step a round: a body without end must not keep the others waiting.
                    self._watch(READ | WRITE)
                    return
                wrote = True
                self._t_end = monotonic()
                try:
                    count = sock.send(self._out)
                except _WANT:
                    count = 0
                except OSError:
                    self.end()
                    return
                self._sent = self._sent or count > 0
                self._out = self._out[count:]
                if self._out:
                    self._watch(READ | WRITE)
                    return
            step = next(self._steps, None)
            if isinstance(step, bytes):
                self._out = memoryview(step)
            elif step is None:
                self._finish()
                return
            elif isinstance(step, Wait):
                self._pause(step.seconds, self._advance)
                return
            elif step is End.HANG:
                self._watch(READ)
                return
            else:
                self.end(reset=step is End.RESET)
                return

    def _pause(self, seconds: float, then: Callable[[], None]) -> None:
        def resume() -> None:
            self._timer = None
            self._go_on(then)

        self._watch(READ)
        self._timer = self._handler.loop.call_later(seconds, resume)

    def _go_on(self, then: Callable[[], None]) -> None:
        """Continues an answer, and then with the requests that waited behind it."""
        then()
        if self._request is None:
            self._next()

    def _finish(self) -> None:
        """The answer is out."""
        self._report(self._t_end)
        if self._close:
            self.end()
        else:
            self._watch(READ)

    def _report(self, t_end: float) -> None:
        request, self._request = self._request, None
        assert request is not None
        status = self._status if self._sent else 0
        self._handler.ended(self._t, t_end, request, status, self._peer)

    def _watch(self, events: int) -> None:
        if events != self._watched and self._sock is not None:
            self._handler.loop.change(self._sock, events, self._on_event)
            self._watched = events

    # -- ending --------------------------------------------------------------------------------

    def end(self, *, reset: bool = False) -> None:
        """Closes the connection, or tears it down; a request that is being answered is broken off.
        May be called twice."""
        sock, self._sock = self._sock, None
        if sock is None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._request is not None:
            self._report(monotonic())
        self._handler.loop.forget(sock)
        if reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        sock.close()
        self._handler.closed(self)
