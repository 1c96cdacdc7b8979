"""What a link costs: canonicalisation, keys, filter by place and bounds. One JSON line.

`python -m bench.micro.bench_canonical`: microseconds, best of several rounds on one thread.
"""

from __future__ import annotations

import json
import statistics
import timeit
from collections.abc import Callable

import ada_url

from mercator.urls.canonical import Canonicalizer
from mercator.urls.scope import Scope
from mercator.urls.traps import broken_bound
from mercator.urls.url_key import url_key
from mercator.values import CanonicalUrl

BASE = "https://www.example.org/docs/guide/page.html?v=2"

PAGE_LINKS = (
    *(f"/page/{i}" for i in range(14)),
    *(f"/docs/guide/chapter-{i}.html" for i in range(6)),
    *(f"section{i}.html#part" for i in range(5)),
    *(f"../reference/item_{i}/" for i in range(4)),
    *(f"https://www.example.org/news/2024/{i:02d}/a-long-title-of-a-story" for i in range(6)),
    *(f"https://h{i:04d}.test/page/{i}" for i in range(4)),
    *(f"/search?page={i}&q=maps&utm_source=nav" for i in range(4)),
    "/wiki/Caf%C3%A9_(drink)",
    "/artikel/größe",
    "//cdn.example.net/lib/a.js",
    "#top",
    "mailto:editor@example.org",
    "javascript:void(0)",
    "HTTPS://Example.com:443/A/./b",
)
"""50 links as a page has them: most plain, some with a query, a few awkward."""


def best_us(work: Callable[[], object], number: int, rounds: int = 7) -> float:
    """Microseconds of one call, best of the rounds: noise of the machine only adds."""
    return min(timeit.repeat(work, number=number, repeat=rounds)) / number * 1e6


def main() -> None:
    """Measures and prints."""
    canonicalizer = Canonicalizer("standard")
    parse = canonicalizer.parse

    def page() -> list[object]:
        resolve = canonicalizer.for_page(BASE)
        return [resolve(href) for href in PAGE_LINKS]

    def page_by_parser() -> list[object]:
        return [parse(href, BASE) for href in PAGE_LINKS]

    each = [best_us(lambda h=href: parse(h, BASE), 2000, 5) for href in PAGE_LINKS]  # type: ignore[misc]
    parser = [
        best_us(lambda h=href: ada_url.join_url(BASE, h), 2000, 5)  # type: ignore[misc]
        for href in PAGE_LINKS
    ]
    url = parse("/page/12", BASE)
    assert isinstance(url, CanonicalUrl)
    scope = Scope("host", frozenset(("host:www.example.org",)))
    figures = {
        "bench": "canonical",
        "links": len(PAGE_LINKS),
        "page_us": best_us(page, 300),
        "page_by_parser_us": best_us(page_by_parser, 300),
        "parse_median_us": statistics.median(each),
        "parser_alone_median_us": statistics.median(parser),
        "url_key_us": best_us(lambda: url_key(url.key_url, url.host), 50_000),
        "broken_bound_us": best_us(lambda: broken_bound(url), 50_000),
        "scope_us": best_us(lambda: scope.admits(url), 50_000),
    }
    print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in figures.items()}))


if __name__ == "__main__":
    main()
