"""Spine 1: a seed, link or redirect target on its way into the frontier (steps 1-7).

`offer` is pure and runs in the CPU stage of the worker that found the URL (steps 1-4); `admit` runs in
the writer's transaction (steps 5-7). Seeds, links and redirects enter by the same two functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from mercator.config import CrawlConfig
from mercator.engine.host_rows import HostRows
from mercator.engine.outcome import Found
from mercator.engine.stats import Counts
from mercator.frontier.frontier import Frontier
from mercator.frontier.lifecycle import COUNTER_OF, RULE_REFUSALS, move
from mercator.ports import LinkExchange, Prioritizer, Txn
from mercator.rows import DeadRow, Glance, UrlRow
from mercator.seen.url_seen import meet, meet_unkeyed
from mercator.urls.canonical import Canonicalizer
from mercator.urls.scope import Scope
from mercator.urls.traps import broken_bound, too_deep
from mercator.urls.url_key import host_id, url_key
from mercator.values import (
    NO_KEY,
    CanonicalUrl,
    HostId,
    RawLink,
    Reason,
    RefusedUrl,
    State,
    UrlKey,
)

Parse = Callable[[str], CanonicalUrl | RefusedUrl | None]

SCOPE_ROWS = "scope/"
"""Prefix of the rows of `meta` that hold the URLs which opened the scope: [url, key_url, host]."""

LISTED_ONLY = frozenset({"img"})
"""Kinds of link that are listed in `links` but never enter the frontier (rel=sitemap neither)."""

_UNKEYED_TEXT = 8192
"""Most characters that are kept of a URL that has no canonical form."""


class Path(NamedTuple):
    """How a URL was reached: what its row takes from where it was found. Threads: immutable."""

    parent: UrlKey
    parent_host: str
    depth: int
    hops: int
    is_seed: bool
    seed_began: bool


SEED = Path(NO_KEY, "", 0, 0, True, True)


class Intake:
    """The rules by which URLs enter: canonical form, scope, bounds, depth, nofollow.

    Threads: `offer` and `still_refused` from any thread (the scope is replaced as a whole);
    `admit`, `extend_scope` and `readmit` confined to the writer thread.
    """

    def __init__(
        self,
        config: CrawlConfig,
        scope: Scope,
        exchange: LinkExchange,
        prioritizer: Prioritizer,
        frontier: Frontier,
        counts: Counts,
    ) -> None:
        self.scope = scope
        self.canonicalizer = Canonicalizer(config.url_policy)
        self._max_depth = config.max_depth
        self._obey_nofollow = config.obey_nofollow
        self._max_pages_per_host = config.max_pages_per_host
        self._exchange = exchange
        self._prioritizer = prioritizer
        self._frontier = frontier
        self._counts = counts

    # -- steps 1-4 -----------------------------------------------------------------------------------

    def offer(
        self, links: Iterable[RawLink], base: str, encoding: str, path: Path, *, nofollow: bool
    ) -> tuple[Found, ...]:
        """The links of one page, judged: canonical URL (2), URL filter (3). The host splitter (4) sends
        nothing away while there is one shard; `admit` asserts it.

        Each (key, kind, rel) once, in order; text that is no http(s) URL is left out.
        """
        parse = self.canonicalizer.for_page(base, encoding)
        found: dict[tuple[str, str, str], Found] = {}
        for link in links:
            url = parse(link.href)
            if url is None or (
                isinstance(url, RefusedUrl) and url.reason is Reason.UNSUPPORTED_SCHEME
            ):
                continue
            text = url.key_url if isinstance(url, CanonicalUrl) else url.url
            identity = (text, link.kind, link.rel)
            if identity not in found:
                found[identity] = self._judge(url, link, path, nofollow=nofollow)
        return tuple(found.values())

    def offer_one(self, url: CanonicalUrl | RefusedUrl, kind: str, path: Path) -> Found:
        """A seed or a redirect target, which always get a row."""
        return self._judge(url, RawLink("", kind, "", ""), path, nofollow=False)

    def _judge(
        self, url: CanonicalUrl | RefusedUrl, link: RawLink, path: Path, *, nofollow: bool
    ) -> Found:
        _, kind, rel, anchor = link
        if isinstance(url, RefusedUrl):
            key = url_key(url.url, url.host)
            text = url.url[:_UNKEYED_TEXT]
            return Found(text, "", url.host, key, url.reason, kind, rel, anchor, True)
        has_row = kind not in LISTED_ONLY and "sitemap" not in rel
        reason = self._refusal(url, path)
        if reason is None and (
            (nofollow and self._obey_nofollow != "none")
            or (self._obey_nofollow == "all" and "nofollow" in rel.split())
        ):
            reason = Reason.NOFOLLOW
        key = url_key(url.key_url, url.host)
        return Found(url.url, url.key_url, url.host, key, reason, kind, rel, anchor, has_row)

    def _refusal(self, url: CanonicalUrl, path: Path) -> Reason | None:
        """The rule that keeps a URL out, or None. A seed is wanted whatever scope and patterns say,
        and so is a redirect that a seed began: its end is what extends the scope."""
        if not path.seed_began and not self.scope.admits(url):
            return Reason.OUT_OF_SCOPE
        if too_deep(path.depth, self._max_depth):
            return Reason.TOO_DEEP
        return broken_bound(url)

    def still_refused(self, url: CanonicalUrl, depth: int, *, seed_began: bool) -> Reason | None:
        """The rules asked again at hand-out: a later run's settings may be stricter."""
        return self._refusal(url, Path(NO_KEY, "", depth, 0, False, seed_began))

    # -- steps 5-7 -----------------------------------------------------------------------------------

    def admit(self, txn: Txn, found: Found, path: Path, hosts: HostRows, unix_s: float) -> UrlKey:
        """URL-seen test (5), prioritizer (6), front queue (7). Gives the key that the URL has.

        A known URL changes nothing, except that a shorter path shortens a pending one's depth and
        that a refusal by a rule ends when the new path is not refused.
        """
        assert self._exchange.owner(found.host) == 0, "foreign links leave before the writer"
        met = (
            meet(txn, found.key_url, found.host, found.key)
            if found.key_url
            else meet_unkeyed(txn, found.key)
        )
        if met.glance is not None:
            self._counts.add("known_again")
            self._meet_again(txn, met.key, met.glance, found, path, hosts)
            return met.key
        reason = found.reason or self._host_budget(found.host, hosts)
        self._counts.add("seen")
        row = UrlRow(
            state=move(None, State.PENDING if reason is None else State.REFUSED),
            url=found.url,
            key_url=found.key_url,
            reason=reason,
            depth=path.depth,
            hops=path.hops,
            is_seed=path.is_seed,
            seed_began=path.seed_began,
            parent=path.parent,
            found_at=unix_s,
        )
        if reason is None:
            cross_host = path.parent_host not in ("", found.host)
            self._enqueue(txn, met.key, row, hosts, found.host, cross_host=cross_host)
        else:
            self._refuse(txn, met.key, row, reason)
        return met.key

    def _meet_again(
        self, txn: Txn, key: UrlKey, glance: Glance, found: Found, path: Path, hosts: HostRows
    ) -> None:
        if glance.state is State.PENDING:
            if path.depth < glance.depth or path.is_seed:
                row = txn.urls.get(key)
                assert row is not None, "a glance shows a row"
                txn.urls.put(
                    key,
                    row._replace(
                        depth=min(row.depth, path.depth),
                        is_seed=row.is_seed or path.is_seed,
                        seed_began=row.seed_began or path.seed_began,
                    ),
                )
        elif (
            glance.state is State.REFUSED
            and glance.reason in RULE_REFUSALS
            and found.reason is None
            and self._host_budget(found.host, hosts) is None
        ):
            row = txn.urls.get(key)
            assert row is not None, "a glance shows a row"
            row = row._replace(
                url=found.url,
                depth=path.depth,
                hops=path.hops,
                parent=path.parent,
                is_seed=row.is_seed or path.is_seed,
                seed_began=path.seed_began,
            )
            self.readmit(txn, key, row, hosts, found.host)

    def readmit(self, txn: Txn, key: UrlKey, row: UrlRow, hosts: HostRows, host: str) -> None:
        """A URL that had ended with a reason becomes pending again."""
        assert row.reason is not None, "only an end with a reason is taken back"
        self._counts.add(COUNTER_OF[row.state], -1)
        self._counts.add_reason(row.reason, -1)
        if row.state is State.FAILED:
            hosts.add(host_id(host), host, failed=-1)
        txn.dead.delete(key)
        state = move(row.state, State.PENDING)
        row = row._replace(state=state, reason=None, poisoned=0)
        self._enqueue(txn, key, row, hosts, host, cross_host=False)

    def _enqueue(
        self,
        txn: Txn,
        key: UrlKey,
        row: UrlRow,
        hosts: HostRows,
        host: str,
        *,
        cross_host: bool,
    ) -> None:
        health = hosts.row(txn, HostId(key[:6]), host)
        level = self._prioritizer.level(
            depth=row.depth,
            cross_host=cross_host,
            host_stored=health.stored,
            host_failed=health.failed,
            sitemap_priority=None,
        )
        txn.urls.put(key, row._replace(level=level))
        self._counts.add("pending")
        hosts.add(HostId(key[:6]), host, pending=1)
        self._frontier.append(txn, level, key)

    def _refuse(self, txn: Txn, key: UrlKey, row: UrlRow, reason: Reason) -> None:
        txn.urls.put(key, row)
        txn.dead.put(key, DeadRow(reason, 0, ""))
        self._counts.add("refused")
        self._counts.add_reason(reason, 1)

    def _host_budget(self, host: str, hosts: HostRows) -> Reason | None:
        if self._max_pages_per_host is None or not host:
            return None
        stored = hosts.stored(host_id(host))
        return Reason.HOST_BUDGET if stored >= self._max_pages_per_host else None

    # -- rules that change -----------------------------------------------------------------------------

    def extend_scope(self, txn: Txn, urls: Iterable[CanonicalUrl]) -> set[bytes]:
        """Seeds (or the ends of their redirects) are in scope from now on, durably.

        What is kept are the URLs, so that a later run may read them under another kind of scope.
        Gives where URLs may be that are admitted now: the ids of hosts, b"" for everywhere.
        """
        opened: set[str] = set()
        places: set[bytes] = set()
        for url in urls:
            entry = self.scope.entry_of(url)
            if entry is None or entry not in self.scope.entries:
                txn.meta.put(SCOPE_ROWS + url_key(url.key_url, url.host).hex(), list(url))
                if entry is not None:
                    opened.add(entry)
                    places.add(b"" if self.scope.kind == "domain" else host_id(url.host))
        if opened:
            self.scope = self.scope.with_entries(opened)
        return {b""} if b"" in places else places

    def rule_of(self, row: UrlRow, url: CanonicalUrl, hosts: HostRows) -> Reason | None:
        """The rule that refuses a row's URL today, for the path by which it was found; a nofollow
        stands as long as the setting that made it."""
        path = Path(row.parent, "", row.depth, row.hops, row.is_seed, row.seed_began)
        reason = self._refusal(url, path) or self._host_budget(url.host, hosts)
        if reason is None and row.reason is Reason.NOFOLLOW and self._obey_nofollow != "none":
            return Reason.NOFOLLOW
        return reason

    def nearer(self, links: Iterable[Found], path: Path) -> tuple[Found, ...]:
        """The links judged for a shorter path than the one they were offered with."""
        return tuple(
            found._replace(reason=None)
            if found.reason is Reason.TOO_DEEP and not too_deep(path.depth, self._max_depth)
            else found
            for found in links
        )
