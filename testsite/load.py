"""A load generator over raw keep-alive sockets, run in a process of its own beside the server."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple

_ROOM_BYTES = 262_144
_LENGTH = b"Content-Length: "


class Load(NamedTuple):
    """What a load run has seen. Threads: immutable."""

    requests: int
    bytes: int
    seconds: float
    bad: int
    """Answers other than 200."""

    @property
    def requests_per_s(self) -> float:
        """The mean rate."""
        return self.requests / self.seconds


class _Client:
    """One connection that asks again as soon as it is answered. Threads: confined to one."""

    __slots__ = ("expected", "got", "sock")

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.got = 0
        self.expected = 0


def run(port: int, requests: Sequence[bytes], *, clients: int, count: int) -> Load:
    """Asks `count` times in all over `clients` connections, going round in `requests`.

    Raises ConnectionError when the server closes a connection.
    """
    pool = [_Client(port) for _ in range(clients)]
    room = bytearray(_ROOM_BYTES)
    started = monotonic()
    sent = done = total = bad = 0
    with selectors.DefaultSelector() as selector:
        for client in pool:
            selector.register(client.sock, selectors.EVENT_READ, client)
            client.sock.sendall(requests[sent % len(requests)])
            sent += 1
        while done < count:
            for key, _ in selector.select(10):
                client = key.data
                got = client.sock.recv_into(room)
                if not got:
                    raise ConnectionError("the server closed a connection")
                if not client.expected:
                    client.expected, good = _announced(room)
                    bad += not good
                client.got += got
                if client.got < client.expected:
                    continue
                done += 1
                total += client.got
                client.got = client.expected = 0
                if sent < count:
                    client.sock.sendall(requests[sent % len(requests)])
                    sent += 1
    seconds = monotonic() - started
    for client in pool:
        client.sock.close()
    return Load(done, total, seconds, bad)


def _announced(room: bytearray) -> tuple[int, bool]:
    """Bytes of the whole answer by its head, and whether its status is 200."""
    end = room.find(b"\r\n\r\n")
    at = room.find(_LENGTH, 0, end) + len(_LENGTH)
    length = int(room[at : room.find(b"\r", at)])
    return end + 4 + length, room.startswith(b"HTTP/1.1 200 ")


def page_requests(hosts: int, pages: int) -> list[bytes]:
    """A request for every page of every host, host after host for each page number."""
    return [
        (
            f"GET /page/{page} HTTP/1.1\r\nHost: h{host:04d}.test\r\nUser-Agent: load/1\r\n"
            f"Accept: */*\r\nAccept-Encoding: gzip\r\n\r\n"
        ).encode()
        for page in range(pages)
        for host in range(hosts)
    ]
