from __future__ import annotations

import socket
from collections.abc import Callable
from time import monotonic

import pytest

from testsite.client import Client
from testsite.connection import MAX_PIPELINED_BYTES
from testsite.fixture import Site
from testsite.request import MAX_HEAD_BYTES

GET = b"GET /page/1 HTTP/1.1\r\nHost: h0000.test\r\n\r\n"


def test_one_connection_serves_many_requests(site: Site) -> None:
    with Client(site.port) as client:
        bodies = [client.get(f"/page/{n}").body for n in range(10)]
    assert len(set(bodies)) == 10
    assert len({entry["peer"] for entry in site.entries()}) == 1


def test_a_head_may_come_in_pieces(site: Site) -> None:
    with Client(site.port) as client:
        for at in range(len(GET)):
            client.sock.sendall(GET[at : at + 1])
        assert client.receive().status == 200
    assert len(site.entries()) == 1


def test_pipelined_requests_are_answered_in_order(site: Site) -> None:
    paths = [f"/page/{n % 10}" if n % 3 else f"/nowhere/{n}" for n in range(300)]
    with Client(site.port) as client:
        for path in paths:
            client.send(path)
        statuses = [client.receive().status for _ in paths]
    assert statuses == [200 if n % 3 else 404 for n in range(300)]
    assert [entry["path"] for entry in site.entries()] == paths


def test_pipelined_requests_wait_behind_a_slow_one(site_factory: Callable[..., Site]) -> None:
    site = site_factory(slow_s=0.05)
    with Client(site.port) as client:
        client.send("/slow/1")
        client.send("/page/1")
        client.send("/slow/2")
        started = monotonic()
        assert [client.receive().status for _ in range(3)] == [200] * 3
        assert monotonic() - started > 0.09
    slow, page, slow_again = site.entries()
    assert (slow["path"], page["path"], slow_again["path"]) == ("/slow/1", "/page/1", "/slow/2")
    assert slow["t_end"] - slow["t"] >= 0.05
    assert page["t_end"] >= slow["t_end"]


@pytest.mark.parametrize("field", ["Connection: close", "connection: CLOSE"])
def test_a_close_is_granted_and_said(site: Site, field: str) -> None:
    with Client(site.port) as client:
        answer = client.get("/page/1", "h0000.test", field)
        assert answer.fields["connection"] == "close"
        assert client.receive_until(1) == b""
    assert answer.body == site.web.page(0, 1).encode()


def test_head_has_the_head_of_get(site: Site) -> None:
    with Client(site.port) as client:
        client.send("/page/1", method="HEAD")
        head = client.receive(body=False)
        get = client.get("/page/1")
    assert head.fields == get.fields
    assert int(head.fields["content-length"]) == len(get.body)


def test_other_methods_are_refused_and_the_connection_ends(site: Site) -> None:
    with Client(site.port) as client:
        client.sock.sendall(b"POST /page/1 HTTP/1.1\r\nHost: h0000.test\r\n\r\nbody")
        answer = client.receive()
        assert (answer.status, answer.fields["allow"]) == (405, "GET, HEAD")
        with pytest.raises(ConnectionError):
            client.receive()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * MAX_HEAD_BYTES, 431),
    ],
)
def test_what_cannot_be_understood_is_answered_and_logged(
    site: Site, sent: bytes, status: int
) -> None:
    with Client(site.port) as client:
        client.sock.sendall(sent)
        assert client.receive().status == status
    assert [entry["status"] for entry in site.entries()] == [status]


def test_latency_is_a_timer_for_each_answer(site_factory: Callable[..., Site]) -> None:
    site = site_factory(latency_s=0.1)
    clients = [Client(site.port) for _ in range(10)]
    started = monotonic()
    for client in clients:
        client.send("/page/1")
    answers = [client.receive() for client in clients]
    took_s = monotonic() - started
    for client in clients:
        client.sock.close()
    assert {answer.status for answer in answers} == {200}
    assert 0.1 <= took_s < 0.9
    assert all(0.1 <= entry["t_end"] - entry["t"] < 0.9 for entry in site.entries())


def test_a_client_that_goes_away_ends_its_request_in_the_log(site: Site) -> None:
    before = monotonic()
    with Client(site.port) as client:
        client.send("/hang/1")
        assert site.status()["in_flight"] == 1
        assert site.entries() == []
    (entry,) = site.entries()
    assert (entry["path"], entry["status"]) == ("/hang/1", 0)
    assert before <= entry["t"] <= entry["t_end"] <= monotonic()
    assert site.status()["in_flight"] == 0


def test_the_end_is_when_the_last_byte_could_be_written(site_factory: Callable[..., Site]) -> None:
    # The bomb's 0.2 MB fit no buffer of this client, so its last byte waits for the client to read.
    site = site_factory()
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", site.port))
        for _ in range(8):
            sock.sendall(b"GET /bomb/1 HTTP/1.1\r\nHost: h0000.test\r\n\r\n")
        with Client(site.port) as other:
            other.get("/page/1")
        reading = monotonic()
        received = 0
        while len(site.entries()) < 9:
            received += len(sock.recv(1_000_000))
    ends = [entry["t_end"] for entry in site.entries() if entry["path"] == "/bomb/1"]
    assert len(ends) == 8
    assert ends[-1] > reading
    assert received > 100_000


def test_a_body_without_end_does_not_keep_others_waiting(site: Site) -> None:
    with Client(site.port) as greedy, Client(site.port) as other:
        greedy.send("/endless/0")
        for n in range(20):
            greedy.receive_until(100_000)
            assert other.get(f"/page/{n % 10}").status == 200


def flood(client: Client) -> None:
    for _ in range(400 * MAX_PIPELINED_BYTES // len(GET * 1000)):
        client.sock.sendall(GET * 1000)
    client.receive()


def test_a_client_that_only_asks_is_cut_off(site: Site) -> None:
    with Client(site.port) as client:
        client.send("/hang/1")
        with pytest.raises(ConnectionError):
            flood(client)
    assert site.status()["connections"] == 0


def test_a_reset_of_the_client_is_no_fault_of_the_server(site: Site) -> None:
    for path in ("/endless/1", "/drip/1", "/hang/1", "/slow/1", "/page/1"):
        with Client(site.port) as client:
            client.send(path)
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    with Client(site.port) as client:
        assert client.get("/page/1").status == 200
    assert site.status()["in_flight"] == 0
