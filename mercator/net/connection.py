"""One connection to one vetted address, with the deadline of the request that uses it.

urllib3's `HTTPConnection` makes, watches and closes the TCP connection, and its TLS settings secure
it. Request and answer go over the socket directly: the deadline has to hold for every single receive,
which urllib3's time-outs (one for each operation) cannot do, and a fetch through urllib3's own pool
costs twice the CPU (`python -m bench.micro.bench_fetch`).
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl

from urllib3.connection import HTTPConnection

from mercator.net.faults import AnswerError
from mercator.ports import Clock
from mercator.values import FailureKind

_RECEIVE_BYTES = 65_536
_SHORTEST_WAIT_S = 0.001
_END_OF_HEAD = re.compile(rb"\n\r?\n")


class Connection:
    """A socket, what was received on it and not used yet, and a deadline.

    The deadline counts for the whole request: before every receive the socket's own time-out is
    made to end no later, so a server that drips single bytes gains nothing. A socket's time-out
    costs a system call (and the interpreter lock) to set, so it is set to half of what remains and
    holds for as long as that does not exceed the rest: for a kept-alive connection hardly ever.
    Threads: one at a time.
    """

    def __init__(self, address: str, port: int, clock: Clock) -> None:
        self.address = address
        self.idle_since_s = 0.0
        self._clock = clock
        self._http = HTTPConnection(address, port)
        self._socket: socket.socket
        self._buffer = bytearray()
        self._deadline_s = 0.0
        self._wait_s = 0.0

    def connect(self, deadline_s: float) -> None:
        """Makes the TCP connection. Raises urllib3's errors, OSError; ValueError when the address
        is no IP literal (looking a name up here would go round the guard)."""
        ipaddress.ip_address(self.address.partition("%")[0])
        self._http.timeout = max(_SHORTEST_WAIT_S, deadline_s - self._clock.monotonic_s())
        self._http.connect()
        self._socket = self._http.sock

    def start_tls(self, context: ssl.SSLContext, host: str, deadline_s: float) -> None:
        """Sets up TLS; the certificate has to verify and to be `host`'s (a name or an IP literal).

        Raises OSError (ssl.SSLError among them), UnicodeError for a name that no certificate can
        have.
        """
        self._socket.settimeout(max(_SHORTEST_WAIT_S, deadline_s - self._clock.monotonic_s()))
        # Not urllib3's ssl_wrap_socket: it sets ALPN on the shared context at each call, while
        # another thread's handshake may be copying it.
        name = host.rstrip(".")
        name.encode("idna")  # what cannot be encoded makes wrap_socket leave the socket open
        tls = context.wrap_socket(self._socket, server_hostname=name, do_handshake_on_connect=False)
        self._socket = self._http.sock = tls
        # A call of its own: on a connection that was reset by now, wrap_socket would leave the handshake
        # out without a word, and what follows would be sent in the clear.
        tls.do_handshake()

    def is_usable(self) -> bool:
        """Whether a kept-alive connection is still open and silent.

        A server that closed it, or sent something unasked (a 408 before closing), made it useless.
        """
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return False
        return not self._buffer and self._http.is_connected

    def ask(self, head: bytes, deadline_s: float) -> bool:
        """Sends the request and waits for the first bytes; False when the connection ends instead.

        Raises OSError.
        """
        self._deadline_s = deadline_s
        self._keep_deadline()
        self._socket.sendall(head)
        return self._receive()

    def take_head(self, limit: int) -> bytes:
        """The bytes up to and with the next empty line.

        Raises AnswerError: PROTOCOL_ERROR as soon as they cannot be HTTP (a banner of another
        protocol would otherwise keep us till the deadline), HEADERS_TOO_LARGE over `limit` bytes,
        CONNECTION_RESET when the connection ends before.
        """
        buffer = self._buffer
        searched = 0
        while True:
            match = _END_OF_HEAD.search(buffer, searched)
            size = match.end() if match else len(buffer)
            if buffer[:5] != b"HTTP/"[: len(buffer)]:
                raise AnswerError(
                    FailureKind.PROTOCOL_ERROR, f"not an HTTP/1 answer: {bytes(buffer[:40])!r}"
                )
            if size > limit:
                raise AnswerError(FailureKind.HEADERS_TOO_LARGE, f"a head over {limit} bytes")
            if match:
                return self._cut(size)
            searched = max(0, len(buffer) - 2)
            if not self._receive():
                raise AnswerError(
                    FailureKind.CONNECTION_RESET, "the connection ended inside the head"
                )

    def take_line(self, limit: int) -> bytes | None:
        """The next line without its end (CRLF or LF); None when none ends within `limit` bytes or
        the connection ends before."""
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched, limit)
            if end >= 0:
                return self._cut(end + 1).rstrip(b"\r\n")
            searched = len(self._buffer)
            if searched >= limit or not self._receive():
                return None

    def take(self, size: int) -> bytes:
        """Between 1 and `size` bytes; b"" when the connection has ended. Raises OSError."""
        if not self._buffer and not self._receive():
            return b""
        return self._cut(size)

    def close(self) -> None:
        """Closes the socket; may be called twice."""
        self._http.close()

    def _cut(self, size: int) -> bytes:
        buffer = self._buffer
        if size >= len(buffer):
            piece = bytes(buffer)
            buffer.clear()
        else:
            piece = bytes(buffer[:size])
            del buffer[:size]
        return piece

    def _receive(self) -> bool:
        """Appends what has come to the buffer; False when the connection has ended.

        Raises TimeoutError at the deadline, and other OSErrors.
        """
        while True:
            self._keep_deadline()
            try:
                data = self._socket.recv(_RECEIVE_BYTES)
            except TimeoutError as error:
                if error.errno is not None:
                    raise  # TCP itself gave up (ETIMEDOUT)
                continue  # the socket waits in parts of the remaining time: see the class
            self._buffer += data
            return bool(data)

    def _keep_deadline(self) -> None:
        left_s = self._deadline_s - self._clock.monotonic_s()
        if left_s <= 0:
            raise TimeoutError("the request did not end within its time")
        if self._wait_s > left_s or self._wait_s == 0.0:
            self._wait_s = max(_SHORTEST_WAIT_S, left_s / 2 if left_s > 1 else left_s)
            self._socket.settimeout(self._wait_s)
