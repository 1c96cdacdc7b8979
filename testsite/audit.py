"""Judges a crawl by the server's log alone: what a site owner could prove. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from testsite.hosts import CONTROL_HOST, HostRules, rules_of
from testsite.log import Entry

_RETRY_AFTER = re.compile(r"/retry-after/(\d+)")


def audit(
    entries: Iterable[Entry],
    *,
    delay_s: float,
    slack_s: float = 0.002,
    robots: Callable[[str], HostRules] = rules_of,
    whole_crawl: bool = False,
) -> list[str]:
    """The violations, one line each, host by host in the order of time; empty for a polite crawl.

    For every host: no request begins before the last one has ended; none begins sooner after that
    end than max(delay_s, Crawl-delay, a Retry-After of `/retry-after/N`) less `slack_s`; none is
    for a path that the host's robots.txt refuses, and none but robots.txt where that is unknown.
    With `whole_crawl` (the log begins before the crawl) the first request must be for robots.txt.
    `robots` gives the rules of a host name. Requests to `status.test` are not judged.
    Cost: O(n log n).
    """
    of_host: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry["host"] != CONTROL_HOST:
            of_host[entry["host"]].append(entry)
    violations: list[str] = []
    for host in sorted(of_host):
        asked = sorted(of_host[host], key=lambda entry: entry["t"])
        rules = robots(host)
        violations += (
            f"{host}: {entry['path']} at {entry['t']:.6f} is refused by robots.txt"
            for entry in asked
            if not rules.allow(entry["path"])
        )
        if whole_crawl and asked[0]["path"] != "/robots.txt":
            violations.append(f"{host}: {asked[0]['path']} was asked before robots.txt")
        violations += _gaps(host, asked, max(delay_s, rules.crawl_delay_s), slack_s)
    return violations


def _gaps(host: str, asked: list[Entry], gap_s: float, slack_s: float) -> Iterator[str]:
    last = asked[0]
    free_at = last["t_end"] + max(gap_s, _retry_after_s(last))
    for entry in asked[1:]:
        if entry["t"] < last["t_end"]:
            yield (
                f"{host}: {entry['path']} at {entry['t']:.6f} began while {last['path']} was in "
                f"flight, {last['t_end'] - entry['t']:.6f} s before its end"
            )
        elif entry["t"] < free_at - slack_s:
            yield (
                f"{host}: {entry['path']} at {entry['t']:.6f} began "
                f"{entry['t'] - last['t_end']:.6f} s after the end of {last['path']}, "
                f"{free_at - entry['t']:.6f} s too soon"
            )
        # Of two in flight the one that ends last holds the host.
        if entry["t_end"] > last["t_end"]:
            last = entry
        free_at = max(free_at, entry["t_end"] + max(gap_s, _retry_after_s(entry)))


def _retry_after_s(entry: Entry) -> float:
    found = _RETRY_AFTER.fullmatch(entry["path"])
    return float(found[1]) if found is not None and entry["status"] == 429 else 0.0
