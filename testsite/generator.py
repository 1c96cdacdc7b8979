"""The seeded web: which pages exist, what they link to, and their HTML. Pure.

Every page is reachable from `/` of its host: `/` links to page 0, page i to pages 8i+1 … 8i+8, and
every page back to `/`. `/` and page 0 link to page 0 of the next host, so that all normal hosts are
reachable from each other as well. The other links are drawn by chance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import NamedTuple
from urllib.parse import urlsplit

from testsite.hosts import host_index, host_name, may_fetch
from testsite.text import pick, sentences, words

HOME = -1
"""The page index of `/`."""

SIZES = {8: (8_400, 40), 30: (30_300, 50), 100: (100_300, 60)}
"""Size in KB -> bytes of a page (about), links of a page (exactly)."""

SPECIAL_LINKS = (
    *(f"/flaky/{n}" for n in range(3)),
    *(f"/redirect/{n}" for n in range(3)),
    "/slow/0",
    "/calendar/0",
    *(f"/dup/{n}" for n in range(10)),
    *(f"/gone/{n}" for n in range(3)),
    "/status",
)
"""What `/` links to besides, with `specials`."""

_BRANCHES = 8
_REPEATS = 3
_FRAGMENTS = 3


class Link(NamedTuple):
    """One anchor of a page. Threads: immutable."""

    href: str
    """As spelled in the page: relative, with a fragment, or absolute."""
    url: str
    """What it means, without fragment."""


class Reach(NamedTuple):
    """What a crawl from some seeds must find. All are URLs without fragment. Threads: immutable."""

    pages: dict[str, int]
    """Pages that a polite crawl stores, with the fewest links from a seed to each."""
    refused: frozenset[str]
    """Found, but robots.txt refuses them."""
    outside: frozenset[str]
    """Found on hosts that were not `within`."""
    specials: frozenset[str]
    """Special paths that `/` links to; what they answer is in `behaviours`, not here."""


@dataclass(frozen=True, slots=True)
class Web:
    """A web of `hosts` normal hosts with `/` and `pages` pages each. Threads: immutable.

    Raises ValueError for a size that is not in `SIZES` or counts below 1.
    """

    hosts: int = 10
    pages: int = 100
    size_kb: int = 8
    seed: int = 0
    specials: bool = False

    def __post_init__(self) -> None:
        if self.size_kb not in SIZES:
            raise ValueError(f"size must be one of {', '.join(map(str, SIZES))}")
        if self.hosts < 1 or self.pages < 1:
            raise ValueError("a web needs at least one host and one page")

    def name(self, host: int) -> str:
        """The host's name."""
        return host_name(host, self.hosts)

    def index(self, name: str) -> int | None:
        """The index behind a host name, or None."""
        return host_index(name, self.hosts)

    def url(self, host: int, page: int = HOME) -> str:
        """The URL of a page."""
        return f"http://{self.name(host)}{page_path(page)}"

    def page_of(self, path: str) -> int | None:
        """The page index behind a path, or None."""
        if path == "/":
            return HOME
        digits = path.removeprefix("/page/")
        if digits == path or not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
            return None
        page = int(digits)
        return page if page < self.pages and digits == str(page) else None

    def links(self, host: int, page: int) -> tuple[Link, ...]:
        """Every anchor of a page in document order, repeats included; the script's is not one."""
        return _links(self, host, page)

    def page(self, host: int, page: int) -> str:
        """The page's HTML."""
        return _html(self, host, page)

    def reachable(
        self, seeds: str | Iterable[str], *, within: Collection[str] | None = None
    ) -> Reach:
        """What a crawl from the seeds, kept to the host names `within` (None: all), must find.

        Seeds are URLs of `/` or `/page/N`, http. Cost: about 0.1 ms a page.
        """
        return _reachable(self, (seeds,) if isinstance(seeds, str) else tuple(seeds), within)


def page_path(page: int) -> str:
    """The path of a page index."""
    return "/" if page == HOME else f"/page/{page}"


def private_path(page: int) -> str:
    """The path under `/private/` that a page links to."""
    return "/private/home" if page == HOME else f"/private/{page}"


