"""The promises of the test site, each as a check over raw sockets, named by its docstring."""

from __future__ import annotations

import json
import re
import signal
import zlib
from collections.abc import Callable
from time import monotonic, sleep
from urllib.parse import urljoin, urlsplit

from testsite.audit import audit
from testsite.client import Client
from testsite.generator import SIZES, SPECIAL_LINKS, Web
from testsite.log import read_log
from testsite.process import END_S, Running
from testsite.streams import BOMB_BYTES

OPTIONS = ("--hosts", "4", "--pages", "20", "--seed", "7", "--specials")
"""What the site that is checked must be started with."""

_ANCHOR = re.compile(r'<a href="([^"]*)">')  # not the escaped quotes of the script


class BrokenPromiseError(Exception):
    """The site does not do what it says."""


def expect(holds: bool, otherwise: str) -> None:
    """Raises BrokenPromiseError with that text when it does not hold: `assert` would be silent
    under `python -O`."""
    if not holds:
        raise BrokenPromiseError(otherwise)


ANSWERS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("h0000.test", "/", (200,)),
    ("h0003.test", "/page/19", (200,)),
    ("h0003.test", "/page/20", (404,)),
    ("h0004.test", "/page/0", (404,)),
    ("h0000.test", "/private/3", (200,)),
    ("h0000.test", "/nowhere", (404,)),
    ("h0000.test", "/flaky/1", (503, 200, 200)),
    ("h0001.test", "/flaky/1", (503, 200)),
    ("h0000.test", "/redirect/3", (302,)),
    ("h0000.test", "/calendar/999", (200,)),
    ("h0000.test", "/gone/1", (404,)),
    ("h0000.test", "/loop/a", (302,)),
    ("h0000.test", "/self", (302,)),
    ("h0000.test", "/hops/3", (302,)),
    ("h0000.test", "/hops/0", (200,)),
    ("h0000.test", "/retry-after/1", (429, 200)),
    ("h0000.test", "/busy/1", (503, 503)),
    ("h0000.test", "/error/1", (500, 500)),
    ("h0000.test", "/forbidden/1", (403, 403)),
    ("h0000.test", "/toomany/1", (429, 429)),
    ("h0000.test", "/type/pdf", (200,)),
    ("h0000.test", "/nested/1", (200,)),
    ("h0000.test", "/nul/1", (200,)),
    ("h0000.test", "/charset/1", (200,)),
    ("h0000.test", "/noindex/0", (200,)),
    ("h0000.test", "/offhost/1", (302,)),
    ("h0000.test", "/empty/1", (200,)),
    ("robots503.test", "/robots.txt", (503, 503)),
    ("robots404.test", "/robots.txt", (404,)),
    ("robotsredirect.test", "/robots.txt", (302,)),
    ("robotsloop.test", "/robots.txt", (302,)),
    ("robotsclosed.test", "/robots.txt", (200,)),
    ("robots503.test", "/page/1", (200,)),
)
"""Host, path, and the statuses of one request after the other."""


def _statuses(site: Running) -> None:
    """Every path answers with its statuses"""
    for host, path, wanted in ANSWERS:
        got = tuple(site.ask(path, host)[0] for _ in wanted)
        expect(got == wanted, f"{host}{path}: {got}, not {wanted}")


def _robots(site: Running) -> None:
    """robots.txt refuses /private/, and everything on robotsclosed.test"""
    expect(site.ask("/robots.txt")[1] == b"User-agent: *\nDisallow: /private/\n", "normal host")
    closed = site.ask("/robots.txt", "robotsclosed.test")[1]
    expect(closed == b"User-agent: *\nDisallow: /\n", f"closed host: {closed!r}")
    expect(b"Crawl-delay: 2\n" in site.ask("/robots.txt", "robotsdelay.test")[1], "no Crawl-delay")


