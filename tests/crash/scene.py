"""The scene: which site is crawled, with which settings, so that every kind of end is in it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Scene(NamedTuple):
    """A crawl that can be had again and again: same site, same seeds, same settings.

    Left out are what has no fixed end (`/calendar/`) and what takes its time (`/slow/`); the rest of
    the special paths is there, and hosts with an odd robots.txt. Threads: immutable.
    """

    hosts: int = 4
    pages: int = 8
    latency_ms: int = 4
    threads: int = 4
    delay_s: float = 0.03
    scope: str = "any"
    max_active_hosts: int = 4096
    warc: bool = True
    warc_file_bytes: int = 1_000_000_000
    specials: bool = True
    seeds: tuple[str, ...] = (
        "http://h0000.test/",
        "http://robotsredirect.test/",
        "http://robotsclosed.test/",
        "http://robots404.test/page/0",
        "http://h0001.test/offhost/1",
        "http://h0001.test/hops/3",
        "http://h0001.test/loop/a",
        "http://h0001.test/self",
        "http://h0002.test/error/1",
        "http://h0002.test/forbidden/1",
        "http://h0002.test/type/png",
        "http://h0002.test/empty/1",
    )

    def site_options(self) -> tuple[str, ...]:
        """For `testsite.process.running`."""
        numbers = {"hosts": self.hosts, "pages": self.pages, "latency-ms": self.latency_ms}
        pairs = (part for name, n in numbers.items() for part in (f"--{name}", str(n)))
        return (*pairs, *(["--specials"] if self.specials else []))

    def config(self, resolve: str) -> dict[str, Any]:
        """The settings as fields of `CrawlConfig`."""
        return {
            "scope": self.scope,
            "exclude": ["/calendar/", "/slow/"],
            "allow_net": ["127.0.0.0/8"],
            "resolve": [resolve],
            "threads": self.threads,
            "delay_s": self.delay_s,
            "max_active_hosts": self.max_active_hosts,
            "retry_base_s": 0.02,
            "retry_cap_s": 0.05,
            "warc": self.warc,
            "warc_file_bytes": self.warc_file_bytes,
        }
