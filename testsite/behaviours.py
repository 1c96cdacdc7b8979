"""The special paths: what each answers. The list of what each one proves is in the package's note.

`answer` is the door. It is pure but for `Firsts`, which remembers who has asked before.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from html import escape

from testsite import streams
from testsite.firsts import Firsts
from testsite.generator import Web, page_path
from testsite.reply import HTML, End, Reply, Wait, head, not_found, odd, page, redirect, whole
from testsite.request import Request
from testsite.text import sentences

COPIES = 5
NESTED = 10_000

_NUMBERED = re.compile(r"/([a-z-]+)/(\d{1,9})")


class Behaviours:
    """The special paths of one web. Threads: confined to the server's thread."""

    def __init__(self, web: Web, *, slow_s: float = 2.0) -> None:
        self._web = web
        self._slow_s = slow_s
        self.firsts = Firsts()

    def answer(self, request: Request) -> Reply | None:
        """The answer to a special path (without query), or None when it is not one."""
        path = request.path.partition("?")[0]
        if path.startswith("/private/"):
            return self._plain(request.host, f"Private: {escape(path)}", "")
        plain = _FIXED.get(path)
        if plain is not None:
            return plain(request)
        found = _NUMBERED.fullmatch(path)
        if found is None:
            return None
        named = _NUMBERED_PATHS.get(found[1])
        return None if named is None else named(self, request, int(found[2]))

    # -- pages ---------------------------------------------------------------------------------

    def _plain(self, host: str, title: str, markup: str, *, meta: str = "") -> Reply:
        return page(self._html(host, title, markup, meta=meta))

    def _html(self, host: str, title: str, markup: str, *, meta: str = "") -> str:
        pool = sentences(self._web.seed)
        start = zlib.crc32(f"{host} {title}".encode()) % (len(pool) - 8)
        prose = " ".join(pool[start : start + 8])
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{meta}'
            f"<title>{title}</title></head>\n<body><h1>{title}</h1>\n<p>{prose}</p>\n{markup}\n"
            f'<p><a href="/">Home</a></p></body></html>\n'
        )

    def _body(self, host: str, title: str, markup: str = "") -> bytes:
        return self._html(host, title, markup).encode()

    def _linked(self, request: Request, n: int, title: str) -> Reply:
        link = f'<p><a href="{page_path(n % self._web.pages)}">Page</a></p>'
        return self._plain(request.host, title, link)

    # -- linked with --specials ----------------------------------------------------------------

    def flaky(self, request: Request, n: int) -> Reply:
        """503, and 200 from the second time on."""
        if self.firsts.first(request.host, f"/flaky/{n}"):
            return whole(503, b"<!DOCTYPE html><title>Busy</title>\n<p>Try again.</p>\n")
        return self._linked(request, n, f"Flaky {n}")

    def redirect(self, request: Request, n: int) -> Reply:
        """302 to a page of the same host."""
        return redirect(page_path(n))

    def slow(self, request: Request, n: int) -> Reply:
        """An ordinary page after a wait."""
        data = self._linked(request, n, f"Slow {n}").steps
        assert isinstance(data, bytes)
        return odd(200, [Wait(self._slow_s), data])

    def calendar(self, request: Request, n: int) -> Reply:
        """A day that links to the next one, without end; the days differ by their number only."""
        pool = sentences(self._web.seed)
        return page(
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Day {n}</title>'
            f"</head>\n<body><h1>Day {n}</h1>\n<p>{' '.join(pool[:8])}</p>\n"
            f'<p><a href="/calendar/{n + 1}">Next day</a> <a href="/">Home</a></p></body></html>\n'
        )

    def dup(self, request: Request, n: int) -> Reply:
        """The body of group n // 5: five paths of one host with the same bytes."""
        return self._plain(request.host, f"Copies of {n // COPIES}", "")

    def gone(self, request: Request, n: int) -> Reply:
        """404, as for any unknown path."""
        return not_found()

    # -- statuses ------------------------------------------------------------------------------

    def retry_after(self, request: Request, n: int) -> Reply:
        """429 with Retry-After: n, and 200 from the second time on."""
        if self.firsts.first(request.host, f"/retry-after/{n}"):
            return whole(429, b"<p>Too many requests.</p>\n", ("Retry-After", str(n)))
        return self._linked(request, n, f"After {n} seconds")

    def busy(self, request: Request, n: int) -> Reply:
        """Always 503."""
        return whole(503, b"<p>Busy.</p>\n")

    def error(self, request: Request, n: int) -> Reply:
        """Always 500."""
        return whole(500, b"<p>Error.</p>\n")

    def forbidden(self, request: Request, n: int) -> Reply:
        """Always 403."""
        return whole(403, b"<p>Forbidden.</p>\n")

    def toomany(self, request: Request, n: int) -> Reply:
        """Always 429, without Retry-After."""
        return whole(429, b"<p>Too many requests.</p>\n")

    def empty(self, request: Request, n: int) -> Reply:
        """200 with no body."""
        return whole(200, b"")

    # -- redirects -----------------------------------------------------------------------------

    def hops(self, request: Request, n: int) -> Reply:
        """n redirects, then a page at /hops/0."""
        return redirect(f"/hops/{n - 1}") if n else self._linked(request, 0, "The last hop")

    def offhost(self, request: Request, n: int) -> Reply:
        """302 to a page of the next normal host."""
        here = self._web.index(request.host)
        following = (here + 1) % self._web.hosts if here is not None else 0
        return redirect(f"http://{self._web.name(following)}{page_path(n)}")

    # -- broken answers ------------------------------------------------------------------------

    def reset(self, request: Request, n: int) -> Reply:
        """Half of the body, then RST."""
        body = self._body(request.host, f"Reset {n}")
        start = head(200, ("Content-Type", HTML), ("Content-Length", str(len(body))))
        return odd(200, [start + body[: len(body) // 2], End.RESET])

    def short(self, request: Request, n: int) -> Reply:
        """A body 1,000 bytes shorter than its Content-Length, then FIN."""
        body = self._body(request.host, f"Short {n}")
        start = head(200, ("Content-Type", HTML), ("Content-Length", str(len(body) + 1000)))
        return odd(200, [start + body, End.CLOSE])

    def endless(self, request: Request, n: int) -> Reply:
        """A body without end: to the closing of the connection (even n) or in chunks (odd n)."""
        return odd(200, streams.endless(chunked=n % 2 == 1))

    def drip(self, request: Request, n: int) -> Reply:
        """A byte each 0.1 s."""
        return odd(200, streams.drip())

    def hang(self, request: Request, n: int) -> Reply:
        """No answer at all."""
        return odd(0, [End.HANG])

    def bigheader(self, request: Request, n: int) -> Reply:
        """A head without end."""
        return odd(200, streams.bigheader())

    def badgzip(self, request: Request, n: int) -> Reply:
        """Called gzip, but garbage from the start (even n) or cut off in the middle (odd n)."""
        body = b"this is not gzip " * 40
        if n % 2:
            packer = zlib.compressobj(wbits=31)
            packed = packer.compress(self._body(request.host, f"Cut {n}")) + packer.flush()
            body = packed[: len(packed) // 2]
        return whole(200, body, ("Content-Encoding", "gzip"))

    def bomb(self, request: Request, n: int) -> Reply:
        """A gzip body of about 0.2 MB that unpacks to 200 MB."""
        return odd(200, streams.bomb())

    def unknowncoding(self, request: Request, n: int) -> Reply:
        """A content coding that nobody knows."""
        return whole(200, self._body(request.host, f"Coded {n}"), ("Content-Encoding", "x-none"))

    # -- odd pages -----------------------------------------------------------------------------

    def nested(self, request: Request, n: int) -> Reply:
        """10,000 nested elements, with links around and within them."""
        link = f'<a href="{page_path(n % self._web.pages)}">deep</a>'
        markup = f"{'<div>' * NESTED}{link}{'</div>' * NESTED}"
        return self._plain(request.host, f"Nested {n}", markup)

    def nul(self, request: Request, n: int) -> Reply:
        """NUL bytes in text, in an attribute and in a tag, before a good link."""
        to = page_path(n % self._web.pages)
        markup = f'<p>a\0b</p><a href="/gone/\0">x</a><a\0b>y<p><a href="{to}">good</a></p>'
        return self._plain(request.host, f"Nul\0 {n}", markup)

    def charset(self, request: Request, n: int) -> Reply:
        """A wrong label, by n mod 4: windows-1252 called utf-8; utf-8 called iso-8859-1; a charset
        that does not exist; utf-8 whose meta element says utf-16."""
        text = self._html(request.host, f"Café Straße {n}", "<p>œuvre, naïve, “quoted”</p>")
        body = text.replace('<meta charset="utf-8">', "")
        label, data = (
            ("utf-8", body.encode("windows-1252", "replace")),
            ("iso-8859-1", body.encode()),
            ("x-martian", body.encode()),
            (None, text.replace('charset="utf-8"', 'charset="utf-16"').encode()),
        )[n % 4]
        content_type = "text/html" if label is None else f"text/html; charset={label}"
        return whole(200, data, content_type=content_type)

    def noindex(self, request: Request, n: int) -> Reply:
        """noindex, in a meta element (even n) or an X-Robots-Tag field (odd n)."""
        return self._tagged(request, n, "noindex")

    def nofollow(self, request: Request, n: int) -> Reply:
        """nofollow likewise; its link `/only-nofollow/N` is found nowhere else."""
        return self._tagged(request, n, "nofollow")

    def only_nofollow(self, request: Request, n: int) -> Reply:
        """The page behind a nofollow page: being asked for it is the proof."""
        return self._linked(request, n, f"Behind nofollow {n}")

    def _tagged(self, request: Request, n: int, wish: str) -> Reply:
        meta = "" if n % 2 else f'<meta name="robots" content="{wish}">'
        link = f'<p><a href="/only-{wish}/{n}">Only here</a></p>' if wish == "nofollow" else ""
        html = self._html(request.host, f"{wish} {n}", link, meta=meta).encode()
        return whole(200, html, *([("X-Robots-Tag", wish)] if n % 2 else []))


_FIXED: dict[str, Callable[[Request], Reply]] = {
    "/loop/a": lambda _: redirect("/loop/b"),
    "/loop/b": lambda _: redirect("/loop/a"),
    "/self": lambda _: redirect("/self"),
    "/mailto": lambda _: redirect("mailto:someone@example.test"),
    "/badlocation": lambda _: redirect("http://[::bad/"),
    "/nolocation": lambda _: redirect(None),
    "/nothead": lambda _: odd(0, [b"\x00\x01garbage instead of a status line\r\n\r\n", End.CLOSE]),
    "/type/pdf": lambda _: whole(200, b"%PDF-1.4\n%%EOF\n", content_type="application/pdf"),
    "/type/png": lambda _: whole(200, b"\x89PNG\r\n\x1a\n" + b"\0" * 64, content_type="image/png"),
    "/type/none": lambda _: whole(
        200, b"<!DOCTYPE html><title>No type</title><p>No type.</p>\n", content_type=None
    ),
    "/echo": lambda request: whole(
        200, request.head + b"\r\n", content_type="text/plain; charset=iso-8859-1"
    ),
}
"""Paths without a number."""

_NUMBERED_PATHS: dict[str, Callable[[Behaviours, Request, int], Reply]] = {
    "flaky": Behaviours.flaky,
    "redirect": Behaviours.redirect,
    "slow": Behaviours.slow,
    "calendar": Behaviours.calendar,
    "dup": Behaviours.dup,
    "gone": Behaviours.gone,
    "retry-after": Behaviours.retry_after,
    "busy": Behaviours.busy,
    "error": Behaviours.error,
    "forbidden": Behaviours.forbidden,
    "toomany": Behaviours.toomany,
    "empty": Behaviours.empty,
    "hops": Behaviours.hops,
    "offhost": Behaviours.offhost,
    "reset": Behaviours.reset,
    "short": Behaviours.short,
    "endless": Behaviours.endless,
    "drip": Behaviours.drip,
    "hang": Behaviours.hang,
    "bigheader": Behaviours.bigheader,
    "badgzip": Behaviours.badgzip,
    "bomb": Behaviours.bomb,
    "unknowncoding": Behaviours.unknowncoding,
    "nested": Behaviours.nested,
    "nul": Behaviours.nul,
    "charset": Behaviours.charset,
    "noindex": Behaviours.noindex,
    "nofollow": Behaviours.nofollow,
    "only-nofollow": Behaviours.only_nofollow,
}
"""Paths of the form /NAME/N."""
