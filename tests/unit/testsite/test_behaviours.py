from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from time import monotonic

import pytest

from testsite.client import Answer, Client
from testsite.fixture import Site
from testsite.generator import SPECIAL_LINKS
from testsite.streams import BOMB_BYTES


def ask(site: Site, path: str, host: str = "h0000.test") -> Answer:
    with Client(site.port) as client:
        return client.get(path, host)


def everything(site: Site, path: str, limit: int = 10**6, host: str = "h0000.test") -> bytes:
    with Client(site.port) as client:
        client.send(path, host)
        return client.receive_until(limit)


@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        ("/flaky/7", [503, 200, 200]),
        ("/retry-after/3", [429, 200]),
        ("/busy/1", [503, 503]),
        ("/error/1", [500, 500]),
        ("/forbidden/1", [403]),
        ("/toomany/1", [429, 429]),
        ("/gone/1", [404, 404]),
        ("/private/anything", [200]),
        ("/empty/1", [200]),
        ("/script-only/0-1", [404]),
        ("/flaky/", [404]),
        ("/flaky/x", [404]),
        ("/flaky/1234567890", [404]),
        ("/flaky/7?again", [503, 200]),
    ],
)
def test_statuses_of_one_request_after_the_other(
    site: Site, path: str, statuses: list[int]
) -> None:
    assert [ask(site, path).status for _ in statuses] == statuses


def test_what_was_asked_is_remembered_by_host_and_number(site: Site) -> None:
    assert ask(site, "/flaky/1").status == 503
    assert ask(site, "/flaky/2").status == 503
    assert ask(site, "/flaky/1", "h0001.test").status == 503
    assert ask(site, "/flaky/1").status == 200
    site.clear()
    assert ask(site, "/flaky/1").status == 200
    site.forget()
    assert ask(site, "/flaky/1").status == 503


def test_retry_after_names_its_number(site: Site) -> None:
    assert ask(site, "/retry-after/17").fields["retry-after"] == "17"
    assert "retry-after" not in ask(site, "/toomany/17").fields


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/redirect/4", "/page/4"),
        ("/loop/a", "/loop/b"),
        ("/loop/b", "/loop/a"),
        ("/self", "/self"),
        ("/hops/5", "/hops/4"),
        ("/hops/1", "/hops/0"),
        ("/mailto", "mailto:someone@example.test"),
        ("/badlocation", "http://[::bad/"),
        ("/offhost/6", "http://h0001.test/page/6"),
        ("/nolocation", None),
    ],
)
def test_redirects(site: Site, path: str, location: str | None) -> None:
    answer = ask(site, path)
    assert (answer.status, answer.fields.get("location")) == (302, location)


def test_the_last_host_redirects_to_the_first(site: Site) -> None:
    answer = ask(site, "/offhost/1", "h0002.test")
    assert answer.fields["location"] == "http://h0000.test/page/1"


def test_hops_end(site: Site) -> None:
    assert ask(site, "/hops/0").status == 200


def test_slow_takes_its_time(site_factory: Callable[..., Site]) -> None:
    site = site_factory(slow_s=0.1)
    started = monotonic()
    assert ask(site, "/slow/1").status == 200
    assert 0.1 <= monotonic() - started < 1.0


def test_a_day_links_to_the_next(site: Site) -> None:
    assert b'href="/calendar/8"' in ask(site, "/calendar/7").body
    assert ask(site, "/calendar/123456789").status == 200


def test_five_copies_each(site: Site) -> None:
    bodies = [ask(site, f"/dup/{n}").body for n in range(15)]
    assert [bodies[n] == bodies[0] for n in range(15)] == [True] * 5 + [False] * 10
    assert len(set(bodies)) == 3
    assert ask(site, "/dup/0", "h0001.test").body != bodies[0]


def test_every_linked_special_path_answers(site_factory: Callable[..., Site]) -> None:
    site = site_factory(specials=True, slow_s=0.0)
    statuses = {path: ask(site, path).status for path in SPECIAL_LINKS}
    for path, status in statuses.items():
        wanted = {"flaky": 503, "redirect": 302, "gone": 404}.get(path.split("/")[1], 200)
        assert status == wanted, path


