"""The host names of the test site, and what each one's robots.txt really asks of a crawler.

A name is `h` and four or more digits (a normal host), or one of `KINDS`, alone (`dead.test`) or
with a number (`dead-7.test`), so that a test has as many of a kind as it needs. Every host has an
index: the normal ones count from 0, the others follow, and the web is generated from the index.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

KINDS = (
    "robots503",
    "robots404",
    "robotshang",
    "robotsreset",
    "robotsdelay",
    "robotsredirect",
    "robotsloop",
    "robotsclosed",
    "dead",
    "tlswrong",
    "tlsexpired",
    "tlsunknown",
)
"""Hosts that behave oddly, in the order of their indexes: append only, or their pages change."""

NORMAL = "normal"
CONTROL_HOST = "status.test"
"""Serves `/status` only; for whoever watches a crawl. The audit does not judge requests to it."""

CRAWL_DELAY_S = 2
ROBOTS_LOOP_PATH = "/robots-loop.txt"
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Answered as `h0000.test`, so that a person can look at the site with a browser."""

MAX_NUMBER = 99
_NAME = re.compile(r"(?:h(\d{4,6})|([a-z0-9]+?)(?:-(\d{1,2}))?)\.test")


class HostRules(NamedTuple):
    """What a polite crawler makes of a host's robots.txt. Threads: immutable."""

    refused: tuple[str, ...]
    """Path prefixes that may not be asked; `("/",)` where robots.txt is unknown, too."""
    crawl_delay_s: float = 0.0

    def allow(self, path: str) -> bool:
        """Whether the path may be asked for. robots.txt itself always may (RFC 9309, 2.2.2), and so
        may the path that one host's robots.txt redirects to."""
        return path in ("/robots.txt", ROBOTS_LOOP_PATH) or not path.startswith(self.refused)


def host_name(index: int, hosts: int) -> str:
    """The name of the host with that index, where there are `hosts` normal ones."""
    if index < hosts:
        return f"h{index:04d}.test"
    number, kind = divmod(index - hosts, len(KINDS))
    return f"{KINDS[kind]}-{number}.test" if number else f"{KINDS[kind]}.test"


def host_index(name: str, hosts: int) -> int | None:
    """The index behind a lower-case name; None for a name that the site does not have."""
    if name in LOOPBACK_NAMES:
        return 0
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    digits, kind, number = found.groups()
    if digits is not None:
        index = int(digits)
        return index if index < hosts and name == host_name(index, hosts) else None
    if kind not in KINDS:
        return None
    return hosts + int(number or 0) * len(KINDS) + KINDS.index(kind)


def host_kind(name: str) -> str:
    """One of `KINDS`, or `NORMAL` for every other name."""
    found = _NAME.fullmatch(name)
    return found[2] if found is not None and found[2] in KINDS else NORMAL


@lru_cache(maxsize=100_000)
def rules_of(name: str) -> HostRules:
    """The rules that hold for a host. A loop of redirects counts as no rules (RFC 9309, 2.3.1.2:
    after five hops the file may be taken as unavailable), and so does a 404 (2.3.1.3)."""
    kind = host_kind(name)
    if kind in ("robots404", "robotsloop"):
        return HostRules(())
    if kind in ("robots503", "robotshang", "robotsreset", "robotsclosed", "dead"):
        return HostRules(("/",))
    if kind == "robotsdelay":
        return HostRules(("/private/",), float(CRAWL_DELAY_S))
    return HostRules(("/private/",))


def may_fetch(name: str, path: str) -> bool:
    """Whether a polite crawler may ask the host for that path."""
    return rules_of(name).allow(path)
