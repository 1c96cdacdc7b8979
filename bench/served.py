"""The test site as a bench needs it: warm, in a process of its own, and with its log as the judge."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from testsite import load, process
from testsite.audit import audit
from testsite.generator import SIZES, Web
from testsite.hosts import CONTROL_HOST
from testsite.log import Entry, parse_lines
from testsite.server import CACHE_BYTES

_WARM_CLIENTS = 4
_SHOWN = 3


class Crawled(NamedTuple):
    """One crawl as the server saw it. `span_s`: from the first request for a page to the last byte of
    the last one. `faults` is empty when exactly the page set was fetched, each page once.
    Threads: immutable."""

    pages: int
    span_s: float
    faults: tuple[str, ...]


class Served:
    """A running site and what a whole crawl of it must fetch. Threads: confined to one."""

    def __init__(self, site: process.Running, web: Web) -> None:
        self._site = site
        self._read_to = 0
        self.port = site.port
        self.seeds = [web.url(host) for host in range(web.hosts)]
        self.page_set = frozenset(web.reachable(self.seeds).pages)

    def skip(self) -> None:
        """What was asked so far belongs to no crawl."""
        self._new_entries()

    def crawled(self, *, polite: bool) -> Crawled:
        """Judges what was asked since the last call. `polite`: one request a host at a time, too."""
        entries = self._new_entries()
        pages = [entry for entry in entries if entry["path"] != "/robots.txt"]
        if not pages:
            return Crawled(0, 0.0, ("no page was asked for",))
        span_s = max(entry["t_end"] for entry in pages) - min(entry["t"] for entry in pages)
        faults = self._faults(pages)
        if polite:
            faults += _some("impolite", audit(entries, delay_s=0.0, whole_crawl=True))
        return Crawled(len(pages), span_s, tuple(faults))

    def _faults(self, pages: list[Entry]) -> list[str]:
        asked = Counter(f"http://{entry['host']}{entry['path']}" for entry in pages)
        return [
            *_some("not fetched", self.page_set - asked.keys()),
            *_some("not in the page set", asked.keys() - self.page_set),
            *_some("fetched again", [url for url, times in asked.items() if times > 1]),
            *_some("not 200", [entry["path"] for entry in pages if entry["status"] != 200]),
        ]

    def _new_entries(self) -> list[Entry]:
        self._site.ask("/status", CONTROL_HOST)  # lets the site write its log out
        with self._site.log_path.open("rb") as log:
            log.seek(self._read_to)
            data = log.read()
        data = data[: data.rfind(b"\n") + 1]
        self._read_to += len(data)
        entries = parse_lines(data.decode("ascii").splitlines())
        return [entry for entry in entries if entry["host"] != CONTROL_HOST]


@contextmanager
def served(folder: Path, *, hosts: int, pages: int, size_kb: int) -> Iterator[Served]:
    """Starts the site and asks once for every page, so that making one never holds a crawler up.

    Raises ValueError for a web that the site cannot keep ready, RuntimeError when it does not start.
    """
    web = Web(hosts, pages, size_kb)
    if hosts * (pages + 1) * SIZES[size_kb][0] > CACHE_BYTES * 0.9:
        raise ValueError(
            f"the site keeps {CACHE_BYTES >> 20} MiB of pages ready: ask for fewer of {size_kb} KB"
        )
    options = ("--hosts", str(hosts), "--pages", str(pages), "--size", str(size_kb))
    with process.running(folder, *options) as site:
        homes = [
            f"GET / HTTP/1.1\r\nHost: {web.name(host)}\r\n\r\n".encode() for host in range(hosts)
        ]
        requests = homes + load.page_requests(hosts, pages)
        load.run(site.port, requests, clients=_WARM_CLIENTS, count=len(requests))
        os.sync()
        one = Served(site, web)
        one.skip()
        yield one


def _some(what: str, cases: list[str] | frozenset[str] | set[str]) -> list[str]:
    shown = ", ".join(sorted(cases)[:_SHOWN])
    return [f"{len(cases)} {what}: {shown}"] if cases else []
