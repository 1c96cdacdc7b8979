"""The URL filter by place: is the URL within what the seeds opened?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from mercator.config import Scope as ScopeKind
from mercator.urls.policy_lists import INDEX_DOCUMENT
from mercator.values import CanonicalUrl

if TYPE_CHECKING:
    import tldextract


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a crawl may go: a kind, the entries that seeds add, and the user's expressions.

    An entry reads `host:example.org`, `domain:example.org` or `prefix:http://example.org/dir/`, so
    that a stored scope explains itself. `include` and `exclude` are regular expressions, searched
    for in the `key_url`. Raises re.error for one that does not compile (`config` checks first).
    Threads: immutable.
    """

    kind: ScopeKind
    entries: frozenset[str] = frozenset()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    _included: tuple[re.Pattern[str], ...] = field(init=False, repr=False, compare=False)
    _excluded: tuple[re.Pattern[str], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_included", tuple(map(re.compile, self.include)))
        object.__setattr__(self, "_excluded", tuple(map(re.compile, self.exclude)))

    def admits(self, url: CanonicalUrl) -> bool:
        """Whether the URL lies within an entry, matches an `include` if there are any, and no
        `exclude`. Seeds are judged like links; the caller decides whether to ask for them.

        One set look-up, for `prefix` one for each segment; never O(entries).
        """
        if not self._within_an_entry(url):
            return False
        key_url = url.key_url
        if self._included and not any(p.search(key_url) for p in self._included):
            return False
        return not (self._excluded and any(p.search(key_url) for p in self._excluded))

    def entry_of(self, url: CanonicalUrl) -> str | None:
        """The entry that opens the scope for a seed at this URL; None when everything is open.

        host: the host name, with any scheme and port. domain: the registrable domain. prefix: the
        canonical URL up to the last slash of its path.
        """
        if self.kind == "host":
            return "host:" + url.host
        if self.kind == "domain":
            return "domain:" + registrable_domain(url.host)
        if self.kind == "prefix":
            place = _place(url)
            return "prefix:" + place[: place.rindex("/") + 1]
        return None

    def with_entries(self, entries: Iterable[str]) -> Scope:
        """The same scope, open for these entries as well."""
        return Scope(self.kind, self.entries.union(entries), self.include, self.exclude)

    def _within_an_entry(self, url: CanonicalUrl) -> bool:
        if self.kind != "prefix":
            return self.kind == "any" or self.entry_of(url) in self.entries
        place = _place(url)
        end = place.index("/", 8) + 1
        while end:
            if "prefix:" + place[:end] in self.entries:
                return True
            end = place.find("/", end) + 1
        return False


_FOLDER = re.compile(f"/(?:{INDEX_DOCUMENT})?\\Z", re.IGNORECASE)


def _place(url: CanonicalUrl) -> str:
    """The canonical URL without query, a folder always with its slash.

    The policy `aggressive` takes slash and index document off a folder's key. Without them the seed
    `http://example.org/dir/` would open the whole host.
    """
    place = url.key_url.partition("?")[0]
    if place[-1] != "/" and _FOLDER.search(url.url.partition("?")[0]):
        last = place[place.rindex("/") :]
        if not _FOLDER.fullmatch(last):
            return place + "/"
    return place


@lru_cache(maxsize=1 << 16)
def registrable_domain(host: str) -> str:
    """The host's domain below its public suffix, by the list that tldextract brings along.

    Suffixes that companies registered (github.io) count as ordinary names. An unlisted last label
    is a suffix of its own (the list's rule `*`). IP literals, single labels and public suffixes
    are their own domain; a dot at the end is dropped. Memoised for 65,536 hosts.
    """
    name = host.rstrip(".")
    if name.startswith("[") or "." not in name or name.rpartition(".")[2].isdigit():
        return name
    parts = _suffix_list().extract_str(name)
    if not parts.domain:
        return name
    if not parts.suffix:
        return ".".join(name.split(".")[-2:])
    return f"{parts.domain}.{parts.suffix}"


@lru_cache(maxsize=1)
def _suffix_list() -> tldextract.TLDExtract:
    """The bundled snapshot only: no request, and no file written into a cache folder.

    Imported here because it brings `requests` along, 0.1 s that only the scope `domain` needs.
    """
    import tldextract

    return tldextract.TLDExtract(
        cache_dir=None, suffix_list_urls=(), include_psl_private_domains=False
    )
