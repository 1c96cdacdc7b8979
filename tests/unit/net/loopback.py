"""Raw socket servers on loopback that answer byte for byte what a test writes down."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable
from types import TracebackType

Handler = Callable[["Conversation"], None]


class Conversation:
    """One accepted connection, from the server's side. Threads: confined to its server thread."""

    def __init__(self, connection: socket.socket, server: LoopbackServer) -> None:
        self._connection = connection
        self._server = server
        self._received = b""
        self.ended = server.ended

    def request(self) -> bytes:
        """The next request's head; b"" when the client has closed."""
        while b"\r\n\r\n" not in self._received:
            data = self._connection.recv(65536)
            if not data:
                return b""
            self._received += data
        head, end, self._received = self._received.partition(b"\r\n\r\n")
        self._server.requests.append(head + end)
        return head + end

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def receive(self) -> bytes:
        """Whatever comes next; b"" when the client has closed."""
        return self._connection.recv(65536)

    def reset(self) -> None:
        """Closes with RST instead of FIN."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._connection.close()

    def wait_for_close(self) -> None:
        """Until the client closes."""
        while self._connection.recv(65536):
            pass


class LoopbackServer:
    """Serves the n-th connection with the n-th handler, further ones with the last.

    Threads: `requests` and `connections` are read by the test when a fetch has ended.
    """

    def __init__(self, *handlers: Handler, tls: ssl.SSLContext | None = None) -> None:
        self._handlers = handlers
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[bytes] = []
        self.connections = 0
        self.ended = threading.Event()
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> LoopbackServer:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended.set()
        # Closing alone does not wake a thread that is blocked in accept or recv; shutdown does.
        _shut(self._listener)
        self._threads[0].join()
        for connection in self._open:
            _shut(connection)
        for thread in self._threads[1:]:
            thread.join()

    def _accept(self) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.append(connection)
            handler = self._handlers[min(self.connections, len(self._handlers) - 1)]
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection, handler), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket, handler: Handler) -> None:
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.append(connection)
            handler(Conversation(connection, self))
        except OSError:
            pass  # the client went away, which is what several tests are about
        finally:
            _shut(connection)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # not connected any more
    connection.close()


def answering(*answers: bytes) -> Handler:
    """Sends one answer for each request on the connection, then closes it."""

    def handler(talk: Conversation) -> None:
        for answer in answers:
            if not talk.request():
                return
            talk.send(answer)

    return handler


def keeping_alive(answer: bytes) -> Handler:
    """Sends the same answer to every request until the client closes."""

    def handler(talk: Conversation) -> None:
        while talk.request():
            talk.send(answer)

    return handler


def page(body: bytes = b"<p>hello</p>", *fields: str, status: str = "200 OK") -> bytes:
    """An answer with Content-Length, as HTML where the fields say nothing else."""
    names = {field.partition(":")[0].lower() for field in fields}
    lines = [f"HTTP/1.1 {status}", *fields]
    if "content-type" not in names:
        lines.append("Content-Type: text/html")
    if not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """The pieces as chunks."""
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end
