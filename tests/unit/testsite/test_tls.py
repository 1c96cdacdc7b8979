from __future__ import annotations

import socket
import ssl
from collections.abc import Callable

import pytest

from testsite.fixture import Site

REQUEST = "GET /page/1 HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n"


def ask(site: Site, name: str) -> bytes:
    assert site.tls_port is not None
    context = ssl.create_default_context(cafile=str(site.ca_path))
    with (
        socket.create_connection(("127.0.0.1", site.tls_port), 10) as plain,
        context.wrap_socket(plain, server_hostname=name) as sock,
    ):
        sock.sendall(REQUEST.format(name).encode())
        return b"".join(iter(lambda: sock.recv(65536), b""))


@pytest.fixture
def tls_site(site_factory: Callable[..., Site]) -> Site:
    return site_factory(tls=True, size_kb=100)


@pytest.mark.parametrize("name", ["h0000.test", "h0002.test", "robots404-7.test"])
def test_any_host_has_a_certificate_that_verifies(tls_site: Site, name: str) -> None:
    _, _, body = ask(tls_site, name).partition(b"\r\n\r\n")
    index = tls_site.web.index(name)
    assert index is not None
    assert body == tls_site.web.page(index, 1).encode()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tlswrong.test", "Hostname mismatch"),
        ("tlsexpired.test", "has expired"),
        ("tlsunknown.test", "unable to get"),
    ],
)
def test_bad_certificates_do_not_verify(tls_site: Site, name: str, why: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match=why):
        ask(tls_site, name)
    assert ask(tls_site, "h0000.test").startswith(b"HTTP/1.1 200 ")
    assert [entry["host"] for entry in tls_site.entries()] == ["h0000.test"]


@pytest.mark.parametrize("name", ["example.org", "under_score.test"])
def test_no_certificate_for_foreign_names(tls_site: Site, name: str) -> None:
    with pytest.raises(ssl.SSLError, match=r"(?i)unrecognized.name"):
        ask(tls_site, name)


def test_plain_text_to_the_tls_port_ends_the_connection(tls_site: Site) -> None:
    assert tls_site.tls_port is not None
    with socket.create_connection(("127.0.0.1", tls_site.tls_port), 10) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        try:
            while sock.recv(4096):
                pass
        except ConnectionResetError:
            pass  # the server may leave the rest unread
    assert tls_site.entries() == []


def test_the_resolve_for_https_and_the_end_of_the_ca_file() -> None:
    with Site(tls=True) as site:
        path = site.ca_path
        assert site.resolve_tls == f"*.test=127.0.0.1:{site.tls_port}"
        assert path.read_text().startswith("-----BEGIN CERTIFICATE-----")
    assert not path.exists()