def test_reset_sends_half_and_tears_down(site: Site) -> None:
    with Client(site.port) as client:
        client.send("/reset/1")
        with pytest.raises(ConnectionResetError):
            client.receive()
    assert [entry["status"] for entry in site.entries()] == [200]


def test_short_sends_less_than_it_says(site: Site) -> None:
    head, _, body = everything(site, "/short/1").partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body) + 1000}".encode() in head


@pytest.mark.parametrize(("path", "chunked"), [("/endless/0", False), ("/endless/1", True)])
def test_endless_goes_on(site: Site, path: str, chunked: bool) -> None:
    got = everything(site, path, 3_000_000)
    head, _, body = got.partition(b"\r\n\r\n")
    assert len(got) >= 3_000_000
    assert (b"Transfer-Encoding: chunked" in head) is chunked
    assert body.startswith(b"10000\r\n<p>" if chunked else b"<!DOCTYPE html>\n<p>")
    assert b"Content-Length" not in head


def test_drip_sends_byte_by_byte(site: Site) -> None:
    with Client(site.port) as client:
        client.send("/drip/1")
        assert client.receive_until(1).endswith(b"\r\n\r\n")
        started = monotonic()
        assert client.receive_until(2) == b".."
        assert 0.15 < monotonic() - started < 1.0


def test_hang_says_nothing(site: Site) -> None:
    with Client(site.port, timeout_s=0.2) as client:
        client.send("/hang/1")
        with pytest.raises(TimeoutError):
            client.receive()


def test_bigheader_has_no_end(site: Site) -> None:
    got = everything(site, "/bigheader/1", 500_000)
    assert got.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\n\r\n" not in got
    assert max(map(len, got.split(b"\r\n"))) < 1100


def test_nothead_is_no_status_line(site: Site) -> None:
    assert not everything(site, "/nothead").startswith(b"HTTP/")
    assert [entry["status"] for entry in site.entries()] == [0]


@pytest.mark.parametrize("path", ["/badgzip/0", "/badgzip/1"])
def test_badgzip_does_not_unpack(site: Site, path: str) -> None:
    answer = ask(site, path)
    assert answer.fields["content-encoding"] == "gzip"
    with pytest.raises((gzip.BadGzipFile, EOFError)):
        gzip.decompress(answer.body)
    assert answer.body.startswith(b"\x1f\x8b") is (path == "/badgzip/1")


def test_bomb_is_small_and_valid_and_unpacks_to_200_mb(site: Site) -> None:
    body = ask(site, "/bomb/1").body
    assert len(body) < 1_000_000
    unpacker = zlib.decompressobj(wbits=31)  # checks length and checksum at the end
    size, rest = 0, body
    while rest:
        size += len(unpacker.decompress(rest, 1 << 20))
        rest = unpacker.unconsumed_tail
    assert (size, unpacker.eof, unpacker.unused_data) == (BOMB_BYTES, True, b"")


def test_unknowncoding(site: Site) -> None:
    assert ask(site, "/unknowncoding/1").fields["content-encoding"] == "x-none"


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/type/pdf", "application/pdf"),
        ("/type/png", "image/png"),
        ("/type/none", None),
        ("/page/1", "text/html; charset=utf-8"),
        ("/robots.txt", "text/plain"),
        ("/status", "application/json"),
    ],
)
def test_content_types(site: Site, path: str, content_type: str | None) -> None:
    answer = ask(site, path)
    assert (answer.status, answer.fields.get("content-type")) == (200, content_type)


def test_nested_is_deep_and_holds_a_link(site: Site) -> None:
    body = ask(site, "/nested/3").body
    assert body.count(b"<div>") == body.count(b"</div>") == 10_000
    assert b'<a href="/page/3">' in body


def test_nul_holds_nul_bytes_and_a_link(site: Site) -> None:
    body = ask(site, "/nul/3").body
    assert body.count(b"\0") >= 4
    assert b'<a href="/page/3">good</a>' in body


@pytest.mark.parametrize(
    ("n", "label", "encoding"),
    [
        (0, "text/html; charset=utf-8", "windows-1252"),
        (1, "text/html; charset=iso-8859-1", "utf-8"),
        (2, "text/html; charset=x-martian", "utf-8"),
        (3, "text/html", "utf-8"),
        (4, "text/html; charset=utf-8", "windows-1252"),
    ],
)
def test_charset_labels_are_wrong(site: Site, n: int, label: str, encoding: str) -> None:
    answer = ask(site, f"/charset/{n}")
    assert answer.fields["content-type"] == label
    assert "Café" in answer.body.decode(encoding)
    assert (b'charset="utf-16"' in answer.body) is (n == 3)
    if n % 4 == 0:
        with pytest.raises(UnicodeDecodeError):
            answer.body.decode("utf-8")


