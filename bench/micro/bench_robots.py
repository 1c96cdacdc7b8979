"""What robots.txt costs: reading a file, asking about a URL, and the cache's verdict. One JSON line.

`python -m bench.micro.bench_robots`: best of several rounds on one thread; of URLs the dearest.
"""

from __future__ import annotations

import json
import random
import timeit
from collections.abc import Callable
from functools import partial

from mercator.clock import RealClock
from mercator.politeness.robots_cache import RobotsCache
from mercator.politeness.robots_rules import RobotsRules
from mercator.rows import RobotsRow

HOST = "https://shop.example.org"
URLS = (
    "/catalogue/2024/maps/of-the-old-town.html",
    "/find?q=tea&page=3&sort=price",
    "/wiki/Caf%C3%A9_(drink)",
    "/basket/17/checkout",
)


def shop_file(size_bytes: int) -> bytes:
    """A file as shops have it: a long group for all, a sixth of its rules with stars, and others'."""
    lines = ["Sitemap: https://shop.example.org/sitemap.xml", "User-agent: *", "Crawl-delay: 1"]
    count = 0
    while sum(map(len, lines)) + len(lines) < size_bytes:
        lines.append(
            f"Disallow: /section-{count}/private/" + ("*?session=" if count % 6 == 5 else "")
        )
        if count % 40 == 39:
            lines += ["# " + "-" * 30, f"Allow: /section-{count}/private/open$"]
        count += 1
    lines += ["", "User-agent: otherbot", "Disallow: /"]
    return "\n".join(lines).encode()


def best_us(work: Callable[[], object], number: int, rounds: int = 7) -> float:
    """Microseconds of one call, best of the rounds: noise of the machine only adds."""
    return min(timeit.repeat(work, number=number, repeat=rounds)) / number * 1e6


def main() -> None:
    """Measures and prints."""
    small, large = shop_file(10_000), shop_file(500_000)
    rules, many = RobotsRules.parse(small, "mercator"), RobotsRules.parse(large, "mercator")
    stars = RobotsRules.parse(b"User-agent: *\nDisallow: /" + b"a*" * 100 + b"b", "mercator")
    long_url = HOST + "/" + "a" * 2048
    clock = RealClock()
    cache = RobotsCache(
        clock,
        "mercator",
        max_age_s=86_400.0,
        keep_s=7 * 86_400.0,
        give_up_s=7 * 86_400.0,
        retry_base_s=1.0,
        retry_cap_s=300.0,
        random=random.Random(1),
    )
    now = clock.unix_s()
    cache.keep(HOST, RobotsRow("rules", small, now, now, now + 86_400.0))
    urls = [HOST + path for path in URLS]
    figures = {
        "bench": "robots",
        "parse_10kb_ms": best_us(partial(RobotsRules.parse, small, "mercator"), 20) / 1e3,
        "parse_500kb_ms": best_us(partial(RobotsRules.parse, large, "mercator"), 1) / 1e3,
        "match_10kb_us": max(best_us(partial(rules.allows, url), 500) for url in urls),
        "match_500kb_us": max(best_us(partial(many.allows, url), 20) for url in urls),
        "hundred_stars_2kb_us": best_us(partial(stars.allows, long_url), 50),
        "judge_10kb_us": max(best_us(partial(cache.judge, url, no_row), 500) for url in urls),
    }
    print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in figures.items()}))


def no_row(origin: str) -> RobotsRow | None:
    """The store is never asked: the origin is remembered."""
    raise AssertionError(origin)


if __name__ == "__main__":
    main()
