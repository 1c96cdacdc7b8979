"""The server: listeners, the pages that are kept ready, and which answer a request gets."""

from __future__ import annotations

import errno
import json
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from testsite.behaviours import Behaviours
from testsite.connection import Connection
from testsite.generator import HOME, Web, page_path
from testsite.hosts import ROBOTS_LOOP_PATH, host_kind
from testsite.log import Log
from testsite.loop import READ, Loop
from testsite.reply import End, Reply, has_etag, head, not_found, not_modified, odd, page, whole
from testsite.request import Request
from testsite.robots import robots_answer
from testsite.tls import Authority

CACHE_BYTES = 256 * 1024 * 1024
_BACKLOG = 4096
_SEND_BUFFER_BYTES = 262_144
_ACCEPT_PAUSE_S = 0.05
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class ReadyPages:
    """Answers that are always the same, made once and kept while there is room.

    Threads: confined to the loop's thread.
    """

    def __init__(self, bound_bytes: int) -> None:
        self._bound_bytes = bound_bytes
        self._bytes = 0
        self._replies: OrderedDict[tuple[str, str], Reply] = OrderedDict()

    def get(self, host: str, path: str) -> Reply | None:
        """The answer, if it is there."""
        found = self._replies.get((host, path))
        if found is not None:
            self._replies.move_to_end((host, path))
        return found

    def is_full(self) -> bool:
        """True when the next page may drop an older one."""
        return self._bytes >= self._bound_bytes - 262_144

    def keep(self, host: str, path: str, reply: Reply) -> None:
        """Keeps an answer of one step, and drops the least recently used beyond the bound."""
        self._replies[host, path] = reply
        self._bytes += _size(reply)
        while self._bytes > self._bound_bytes:
            _, old = self._replies.popitem(last=False)
            self._bytes -= _size(old)


def _size(reply: Reply) -> int:
    return len(reply.steps) if isinstance(reply.steps, bytes) else 0