def _deterministic(site: Running) -> None:
    """Pages are those of the generator, byte for byte"""
    web = Web(4, 20, 8, 7, True)
    for host in range(4):
        for page in (-1, 0, 19):
            body = site.ask("/" if page < 0 else f"/page/{page}", web.name(host))[1]
            expect(body == web.page(host, page).encode(), f"host {host} page {page} differs")


def _sizes(site: Running) -> None:
    """Pages have their sizes, 40 to 60 links, a tenth of them to other hosts"""
    for size_kb, (wanted_bytes, _) in SIZES.items():
        web = Web(4, 20, size_kb)
        for page in range(20):
            size, links = len(web.page(1, page).encode()), web.links(1, page)
            leaving = sum(not link.url.startswith("http://h0001.test/") for link in links)
            expect(abs(size - wanted_bytes) < wanted_bytes * 0.15, f"{size} bytes")
            expect(40 <= len(links) <= 60, f"{len(links)} links")
            expect(abs(leaving - len(links) / 10) < 3, f"{leaving} leave the host")


def _connected(site: Running) -> None:
    """Every page is reachable from /, and the links are those that the generator knows"""
    web = Web(4, 20, 8, 7, True)
    met, waiting = {web.url(0)}, [web.url(0)]
    with Client(site.port) as client:
        while waiting:
            parts = urlsplit(waiting.pop())
            body = client.get(parts.path, parts.netloc).body
            for href in _ANCHOR.findall(body.decode()):
                url = urljoin(parts.geturl(), href).partition("#")[0]
                if url not in met:
                    met.add(url)
                    if web.page_of(urlsplit(url).path) is not None:
                        waiting.append(url)
    reach = web.reachable(web.url(0))
    expect(len(reach.pages) == 4 * 21, f"{len(reach.pages)} of 84 pages are known")
    expect(len(reach.specials) == 4 * len(SPECIAL_LINKS), f"{len(reach.specials)} specials")
    expect(met == {*reach.pages, *reach.refused, *reach.specials}, "links and pages differ")


def _copies(site: Running) -> None:
    """/dup/0 to /dup/4 are the same bytes, /dup/5 others"""
    bodies = [site.ask(f"/dup/{n}")[1] for n in range(6)]
    expect(len(set(bodies[:5])) == 1, "the copies differ")
    expect(bodies[5] != bodies[0], "the groups do not")


def _pipelined(site: Running) -> None:
    """Requests sent at once are answered in order on one connection"""
    paths = ["/page/1", "/nowhere", "/page/2", "/redirect/1", "/page/3"]
    with Client(site.port) as client:
        for path in paths:
            client.send(path)
        got = [client.receive().status for _ in paths]
    expect(got == [200, 404, 200, 302, 200], str(got))


def _slow(site: Running) -> None:
    """/slow/N takes 2 s and holds up nobody else"""
    with Client(site.port) as slow:
        started = monotonic()
        slow.send("/slow/0")
        site.ask("/page/0")
        others_s = monotonic() - started
        slow.receive()
        took_s = monotonic() - started
    expect(others_s < 1.0, f"another request took {others_s:.3f} s")
    expect(2.0 <= took_s < 3.0, f"{took_s:.3f} s")


def _broken(site: Running) -> None:
    """Broken answers break where they should"""
    with Client(site.port) as client:
        client.send("/reset/0")
        try:
            client.receive()
        except ConnectionResetError:
            pass  # the RST; what came before it may or may not have arrived
        else:
            raise BrokenPromiseError("/reset/0 did not reset")
    for path, limit in (("/short/0", 10**6), ("/nothead", 10**6), ("/endless/0", 2 * 10**6)):
        with Client(site.port) as client:
            client.send(path)
            got = client.receive_until(limit)
        expect(bool(got), f"{path} sent nothing")
        expect(path.startswith("/endless") == (len(got) >= limit), f"{path}: {len(got)} bytes")
    with Client(site.port) as client:
        client.send("/bigheader/0")
        expect(b"\r\n\r\n" not in client.receive_until(200_000), "the head ended")
    with Client(site.port) as client:
        client.send("/page/0", "dead.test")
        expect(client.receive_until(1) == b"", "dead.test answered")


