"""What a page costs in the content room: decide, parse once, links and all signals. One JSON line.

`python -m bench.micro.bench_links`: microseconds, best of several rounds on one thread, for pages
of about 8, 30 and 100 KB with 40, 50 and 60 links, and for a dense one (100 KB, 4,000 elements).
"""

from __future__ import annotations

import json
import random
import timeit
from collections.abc import Callable

from mercator.content import soup_links, tree_links
from mercator.content.markup_bounds import bounded, tree_of
from mercator.content.page import parse_page
from mercator.values import ParsedPage

HEADERS = (
    ("Server", "nginx"),
    ("Date", "Tue, 01 Dec 2026 12:00:00 GMT"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Connection", "keep-alive"),
    ("ETag", '"5f-9"'),
)

WORDS = ("harvest", "of", "pages", "over", "many", "hosts", "each", "polite", "by", "the", "clock")


def page(size_bytes: int, links: int) -> bytes:
    """A page as sites have them: a head, a menu, an article with its links, a footer."""
    rng = random.Random(size_bytes)
    menu = "".join(
        f'<li class="nav-item"><a class="nav-link" href="/page/{i}">Item {i}</a></li>'
        for i in range(links // 3)
    )
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page of the site</title>'
        '<meta name="viewport" content="width=device-width"><meta name="robots" content="index">'
        '<link rel="stylesheet" href="/style.css"><link rel="canonical" href="/page/1">'
        '<link rel="icon" href="/favicon.ico"><script>var a = "<a href=no>"; b(a < 3)</script></head>'
        f'<body class="page"><header class="top"><nav><ul>{menu}</ul></nav></header><main>'
    )
    sections = links - links // 3
    words_each = max(10, (size_bytes - len(head)) // sections // 6 - 35)
    parts = [head]
    for i in range(sections):
        text = " ".join(rng.choices(WORDS, k=words_each))
        href = rng.choice(
            (f"/page/{i}", f"sub/{i}?v={i}&amp;w=2", f"https://h{i:04d}.test/page/{i}")
        )
        parts.append(
            f'<section class="part" id="s{i}"><h2>Part {i}</h2><p>{text[:200]} <b>now</b> and '
            f'<a href="{href}" rel="nofollow">link <em>number</em> {i}</a> {text[200:]}</p>'
            f'<div class="note"><span>note {i}</span></div></section>'
        )
    parts.append("</main><footer><p>the end</p></footer></body></html>")
    return "".join(parts).encode()


def dense() -> bytes:
    """A page that is nearly all markup."""
    card = (
        '<div class="card" id="c{i}" data-x="1"><span class="t"><a href="/p/{i}" class="link">'
        "<b>t</b></a></span> some text here</div>\n"
    )
    return "".join(card.format(i=i) for i in range(850)).encode()


def best_us(work: Callable[[], object], number: int, rounds: int = 9) -> float:
    """Microseconds of one call, best of the rounds: noise of the machine only adds."""
    return round(min(timeit.repeat(work, number=number, repeat=rounds)) / number * 1e6, 1)


def parsed(body: bytes) -> ParsedPage:
    """As the crawler calls it."""
    return parse_page(
        body,
        url="https://site.test/page/0",
        content_type="text/html; charset=utf-8",
        headers=HEADERS,
        user_agent="mercator",
        max_links=10_000,
    )


def main() -> None:
    """Measures and prints."""
    pages = {
        "8": page(8_400, 40),
        "30": page(30_300, 50),
        "100": page(100_300, 60),
        "dense": dense(),
    }
    figures: dict[str, dict[str, float]] = {}
    for name, body in pages.items():
        markup = bounded(body)
        figures[name] = {
            "bytes": len(body),
            "tags": body.count(b"<"),
            "links": len(parsed(body).links),
            "parse_page_us": best_us(lambda body=body: parsed(body), 100),  # type: ignore[misc]
            "read_elements_us": best_us(
                lambda body=body: tree_links.read_elements(body, "mercator", 10_000),  # type: ignore[misc]
                100,
            ),
            "bounds_us": best_us(lambda body=body: bounded(body), 100),  # type: ignore[misc]
            "tree_us": best_us(lambda markup=markup: tree_of(markup), 100),  # type: ignore[misc]
            "soup_us": best_us(
                lambda body=body: soup_links.read_elements(body, "mercator", 10_000),  # type: ignore[misc]
                2,
                3,
            ),
        }
    print(json.dumps({"bench": "links", "pages": figures}))


if __name__ == "__main__":
    main()
