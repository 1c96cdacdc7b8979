from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from testsite.client import Client
from testsite.fixture import Site
from testsite.request import Request


def test_what_a_client_has_received_is_in_the_log(site: Site) -> None:
    with Client(site.port) as client:
        for n in range(500):
            client.get(f"/page/{n % 10}")
            assert len(site.entries()) == n + 1


def test_the_log_can_be_read_from_many_threads(site: Site) -> None:
    lengths: list[int] = []

    def read() -> None:
        with Client(site.port) as client:
            for _ in range(50):
                client.get("/page/1")
                lengths.append(len(site.log))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(lengths) == len(site.entries()) == 200


def test_clear_empties_log_and_counts(site: Site) -> None:
    with Client(site.port) as client:
        client.get("/page/1")
        site.clear()
        assert site.entries() == []
        assert site.status()["requests"] == 0
        client.get("/page/2")
    assert [entry["path"] for entry in site.entries()] == ["/page/2"]


def test_the_log_can_be_read_after_the_end() -> None:
    with Site() as site, Client(site.port) as client:
        client.get("/page/1")
        client.send("/slow/1")
        assert site.status()["in_flight"] == 1
    assert [(entry["path"], entry["status"]) for entry in site.entries()] == [
        ("/page/1", 200),
        ("/slow/1", 0),
    ]
    with pytest.raises(ConnectionRefusedError):
        Client(site.port)


def test_pages_are_the_urls_that_were_asked(site: Site) -> None:
    with Client(site.port) as client:
        for path, host in (
            ("/robots.txt", "h0000.test"),
            ("/", "h0000.test"),
            ("/a", "h0001.test"),
        ):
            client.get(path, host)
    assert site.pages() == ["http://h0000.test/", "http://h0001.test/a"]
    assert site.pages("h0001.test") == ["http://h0001.test/a"]


def test_resolve_names_the_port(site: Site) -> None:
    assert site.resolve == f"*.test=127.0.0.1:{site.port}"
    with pytest.raises(ValueError, match="without tls"):
        _ = site.resolve_tls
    with pytest.raises(ValueError, match="without tls"):
        _ = site.ca_path


def test_audit_judges_the_log(site: Site) -> None:
    with Client(site.port) as client:
        client.get("/page/1")
        client.get("/private/1")
    assert len(site.audit(delay_s=1.0)) == 2
    assert len(site.audit(delay_s=0.0)) == 1


def test_options_reach_the_site(site_factory: Callable[..., Site]) -> None:
    site = site_factory(hosts=1, pages=2, size_kb=30, seed=5, specials=True)
    with Client(site.port) as client:
        body = client.get("/").body
    assert len(body) > 25_000
    assert b'href="/calendar/0"' in body
    assert body == site.web.page(0, -1).encode()


def test_sites_run_side_by_side(site_factory: Callable[..., Site]) -> None:
    first, second = site_factory(), site_factory(seed=1)
    with Client(first.port) as one, Client(second.port) as other:
        assert one.get("/page/1").body != other.get("/page/1").body
    assert len(first.entries()) == len(second.entries()) == 1


def test_a_fault_of_the_site_is_raised_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Request:
        raise ZeroDivisionError

    monkeypatch.setattr("testsite.connection.parse", fail)
    site = Site()
    site.__enter__()
    with Client(site.port) as client:
        client.send("/page/1")
        assert client.receive_until(1) == b""
    with pytest.raises(RuntimeError, match="the test site failed"):
        site.__exit__(None, None, None)


def test_repr_says_where_it_is(site: Site) -> None:
    assert f"127.0.0.1:{site.port}" in repr(site)