def _stuck(site: Running) -> None:
    """/hang/N never answers, /drip/N sends a byte each 0.1 s"""
    with Client(site.port, timeout_s=0.5) as client:
        client.send("/hang/0")
        try:
            got = client.receive_until(1)
        except TimeoutError:
            got = b""
        expect(got == b"", "/hang/0 answered")
    with Client(site.port) as client:
        client.send("/drip/0")
        head = client.receive_until(1)
        started = monotonic()
        client.receive_until(5)
        took_s = monotonic() - started
    expect(head.endswith(b"\r\n\r\n"), "the head did not come first")
    expect(0.4 < took_s < 1.5, f"five bytes in {took_s:.3f} s")


def _coded(site: Running) -> None:
    """/bomb/N unpacks to 200 MB, /badgzip/N does not unpack"""
    packed = site.ask("/bomb/0")[1]
    unpacker = zlib.decompressobj(wbits=31)
    size, data = 0, packed
    while data:
        size += len(unpacker.decompress(data, 1 << 20))
        data = unpacker.unconsumed_tail
    expect(size == BOMB_BYTES, f"{size} bytes")
    expect(unpacker.eof, "the stream has no end")
    for path in ("/badgzip/0", "/badgzip/1"):
        unpacker = zlib.decompressobj(wbits=31)
        try:
            unpacker.decompress(site.ask(path)[1])
        except zlib.error:
            continue
        expect(not unpacker.eof, f"{path} unpacks")


def _logged(site: Running) -> None:
    """A request is in the log's file soon, with its times; /status counts it"""
    before = monotonic()
    site.ask("/page/7?mark")
    after = monotonic()
    sleep(0.2)
    entry = next(e for e in read_log(site.log_path) if e["path"] == "/page/7?mark")
    expect(before <= entry["t"] <= entry["t_end"] <= after, "CLOCK_MONOTONIC is not shared")
    expect((entry["host"], entry["status"]) == ("h0000.test", 200), f"logged as {entry}")
    status, body = site.ask("/status")
    expect(status == 200, f"/status: {status}")
    # /status flushes, and its own line is not yet in the file.
    expect(json.loads(body)["requests"] == len(read_log(site.log_path)), "the counts differ")


def _judged(site: Running) -> None:
    """The audit finds each kind of sin in the log, and none in a polite one"""
    with Client(site.port) as client, Client(site.port) as other:
        client.send("/hang/9", "h0001.test")
        sleep(0.05)
        other.get("/page/0", "h0001.test")
    site.ask("/private/0", "h0002.test")
    site.ask("/page/0", "h0002.test")
    site.ask("/status")
    found = "\n".join(audit(read_log(site.log_path), delay_s=5.0))
    for sin in ("in flight", "too soon", "/private/0 at"):
        expect(sin in found, f"{sin!r} was not found")
    expect(audit([], delay_s=1.0) == [], "an empty log is judged")


def _ended(site: Running) -> None:
    """The log is complete after SIGTERM, with what was broken off"""
    with Client(site.port) as client:
        client.send("/hang/77")
        site.ask("/page/5?last")
        site.process.send_signal(signal.SIGTERM)
        code = site.process.wait(END_S)
    expect(code == 0, f"exit code {code}")
    last = {entry["path"]: entry["status"] for entry in read_log(site.log_path)[-2:]}
    expect(last == {"/page/5?last": 200, "/hang/77": 0}, str(last))


CHECKS: tuple[Callable[[Running], None], ...] = (
    _statuses,
    _robots,
    _deterministic,
    _sizes,
    _connected,
    _copies,
    _pipelined,
    _slow,
    _broken,
    _stuck,
    _coded,
    _logged,
    _judged,
    _ended,
)