class Server:
    """Serves a web on loopback, plain and, where asked for, over TLS.

    Listens from the start; answers while `loop.run` runs. Raises OSError when a port is taken or
    the log cannot be written, ValueError for a negative time.
    Threads: made and closed by any one thread, else confined to the loop's.
    """

    def __init__(
        self,
        web: Web,
        *,
        port: int = 0,
        tls_port: int | None = None,
        latency_s: float = 0.0,
        slow_s: float = 2.0,
        log_path: Path | None = None,
        keep_log: bool = False,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        if min(latency_s, slow_s) < 0:
            raise ValueError("a latency cannot be negative")
        self.web = web
        self.loop = Loop()
        self.latency_s = latency_s
        self.log = Log(self.loop, log_path, keep=keep_log)
        self.behaviours = Behaviours(web, slow_s=slow_s)
        self.authority: Authority | None = None
        self.port = 0
        self.tls_port: int | None = None
        self._ready = ReadyPages(cache_bytes)
        self._connections: set[Connection] = set()
        self._listeners: list[socket.socket] = []
        self._asked: Counter[str] = Counter()
        self._in_flight = 0
        self._started_s = monotonic()
        try:
            self.port = self._listen(port, _unchanged)
            if tls_port is not None:
                self.authority = Authority()
                self.tls_port = self._listen(tls_port, self.authority.wrap)
        except BaseException:
            self.close()
            raise

    def make_ready(self, seconds: float) -> int:
        """Makes pages before they are asked for, page by page over all hosts, until the time is up, the
        room is full or all are there; how many. A page takes longer to make than to serve, so this
        keeps the first requests of a bench from being slower than the next. Before `run`.
        """
        give_up_s = monotonic() + seconds
        made = 0
        for number in range(HOME, self.web.pages):
            for host in range(self.web.hosts):
                if monotonic() >= give_up_s or self._ready.is_full():
                    return made
                self._ready.keep(
                    self.web.name(host), page_path(number), page(self.web.page(host, number))
                )
                made += 1
        return made

    def close(self) -> None:
        """Breaks off what is being answered, completes the log, frees everything; after `run`."""
        self.break_off()
        self.log.close()
        self.loop.close()
        if self.authority is not None:
            self.authority.close()

    def break_off(self) -> None:
        """Ends every connection and listens no longer; after `run`."""
        for connection in list(self._connections):
            connection.end()
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()

    def status(self) -> dict[str, object]:
        """The counts behind `/status`: of all requests since the start or the last `clear`."""
        return {
            "requests": sum(self.log.statuses.values()),
            "in_flight": self._in_flight,
            "connections": len(self._connections),
            "statuses": {str(k): v for k, v in sorted(self.log.statuses.items())},
            "hosts": dict(sorted(self._asked.items())),
            "uptime_s": round(monotonic() - self._started_s, 3),
        }

    def clear(self) -> None:
        """Empties the log's memory and the counts."""
        self.log.clear()
        self._asked.clear()

    # -- what a connection asks for ------------------------------------------------------------

    def answer(self, request: Request) -> Reply:
        """The answer to a request."""
        found = self._ready.get(request.host, request.path)
        if found is None:
            found = self._make(request)
        etag = request.if_none_match()
        if etag is not None and has_etag(found, etag):
            return not_modified(etag)
        return found

    def begun(self) -> None:
        """A request's head is complete."""
        self._in_flight += 1

    def ended(self, t: float, t_end: float, request: Request, status: int, peer: str) -> None:
        """A request is over."""
        self._in_flight -= 1
        known = self.web.index(request.host) is not None
        self._asked[request.host if known else "other"] += 1
        self.log.add(t, t_end, request.host, request.path, status, peer)

    def closed(self, connection: Connection) -> None:
        """A connection is gone."""
        self._connections.discard(connection)

    # -- answers -------------------------------------------------------------------------------

    def _make(self, request: Request) -> Reply:
        host, path = request.host, request.path.partition("?")[0]
        kind = host_kind(host)
        if request.method not in ("GET", "HEAD"):
            # The body that may follow is not read, so the connection cannot go on.
            fields = (("Allow", "GET, HEAD"), ("Content-Length", "0"), ("Connection", "close"))
            return odd(405, [head(405, *fields), End.CLOSE])
        if not host:
            return whole(400, b"")
        if kind == "dead":
            return odd(0, [End.CLOSE])
        if path == "/status":
            self.log.flush()
            body = json.dumps(self.status()).encode()
            return whole(200, body, content_type="application/json")
        index = self.web.index(host)
        if index is None:
            return not_found()
        if path in ("/robots.txt", ROBOTS_LOOP_PATH):
            return robots_answer(kind, path)
        number = self.web.page_of(path)
        if number is None:
            return self.behaviours.answer(request) or not_found()
        made = page(self.web.page(index, number))
        self._ready.keep(host, request.path, made)
        return made

    # -- listening -----------------------------------------------------------------------------

    def _listen(self, port: int, wrap: Callable[[socket.socket], socket.socket]) -> int:
        listener = socket.socket()
        self._listeners.append(listener)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Inherited by every connection: a page goes out in one call, and t_end is its true end.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)

        def accept(events: int) -> None:
            if not self._accept(listener, wrap):
                # Out of files: the listener stays readable, and the loop would spin on it.
                self.loop.forget(listener)
                self.loop.call_later(
                    _ACCEPT_PAUSE_S, lambda: self.loop.watch(listener, READ, accept)
                )

        self.loop.watch(listener, READ, accept)
        bound_port: int = listener.getsockname()[1]
        return bound_port

    def _accept(
        self, listener: socket.socket, wrap: Callable[[socket.socket], socket.socket]
    ) -> bool:
        """Takes the connections that wait; False when the process is out of file descriptors."""
        for _ in range(_BACKLOG):
            try:
                sock, (address, port) = listener.accept()
            except BlockingIOError:
                return True
            except OSError as error:
                return error.errno not in _OUT_OF_FILES
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                wrapped = wrap(sock)
            except OSError:
                sock.close()  # the client has already gone
                continue
            self._connections.add(Connection(self, wrapped, f"{address}:{port}"))
        return True


def _unchanged(sock: socket.socket) -> socket.socket:
    return sock
