"""A robots.txt file as rules for one product token (RFC 9309). Pure; knows no network and no cache.

Departures from the RFC, all in the direction of what site owners mean: frequent misspellings of
field names count, two words without a colon are a line, a path may begin with `*`, and Crawl-delay
(in no standard) is read. Lines that do not parse are passed over (RFC 9309, 2.3.1.5).

Paths are compared in one spelling (`_spelling`), applied to rules and URLs alike: escapes of
unreserved octets are undone, all other escapes stay, what may not stand in a URI is escaped. So
`%2F` never becomes a slash, nothing is decoded twice, and a star or dollar that is meant literally
is `%2A` or `%24` on both sides (RFC 9309, 2.2.2 and 2.2.3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

ROBOTS_MAX_BYTES = 512_000
"""How much of a robots.txt is read: the 500 KiB that RFC 9309, 2.5 asks for."""

LONGEST_CRAWL_DELAY_S = 1e9
"""Crawl-delay is obeyed however long; this only keeps dates within what a calendar can say."""

_KINDS = {
    b"user-agent": "agent",
    b"useragent": "agent",
    b"user agent": "agent",
    b"allow": "allow",
    b"disallow": "disallow",
    b"dissallow": "disallow",
    b"dissalow": "disallow",
    b"disalow": "disallow",
    b"diasllow": "disallow",
    b"disallaw": "disallow",
    b"crawl-delay": "delay",
    b"crawl delay": "delay",
    b"sitemap": "sitemap",
    b"sitemaps": "sitemap",
    b"site-map": "sitemap",
}
_BLANK = b" \t"
_TWO_WORDS = re.compile(rb"([^ \t]+)[ \t]+([^ \t]+)")
_PRODUCT = re.compile(rb"[A-Za-z_-]*")
_SECONDS = re.compile(rb"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_TARGET = re.compile(r"[^/?#]*//[^/?#]*([^#]*)")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_RESPELT = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~:/?#\[\]@!&'()+,;=%-]")


class _Wild(NamedTuple):
    """A rule with a star in it, cut at its stars. `octets` is its length for the precedence.

    Threads: immutable.
    """

    octets: int
    allow: bool
    first: str
    middle: tuple[str, ...]
    last: str
    anchored: bool

    def matches(self, path: str) -> bool:
        """Leftmost fit of every piece in turn: one walk over the path, no going back, since a star
        takes anything and so an earlier fit never hinders a later piece."""
        if not path.startswith(self.first):
            return False
        at = len(self.first)
        for piece in self.middle:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        if self.anchored:
            return len(path) - len(self.last) >= at and path.endswith(self.last)
        return path.find(self.last, at) >= 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RobotsRules:
    """The rules that one robots.txt has for one product token.

    `crawl_delay_s` is the longest Crawl-delay of the token's groups, None without one. `sitemaps`
    are the Sitemap lines as they stand, in file order; they belong to no group.
    Threads: immutable.
    """

    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    _plain: Mapping[str, bool] = field(default_factory=dict, repr=False)
    _plain_octets: tuple[int, ...] = field(default=(), repr=False)
    _whole: Mapping[str, bool] = field(default_factory=dict, repr=False)
    _wild: tuple[_Wild, ...] = field(default=(), repr=False)

    @staticmethod
    def parse(body: bytes, user_agent: str) -> RobotsRules:
        """Reads a file, of which at most `ROBOTS_MAX_BYTES` count, for a product token.

        All groups that name the token are one; without any, those of `*` are; without those there
        are no rules (RFC 9309, 2.2.1). Never raises. Cost: O(len(body)).
        """
        reading = _Reading(user_agent)
        text = whole_lines(body, cut=False)
        # A file that was cut inside its byte order mark shows the first one or two octets of it.
        for octet in (b"\xef", b"\xbb", b"\xbf"):
            if not text.startswith(octet):
                break
            text = text[1:]
        for line in text.replace(b"\r", b"\n").split(b"\n"):
            if line:
                reading.line(line)
        return _compiled(reading)

    def allows(self, url: str) -> bool:
        """May an absolute http(s) URL be asked, in the spelling in which it will be requested?

        The longest rule that fits decides, in octets; among equals allow wins (RFC 9309, 2.2.2).
        `/robots.txt` itself is always allowed. Never raises. Cost: one look-up for each length of
        rule, and one walk over the path for each rule with a star that is longer than the best fit
        so far.
        """
        path = _path_of(url)
        if path == "/robots.txt":
            return True
        best, allowed = 0, True
        whole = self._whole.get(path)
        if whole is not None:
            best, allowed = len(path) + 1, whole
        for octets in self._plain_octets:
            if octets <= best:
                break
            rule = self._plain.get(path[:octets]) if octets <= len(path) else None
            if rule is not None:
                best, allowed = octets, rule
        for wild in self._wild:
            if wild.octets < best or (wild.octets == best and (allowed or not wild.allow)):
                break
            if wild.matches(path):
                return wild.allow
        return allowed


ALLOW_ALL = RobotsRules()
"""No rules: what a site without a robots.txt has (RFC 9309, 2.3.1.3)."""


def whole_lines(body: bytes, *, cut: bool) -> bytes:
    """At most `ROBOTS_MAX_BYTES` of a file, without a line that was cut in two.

    `cut` says that the body had been cut before. Half a line may say the opposite of the whole one:
    `Disallow: /` for `Disallow: /private/`.
    """
    if not cut and len(body) <= ROBOTS_MAX_BYTES:
        return body
    end = ROBOTS_MAX_BYTES + 1
    return body[: max(body.rfind(b"\n", 0, end), body.rfind(b"\r", 0, end), 0)]


class _Group:
    """The rules of one name, over all its groups. Threads: confined to one `parse`."""

    __slots__ = ("delay_s", "rules")

    def __init__(self) -> None:
        self.rules: dict[bytes, bool] = {}
        self.delay_s: float | None = None


class _Reading:
    """What one pass over a file gathers. Threads: confined to one `parse`."""

    __slots__ = ("_fresh", "_open", "_own", "_star", "_token", "named", "sitemaps")

    def __init__(self, user_agent: str) -> None:
        self._token = _product(user_agent.encode("ascii", "replace"))
        self._own = _Group()
        self._star = _Group()
        self._open: tuple[_Group, ...] = ()
        self._fresh = False
        self.named = False
        self.sitemaps: list[str] = []

    @property
    def group(self) -> _Group:
        """The group in force: our own where any line names us, even one without rules."""
        return self._own if self.named else self._star

    def line(self, line: bytes) -> None:
        """Takes one line in, without its end. Unknown ones change nothing (RFC 9309, 2.2.4)."""
        text = line.partition(b"#")[0].strip(_BLANK)
        name, colon, value = text.partition(b":")
        if not colon:
            words = _TWO_WORDS.fullmatch(text)
            if words is None:
                return
            name, value = words.groups()
        kind = _KINDS.get(name.strip(_BLANK).lower())
        if kind is None:
            return
        value = value.strip(_BLANK)
        if kind == "agent":
            self._agent(value)
        elif kind == "sitemap":
            if value:
                self.sitemaps.append(value.decode("utf-8", "replace"))
        elif kind == "delay":
            self._delay(value)
        else:
            self._rule(value, kind == "allow")

    def _agent(self, value: bytes) -> None:
        # Only a rule closes a list of names: neither blank lines nor other records do.
        if not self._fresh:
            self._open, self._fresh = (), True
        if value == b"*" or value[:2] in (b"* ", b"*\t"):
            named = self._star
        elif self._token and _product(value) == self._token:
            named, self.named = self._own, True
        else:
            return
        # Once is enough: a file of nothing but `User-agent: *` must not make every rule cost more.
        if named not in self._open:
            self._open += (named,)

    def _rule(self, value: bytes, allow: bool) -> None:
        self._fresh = False
        # An empty path is no rule (RFC 9309, 2.2.2); a full URL or a relative path fits nothing.
        if value[:1] in (b"/", b"*"):
            for group in self._open:
                group.rules[value] = group.rules.get(value, False) or allow

    def _delay(self, value: bytes) -> None:
        # Strictly digits: float() would take "nan", "inf", "1_0" and digits of other scripts.
        if not _SECONDS.fullmatch(value):
            return
        delay_s = min(float(value), LONGEST_CRAWL_DELAY_S)
        for group in self._open:
            group.delay_s = max(delay_s, group.delay_s or 0.0)


def _product(value: bytes) -> bytes:
    """The product token at the start of a name, lower case: `Mercator/1.0` is `mercator`."""
    token = _PRODUCT.match(value)
    return token.group().lower() if token else b""


def _compiled(reading: _Reading) -> RobotsRules:
    """The group in force as look-up tables: no work is left that does not depend on the URL."""
    plain: dict[str, bool] = {}
    whole: dict[str, bool] = {}
    wild: dict[tuple[str, bool], _Wild] = {}
    for value, allow in reading.group.rules.items():
        anchored = value.endswith(b"$")
        pieces = [_spelling(p) for p in value.removesuffix(b"$").decode("latin-1").split("*")]
        if len(pieces) == 1:
            table = whole if anchored else plain
            table[pieces[0]] = table.get(pieces[0], False) or allow
            continue
        pattern = "*".join(pieces)
        octets = len(pattern) + anchored
        if (pattern, anchored) in wild:
            allow = allow or wild[pattern, anchored].allow
        middle = tuple(filter(None, pieces[1:-1]))
        wild[pattern, anchored] = _Wild(octets, allow, pieces[0], middle, pieces[-1], anchored)
    group = reading.group
    return RobotsRules(
        crawl_delay_s=group.delay_s,
        sitemaps=tuple(reading.sitemaps),
        _plain=plain,
        _plain_octets=tuple(sorted({len(pattern) for pattern in plain}, reverse=True)),
        _whole=whole,
        _wild=tuple(sorted(wild.values(), key=lambda rule: (-rule.octets, not rule.allow))),
    )


def _path_of(url: str) -> str:
    """Path and query of a URL in the spelling for comparison; the fragment is never sent."""
    target = _TARGET.match(url)
    path = target.group(1) if target else ""
    if not path.startswith("/"):
        path = "/" + path
    if not path.isascii():
        # Octets as characters, as rules are read.
        path = path.encode("utf-8", "surrogatepass").decode("latin-1")
    return _spelling(path)


def _spelling(octets: str) -> str:
    """The one spelling in which rules and URLs are compared; octets as characters 0 to 255."""
    return _RESPELT.sub(_respelt, octets) if _RESPELT.search(octets) else octets


def _respelt(found: re.Match[str]) -> str:
    text = found.group()
    if len(text) == 1:
        return f"%{ord(text):02X}"
    octet = chr(int(text[1:], 16))
    return octet if octet in _UNRESERVED else text.upper()
