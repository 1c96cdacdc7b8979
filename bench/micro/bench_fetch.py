"""What a fetch costs: a 30 KB page over kept-alive connections, beside urllib3 and http.client.

`python -m bench.micro.bench_fetch [--threads N]`: CPU microseconds a request of this process (the
server is another one), median of rounds in which all clients take turns, and context switches a
request. With threads, each has a host (a connection) of its own. One JSON line.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import resource
import socket
import statistics
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import urllib3
from urllib3.connection import HTTPConnection

from mercator.clock import RealClock
from mercator.net.body import BodyMemory
from mercator.net.fetcher import HttpFetcher
from mercator.values import FetchRequest, FetchResult

BODY = b"<html>" + b"x" * 30_714
ANSWER = (
    b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\n"
    b"Content-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n"
    b'Cache-Control: max-age=60\r\nETag: "abc"\r\nVary: Accept-Encoding\r\n\r\n' % len(BODY)
) + BODY
FIELDS = {
    "User-Agent": "mercator",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Encoding": "gzip, deflate, br, zstd",
}
HEAD = b"GET /page/1 HTTP/1.1\r\nHost: h.test\r\n" + b"".join(
    f"{name}: {value}\r\n".encode() for name, value in FIELDS.items()
)
ROUNDS = 5

Fetch = Callable[[], object]


def serve(port_out: Connection) -> None:
    """Answers every request with the page, a thread for each connection."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    port_out.send(listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while connection.recv(65536):
        connection.sendall(ANSWER)


def mercator_client(port: int) -> Callable[[int], Fetch]:
    """The fetcher, one for all threads, as the engine has it."""
    fetcher = HttpFetcher(
        user_agent="mercator", clock=RealClock(), bodies=BodyMemory(64 << 20), pool_capacity=512
    )

    def client(number: int) -> Fetch:
        request = FetchRequest(
            url=f"http://h{number}.test/page/1",
            addresses=("127.0.0.1",),
            port=port,
            timeout_s=30.0,
            max_body_bytes=10 << 20,
            content_types=("text/*",),
        )

        def fetch() -> bytes:
            got = fetcher.fetch(request)
            assert isinstance(got, FetchResult)
            content = got.body.read()
            got.body.close()
            return content

        return fetch

    return client


def pool_client(port: int) -> Callable[[int], Fetch]:
    """urllib3's pool of one connection a host, read in pieces as a bound on the body needs it."""

    def client(_number: int) -> Fetch:
        pool = urllib3.HTTPConnectionPool("127.0.0.1", port, maxsize=1)

        def fetch() -> bytes:
            answer = pool.urlopen(
                "GET",
                "/page/1",
                headers=FIELDS,
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
                timeout=30,
            )
            content = b"".join(iter(lambda: answer.read(65536), b""))
            answer.release_conn()
            return content

        return fetch

    return client


def connection_client(port: int) -> Callable[[int], Fetch]:
    """urllib3's connection without the pool."""

    def client(_number: int) -> Fetch:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)

        def fetch() -> bytes:
            connection.request(
                "GET", "/page/1", headers=FIELDS, preload_content=False, decode_content=False
            )
            answer = connection.getresponse()
            return b"".join(iter(lambda: answer.read(65536), b""))

        return fetch

    return client


def stdlib_client(port: int) -> Callable[[int], Fetch]:
    """http.client."""

    def client(_number: int) -> Fetch:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

        def fetch() -> bytes:
            connection.request("GET", "/page/1", headers=FIELDS)
            return connection.getresponse().read()

        return fetch

    return client


def socket_client(port: int) -> Callable[[int], Fetch]:
    """A bare socket that knows the length: the floor."""

    def client(_number: int) -> Fetch:
        connection = socket.create_connection(("127.0.0.1", port), timeout=30)

        def fetch() -> bytes:
            connection.sendall(HEAD + b"\r\n")
            content = b""
            while len(content) < len(ANSWER):
                content += connection.recv(65536)
            return content[-len(BODY) :]

        return fetch

    return client


CLIENTS: dict[str, Callable[[int], Callable[[int], Fetch]]] = {
    "mercator": mercator_client,
    "urllib3_pool": pool_client,
    "urllib3_connection": connection_client,
    "http_client": stdlib_client,
    "socket": socket_client,
}


def measured(fetches: list[Fetch], requests: int) -> tuple[float, float, float]:
    """CPU and wall microseconds and context switches a request."""
    each = requests // len(fetches)

    def work(fetch: Fetch) -> None:
        for _ in range(each):
            fetch()

    threads = [threading.Thread(target=work, args=(fetch,)) for fetch in fetches]
    before = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    after = resource.getrusage(resource.RUSAGE_SELF)
    switches = after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw
    done = each * len(fetches)
    return cpu_s / done * 1e6, wall_s / done * 1e6, switches / done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--requests", type=int, default=2000, help="a round and client")
    options = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    port: int = here.recv()
    clients = {
        name: [make(number) for number in range(options.threads)]
        for name, make in ((name, make(port)) for name, make in CLIENTS.items())
    }
    for fetches in clients.values():
        for fetch in fetches:
            assert fetch() == BODY
    rounds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in clients}
    for _ in range(ROUNDS):
        for name, fetches in clients.items():
            rounds[name].append(measured(fetches, options.requests))
    server.terminate()
    result: dict[str, object] = {"threads": options.threads, "page_bytes": len(BODY)}
    for name, figures in rounds.items():
        cpu_us, wall_us, switches = (
            statistics.median(column) for column in zip(*figures, strict=True)
        )
        result[name] = {
            "cpu_us": round(cpu_us, 1),
            "wall_us": round(wall_us, 1),
            "switches": round(switches, 1),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
