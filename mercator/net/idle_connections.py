"""Kept-alive connections that wait for their host's next request."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from mercator.net.connection import Connection

_MAX_IDLE_S = 60.0
"""Servers close after 5 to 75 s, and a path through address translation forgets a silent connection
without a word; a request on such a one would wait for its whole time-out."""


class Endpoint(NamedTuple):
    """What a connection is good for: the host decides the certificate, the port where it goes.

    Threads: immutable.
    """

    tls: bool
    host: str
    port: int


class IdleConnections:
    """At most one idle connection an endpoint and `capacity` in all; the longest unused goes first.

    Threads: `_idle` and `_closed` are guarded by `_lock` (leaf, never held over I/O).
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._idle: OrderedDict[Endpoint, Connection] = OrderedDict()
        self._closed = False

    def take(self, endpoint: Endpoint, addresses: Sequence[str], now_s: float) -> Connection | None:
        """The endpoint's connection, if it is usable and leads to one of the vetted `addresses`."""
        with self._lock:
            connection = self._idle.pop(endpoint, None)
        if connection is None:
            return None
        if (
            connection.address in addresses
            and now_s - connection.idle_since_s <= _MAX_IDLE_S
            and connection.is_usable()
        ):
            return connection
        connection.close()
        return None

    def put(self, endpoint: Endpoint, connection: Connection, now_s: float) -> None:
        """Keeps a connection whose answer was read to its end; closes those without room."""
        connection.idle_since_s = now_s
        surplus: list[Connection] = []
        with self._lock:
            if self._closed:
                surplus.append(connection)
            else:
                older = self._idle.pop(endpoint, None)
                if older is not None:
                    surplus.append(older)
                self._idle[endpoint] = connection
                while len(self._idle) > self._capacity:
                    surplus.append(self._idle.popitem(last=False)[1])
        for unwanted in surplus:
            unwanted.close()

    def close_all(self) -> int:
        """Closes every idle connection; says how many there were."""
        with self._lock:
            idle = list(self._idle.values())
            self._idle.clear()
        for connection in idle:
            connection.close()
        return len(idle)

    def close(self) -> None:
        """Closes every idle connection, and from now on each that is put."""
        with self._lock:
            self._closed = True
        self.close_all()
