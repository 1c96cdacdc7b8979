"""One GET: connect to a vetted address, ask, read the answer within every bound (ports.Fetcher)."""

from __future__ import annotations

import errno
import functools
import ssl
from fnmatch import fnmatchcase

from urllib3.exceptions import HTTPError

from mercator.net.answer import read_head
from mercator.net.body import BodyMemory, SpooledBody
from mercator.net.connection import Connection
from mercator.net.course import Course
from mercator.net.decoding import decoded
from mercator.net.faults import AnswerError, Phase
from mercator.net.framing import Source, framed
from mercator.net.idle_connections import IdleConnections
from mercator.net.request_head import RequestHeads, Target, target_of
from mercator.net.tls import client_context
from mercator.ports import Clock
from mercator.values import FailureKind, FetchFailure, FetchRequest, FetchResult

_ERROR_BODY_BYTES = 262_144
"""Nobody reads the body of an answer that is no 2xx, but the archive keeps a sample of it."""
_READ_BYTES = 65_536
_NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})


class HttpFetcher:
    """Fetches over kept-alive connections, at most one idle one a host.

    `user_agent` is the header's whole value; `bodies` the budget that all bodies share; at most
    `pool_capacity` connections stay open between requests; `ca_file` is a PEM file of authorities
    that are trusted besides the system's. Raises ConfigError for a header value or a CA file that
    cannot be used. No proxy, no cookie, no redirect, nothing from the environment but the system's
    CAs. Threads: safe from any thread (what is shared guards itself).
    """

    def __init__(
        self,
        *,
        user_agent: str,
        clock: Clock,
        bodies: BodyMemory,
        pool_capacity: int,
        ca_file: str | None = None,
    ) -> None:
        self._clock = clock
        self._bodies = bodies
        self._idle = IdleConnections(pool_capacity)
        # Without a CA file, whose faults have to show now, the 40 ms of reading the system's
        # authorities are spent at the first https request.
        self._tls_context = client_context(ca_file) if ca_file is not None else None
        self._heads = RequestHeads(user_agent)

    def fetch(self, request: FetchRequest) -> FetchResult | FetchFailure:
        """Sends the GET and reads the answer.

        Whoever gets a result closes its body. 2xx bodies are read up to `max_body_bytes`, others up
        to 256 KiB, where trouble within the body only cuts it: the status has said what matters.
        Raises ValueError for a URL that is not absolute http(s) in its parsed (ASCII) spelling, no
        or non-literal addresses, or extra headers that would break the head; StoreError for a
        temporary file that cannot be written.
        """
        target = target_of(request)
        head = self._heads.head(target, request)
        course = Course(request, self._clock)
        try:
            connection = self._ask(course, target, head)
            return self._read(course, target, head, connection)
        except (AnswerError, HTTPError, OSError, UnicodeError) as error:
            return course.failure(error)

    def close(self) -> None:
        """Closes idle connections; those in use are closed when their request ends."""
        self._idle.close()

    def _ask(self, course: Course, target: Target, head: bytes) -> Connection:
        """A connection on which the first bytes of the answer have come.

        A server may close an idle connection just as we send on it. Then, and only before a single
        byte of an answer, the GET is sent once more on a new connection (RFC 9112, 9.3.1): it was
        not answered, and counts as the same request.
        """
        kept = self._idle.take(target.endpoint, course.request.addresses, course.started_at_s)
        if kept is not None:
            course.address = kept.address
            course.phase = Phase.ANSWER
            if self._sent(kept, head, course, may_be_stale=True):
                return kept
        connection = self._connect(course, target)
        if self._sent(connection, head, course, may_be_stale=False):
            return connection
        raise AnswerError(
            FailureKind.CONNECTION_RESET, "the server closed the connection without an answer"
        )

    def _sent(
        self, connection: Connection, head: bytes, course: Course, *, may_be_stale: bool
    ) -> bool:
        """Whether an answer has begun; the connection is closed when not."""
        begun = False
        try:
            begun = connection.ask(head, course.deadline_s)
        except TimeoutError:
            raise
        except OSError:
            if not may_be_stale:
                raise
            # Reset or closed between two requests: `_ask` says what follows.
        finally:
            if not begun:
                connection.close()
        return begun

    def _connect(self, course: Course, target: Target) -> Connection:
        """A new connection to the first address that takes one.

        Each address may use an even share of the time that is left, so that a silent one does not
        eat the turn of the others. When all fail, the first one's error counts.
        """
        addresses = course.request.addresses
        first: Exception | None = None
        for tried, address in enumerate(addresses):
            course.phase = Phase.CONNECT
            now_s = self._clock.monotonic_s()
            share_s = (course.deadline_s - now_s) / (len(addresses) - tried)
            course.address = address
            try:
                connection = self._dial(address, target.endpoint.port, now_s + share_s)
            except (HTTPError, OSError) as error:
                first = first or error
                continue
            if target.endpoint.tls:
                course.phase = Phase.TLS
                try:
                    connection.start_tls(self._tls(), target.endpoint.host, course.deadline_s)
                except BaseException:
                    connection.close()
                    raise
            course.phase = Phase.ANSWER
            return connection
        assert first is not None
        course.address = addresses[0]
        try:
            raise first
        finally:
            # Else error, traceback and this frame hold one another until the next collection.
            del first

    def _tls(self) -> ssl.SSLContext:
        # Two threads may both make one at first: the later one stays, either is good.
        context = self._tls_context
        if context is None:
            context = self._tls_context = client_context(None)
        return context

    def _dial(self, address: str, port: int, deadline_s: float) -> Connection:
        connection = Connection(address, port, self._clock)
        try:
            connection.connect(deadline_s)
        except HTTPError as error:
            # Out of file descriptors is our trouble, not the host's: idle connections make room.
            short = (
                isinstance(error.__cause__, OSError) and error.__cause__.errno in _NO_DESCRIPTORS
            )
            if not short or not self._idle.close_all():
                raise
            connection.connect(deadline_s)
        return connection

    def _read(
        self, course: Course, target: Target, request_head: bytes, connection: Connection
    ) -> FetchResult:
        """The result; the connection is kept when the answer was read to its end, else closed."""
        request = course.request
        reusable = False
        body = self._bodies.new()
        try:
            head = course.head = read_head(connection)
            success = 200 <= head.status < 300
            wanted = not success or _is_wanted(request.content_types, head.essence())
            truncated = False
            if wanted:
                limit = request.max_body_bytes
                if not success:
                    limit = min(limit, _ERROR_BODY_BYTES)
                try:
                    wire, codings = framed(connection, head)
                    source = decoded(wire, head.tokens("content-encoding") + codings, limit)
                    truncated = _fill(body, source, limit)
                    reusable = not truncated and wire.reusable and head.keeps_alive()
                except (AnswerError, OSError):
                    if success:
                        raise
                    truncated = True
            body.finish()
            if not reusable:
                # Before the end is stamped: as long as it is open the server is busy with us, and the
                # gap to the next request must not begin.
                connection.close()
            return course.result(head, request_head, body, truncated=truncated, wanted=wanted)
        except BaseException:
            course.bytes_read = body.size
            body.close()
            reusable = False
            raise
        finally:
            if reusable:
                self._idle.put(target.endpoint, connection, self._clock.monotonic_s())
            else:
                connection.close()


@functools.lru_cache(maxsize=1024)
def _is_wanted(patterns: tuple[str, ...] | None, essence: str) -> bool:
    """Whether a media type fits one of the patterns; what states no type is wanted."""
    if patterns is None or not essence:
        return True
    return any(fnmatchcase(essence, pattern.lower()) for pattern in patterns)


def _fill(body: SpooledBody, source: Source, limit: int) -> bool:
    """Writes the source into the body; True when it was cut at `limit` bytes."""
    while piece := source.read(_READ_BYTES):
        room = limit - body.size
        if len(piece) > room:
            body.write(piece[:room])
            return True
        body.write(piece)
    return False