def _links(web: Web, host: int, page: int) -> tuple[Link, ...]:
    chance = Random(f"links/{web.seed}/{host}/{page}")
    name = web.name(host)
    wanted = SIZES[web.size_kb][1]
    first = 0 if page == HOME else _BRANCHES * page + 1
    last = 1 if page == HOME else min(first + _BRANCHES, web.pages)
    links = [_spelled(chance, name, page, HOME)]
    links += [_spelled(chance, name, page, to) for to in range(first, last)]
    links.append(Link(private_path(page), f"http://{name}{private_path(page)}"))
    links += _leaving(web, chance, host, page, wanted // 10)
    if web.specials and page == HOME:
        links += [Link(path, f"http://{name}{path}") for path in SPECIAL_LINKS]
    while len(links) < wanted - _REPEATS - _FRAGMENTS:
        links.append(_spelled(chance, name, page, int(chance.random() * web.pages)))
    for _ in range(_REPEATS):
        links.append(links[int(chance.random() * len(links))])
    for part in range(1, _FRAGMENTS):
        href, url = _spelled(chance, name, page, int(chance.random() * web.pages))
        links.append(Link(f"{href}#part-{part}", url))
    links.append(Link("#top", f"http://{name}{page_path(page)}"))
    return tuple(links)


def _spelled(chance: Random, name: str, page: int, to: int) -> Link:
    """A link to a page of the same host in one of the spellings that people use."""
    path = page_path(to)
    way = int(chance.random() * 4)
    if to == HOME or way == 0:
        href = path
    elif way == 1:
        href = f"../page/{to}"
    elif page == HOME:
        href = f"./page/{to}" if way == 2 else f"page/{to}"
    else:
        href = f"./{to}" if way == 2 else str(to)
    return Link(href, f"http://{name}{path}")


def _leaving(web: Web, chance: Random, host: int, page: int, count: int) -> list[Link]:
    """Links to other normal hosts; none where there is no other."""
    others = web.hosts - (host < web.hosts)
    if others < 1:
        return []
    urls = []
    if page in (HOME, 0):
        urls.append(web.url((host + 1) % web.hosts if host < web.hosts else 0, 0))
    while len(urls) < count:
        other = int(chance.random() * others)
        if other >= host:
            other += 1
        urls.append(web.url(other, int(chance.random() * web.pages)))
    return [Link(url, url) for url in urls]


def _html(web: Web, host: int, page: int) -> str:
    wanted_bytes, _ = SIZES[web.size_kb]
    chance = Random(f"text/{web.seed}/{host}/{page}")
    pool, vocabulary = sentences(web.seed), words(web.seed)
    topic = f"{pick(chance, vocabulary)} {pick(chance, vocabulary)}".capitalize()
    title = f"{topic} — {web.name(host)}{page_path(page)}"
    anchors = [
        f'<a href="{link.href}">{pick(chance, vocabulary)} {pick(chance, vocabulary)}</a>'
        for link in web.links(host, page)
    ]
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n"
        f'<meta name="description" content="{topic}: {pick(chance, pool)}">\n'
        f'<script>var next = "<a href=\\"/script-only/{host}-{page}\\">never</a>";</script>\n'
        f'</head>\n<body>\n<h1 id="top">{topic}</h1>\n<nav>{" ".join(anchors[:8])}</nav>\n'
    )
    foot = f"<footer>Page {page + 2} of {web.pages + 1} on {web.name(host)}.</footer>\n"
    frame_bytes = len(head) + sum(map(len, anchors[8:])) + 20 * (len(anchors) - 8) + len(foot)
    count = max(1, (wanted_bytes - frame_bytes) // _sentence_bytes(web.seed))
    drawn = [pool[int(chance.random() * len(pool))] for _ in range(count)]
    parts = [head]
    inline = anchors[8:]
    per_link = max(1, count // len(inline))
    for number, anchor in enumerate(inline, 1):
        text = drawn[(number - 1) * per_link : number * per_link]
        parts.append(f'<p id="part-{number}">{" ".join(text)} {anchor}</p>\n')
    parts.append(f"<p>{' '.join(drawn[len(inline) * per_link :])}</p>\n{foot}</body>\n</html>\n")
    return "".join(parts)


@lru_cache(maxsize=8)
def _sentence_bytes(seed: int) -> int:
    """Mean length of a sentence with the space behind it."""
    pool = sentences(seed)
    return len(" ".join(pool).encode()) // len(pool)


def _reachable(web: Web, seeds: tuple[str, ...], within: Collection[str] | None) -> Reach:
    pages: dict[str, int] = {}
    refused, outside, specials = set(), set(), set()
    met = set(seeds)
    waiting = deque((url, 0) for url in seeds)
    while waiting:
        url, depth = waiting.popleft()
        parts = urlsplit(url)
        name, path = parts.hostname or "", parts.path
        host, page = web.index(name), web.page_of(path)
        if within is not None and name not in within:
            outside.add(url)
        elif not may_fetch(name, path):
            refused.add(url)
        elif host is None or page is None:
            # Where robots.txt does not refuse it, /private/ holds pages, but without new links.
            if path.startswith("/private/"):
                pages[url] = depth
            else:
                specials.add(url)
        else:
            pages[url] = depth
            for link in web.links(host, page):
                if link.url not in met:
                    met.add(link.url)
                    waiting.append((link.url, depth + 1))
    return Reach(pages, frozenset(refused), frozenset(outside), frozenset(specials))
