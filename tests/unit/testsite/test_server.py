from __future__ import annotations

import json
import socket

import pytest

from testsite.client import Client
from testsite.fixture import Site
from testsite.generator import HOME, Web
from testsite.reply import Reply
from testsite.server import ReadyPages, Server


def test_every_page_is_served_as_generated(site: Site) -> None:
    with Client(site.port) as client:
        for host in range(3):
            for page in range(HOME, 10):
                path = "/" if page == HOME else f"/page/{page}"
                answer = client.get(path, site.web.name(host))
                assert answer.body == site.web.page(host, page).encode()
                assert client.get(path, site.web.name(host)) == answer


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "H0000.TEST", "h0000.test:8099"])
def test_other_names_of_the_first_host(site: Site, name: str) -> None:
    with Client(site.port) as client:
        assert client.get("/page/1", name).body == site.web.page(0, 1).encode()


def test_a_query_changes_nothing(site: Site) -> None:
    with Client(site.port) as client:
        assert client.get("/page/1?a=b&c").body == client.get("/page/1").body
        assert client.get("/gone/1?a").status == 404


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("h0000.test", "/page/10"),
        ("h0000.test", "/nowhere"),
        ("h0003.test", "/"),
        ("other.test", "/"),
        ("status.test", "/page/1"),
        ("h0000.test", "*"),
    ],
)
def test_unknown_hosts_and_paths_are_404(site: Site, host: str, path: str) -> None:
    with Client(site.port) as client:
        assert client.get(path, host).status == 404


def test_an_etag_that_matches_gives_304(site: Site) -> None:
    with Client(site.port) as client:
        first = client.get("/page/1")
        assert first.fields["last-modified"].endswith("GMT")
        for etag in (first.fields["etag"], "W/" + first.fields["etag"]):
            client.send("/page/1", "h0000.test", f"If-None-Match: {etag}")
            assert client.receive(body=False).status == 304
        assert client.get("/page/1", "h0000.test", 'If-None-Match: "other"').status == 200
        assert client.get("/page/2", "h0000.test", f"If-None-Match: {etag}").status == 200


def test_status_counts(site: Site) -> None:
    with Client(site.port) as client, Client(site.port) as other:
        client.get("/page/1")
        client.get("/nowhere", "h0001.test")
        client.get("/", "unknown.test")
        other.send("/hang/1")
        assert site.status()["in_flight"] == 1
        answer = client.get("/status", "status.test")
        counts = json.loads(answer.body)
    assert counts["requests"] == 3
    assert counts["in_flight"] == 2
    assert counts["connections"] == 2
    assert counts["statuses"] == {"200": 1, "404": 2}
    assert counts["hosts"] == {"h0000.test": 1, "h0001.test": 1, "other": 1}
    assert counts["uptime_s"] >= 0


def test_ready_pages_forget_the_least_recently_used() -> None:
    ready = ReadyPages(30)
    for path in "abc":
        ready.keep("h", path, Reply(200, b"x" * 10))
    assert ready.get("h", "a") is not None
    ready.keep("h", "d", Reply(200, b"x" * 10))
    assert [path for path in "abcd" if ready.get("h", path)] == ["a", "c", "d"]


def test_an_answer_larger_than_the_room_is_not_kept() -> None:
    ready = ReadyPages(5)
    ready.keep("h", "a", Reply(200, b"x" * 10))
    assert ready.get("h", "a") is None


def test_a_port_that_is_taken_is_an_error_and_leaves_nothing_open(site: Site) -> None:
    with pytest.raises(OSError, match="in use"):
        Server(Web(1, 1), port=site.port)


def test_many_connections_at_once(site: Site) -> None:
    socks = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(500)]
    for sock in socks:
        sock.sendall(b"GET /empty/1 HTTP/1.1\r\nHost: h0000.test\r\n\r\n")
    assert all(sock.recv(4096).startswith(b"HTTP/1.1 200 ") for sock in socks)
    for sock in socks:
        sock.close()
    assert len(site.entries()) == 500


def test_pages_can_be_made_before_they_are_asked_for() -> None:
    web = Web(hosts=2, pages=3)
    server = Server(web)
    try:
        assert server.make_ready(0.0) == 0
        assert server.make_ready(60.0) == 2 * (3 + 1)
        for path in ("/", "/page/2"):
            assert server._ready.get("h0001.test", path) is not None
    finally:
        server.close()


def test_no_more_pages_are_made_than_there_is_room_for() -> None:
    server = Server(Web(hosts=2, pages=50), cache_bytes=300_000)
    try:
        assert 0 < server.make_ready(60.0) < 100
    finally:
        server.close()