@pytest.mark.parametrize("wish", ["noindex", "nofollow"])
@pytest.mark.parametrize("n", [0, 1])
def test_wishes_in_meta_or_header(site: Site, wish: str, n: int) -> None:
    answer = ask(site, f"/{wish}/{n}")
    assert (f'<meta name="robots" content="{wish}">'.encode() in answer.body) is (n == 0)
    assert answer.fields.get("x-robots-tag") == (wish if n else None)
    assert (f'href="/only-nofollow/{n}"'.encode() in answer.body) is (wish == "nofollow")
    assert ask(site, f"/only-nofollow/{n}").status == 200


def test_echo_gives_back_the_head(site: Site) -> None:
    with Client(site.port) as client:
        answer = client.get("/echo", "h0000.test", "User-Agent: someone/1 (+mail)")
    assert answer.body == (
        b"GET /echo HTTP/1.1\r\nHost: h0000.test\r\nUser-Agent: someone/1 (+mail)\r\n"
    )


def test_private_paths_are_escaped_and_differ(site: Site) -> None:
    one, other = ask(site, "/private/<1>").body, ask(site, "/private/2").body
    assert b"/private/&lt;1&gt;" in one
    assert one != other


# -- robots.txt and hosts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status", "body"),
    [
        ("h0002.test", 200, b"User-agent: *\nDisallow: /private/\n"),
        ("robots503.test", 503, None),
        ("robots404.test", 404, None),
        ("robotsdelay.test", 200, b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2\n"),
        ("robotsclosed.test", 200, b"User-agent: *\nDisallow: /\n"),
        ("robotsclosed-9.test", 200, b"User-agent: *\nDisallow: /\n"),
        ("tlswrong.test", 200, b"User-agent: *\nDisallow: /private/\n"),
        ("h0003.test", 404, None),
    ],
)
def test_robots(site: Site, host: str, status: int, body: bytes | None) -> None:
    answer = ask(site, "/robots.txt", host)
    assert answer.status == status
    assert body is None or answer.body == body


def test_robots_redirects(site: Site) -> None:
    to = {
        (host, path): ask(site, path, f"{host}.test").fields.get("location")
        for host in ("robotsredirect", "robotsloop", "h0000")
        for path in ("/robots.txt", "/robots-loop.txt")
    }
    assert to == {
        ("robotsredirect", "/robots.txt"): "http://h0000.test/robots.txt",
        ("robotsredirect", "/robots-loop.txt"): "http://h0000.test/robots.txt",
        ("robotsloop", "/robots.txt"): "/robots-loop.txt",
        ("robotsloop", "/robots-loop.txt"): "/robots.txt",
        ("h0000", "/robots.txt"): None,
        ("h0000", "/robots-loop.txt"): None,
    }


def test_robots_that_hang_or_reset(site: Site) -> None:
    with Client(site.port, timeout_s=0.2) as client:
        client.send("/robots.txt", "robotshang.test")
        with pytest.raises(TimeoutError):
            client.receive()
    with Client(site.port) as client:
        client.send("/robots.txt", "robotsreset.test")
        with pytest.raises(ConnectionResetError):
            client.receive()


@pytest.mark.parametrize("path", ["/", "/page/1", "/robots.txt", "/status"])
def test_dead_closes_without_an_answer(site: Site, path: str) -> None:
    assert everything(site, path, host="dead.test") == b""
    assert [entry["status"] for entry in site.entries()] == [0]


@pytest.mark.parametrize("kind", ["robots503", "robotshang", "robotsloop", "robotsclosed"])
def test_hosts_with_a_fault_serve_pages_of_their_own(site: Site, kind: str) -> None:
    body = ask(site, "/page/3", f"{kind}.test").body
    index = site.web.index(f"{kind}.test")
    assert index is not None
    assert body == site.web.page(index, 3).encode()
    assert body != ask(site, "/page/3", f"{kind}-1.test").body
