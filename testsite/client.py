"""A client over one raw socket that hides nothing: what a check needs to see of an answer."""

from __future__ import annotations

import socket
from types import TracebackType
from typing import NamedTuple, Self


class Answer(NamedTuple):
    """A complete answer. Threads: immutable."""

    status: int
    fields: dict[str, str]
    """By lower-case name."""
    body: bytes


class Client:
    """One keep-alive connection to the site. Threads: confined to one thread."""

    def __init__(self, port: int, *, timeout_s: float = 10.0) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout_s)
        self._in = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.sock.close()

    def send(self, path: str, host: str = "h0000.test", *fields: str, method: str = "GET") -> None:
        """Sends a request; `fields` are whole header lines."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *fields]
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def receive(self, *, body: bool = True) -> Answer:
        """Reads an answer with a Content-Length; without its body for HEAD and 304.

        Raises ConnectionError when the server ends the connection before that, TimeoutError.
        """
        while b"\r\n\r\n" not in self._in:
            self._fill()
        head, _, self._in = self._in.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        fields = {name.lower(): value.strip() for name, _, value in pairs}
        length = int(fields.get("content-length", "0")) if body else 0
        while len(self._in) < length:
            self._fill()
        content, self._in = self._in[:length], self._in[length:]
        return Answer(int(first.split(" ")[1]), fields, content)

    def get(self, path: str, host: str = "h0000.test", *fields: str) -> Answer:
        """Asks and reads."""
        self.send(path, host, *fields)
        return self.receive()

    def receive_until(self, limit: int) -> bytes:
        """Everything up to `limit` bytes (at least) or the end of the connection, head included."""
        try:
            while len(self._in) < limit:
                self._fill()
        except ConnectionError:
            pass  # the end is what was asked for
        received, self._in = self._in, b""
        return received

    def _fill(self) -> None:
        data = self.sock.recv(262_144)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._in += data
