"""The lines that tell a URL's way: found, asked, decided, waiting, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice

from mercator.politeness.origin import origin_of
from mercator.ports import Txn
from mercator.report.hosts import robots_at
from mercator.report.reading import KeyUrls
from mercator.rows import HostRow, UrlRow
from mercator.urls.url_key import HOST_ID_BYTES
from mercator.values import HostId, Reason, State, UrlKey

LOOKED_THROUGH = 1000
"""Entries of a back queue that are looked through for a URL's place."""

CHANGES: dict[Reason, str] = {
    Reason.INVALID_URL: "nothing: a URL with a user name in it is never asked for",
    Reason.UNSUPPORTED_SCHEME: "nothing: only http and https are crawled",
    Reason.URL_TOO_LONG: "nothing: 2083 bytes are the longest URL that is asked for",
    Reason.PATH_TRAP: "nothing: the bounds on a path are fixed",
    Reason.QUERY_TRAP: "nothing: the bound on query parameters is fixed",
    Reason.TEMPLATE_PARKED: "new content under other URLs of its template",
    Reason.OUT_OF_SCOPE: "a later run with it as a seed, a wider --scope, or --include/--exclude "
    "that admit it",
    Reason.TOO_DEEP: "a shorter path to it, or a later run with a larger --max-depth or with it as "
    "a seed",
    Reason.HOST_BUDGET: "a later run with a larger --max-pages-per-host",
    Reason.DOMAIN_BUDGET: "a later run with a larger budget for its domain",
    Reason.PREFIX_BUDGET: "a later run with a larger budget for its prefix",
    Reason.NOFOLLOW: "a link to it that may be followed, or a later run with it as a seed or with "
    "--obey-nofollow none",
    Reason.ROBOTS_REFUSED: "a robots.txt that allows it, then: retry --reason robots_refused",
    Reason.TYPE_NOT_WANTED: "a later run with wider --content-types, after: retry --reason "
    "type_not_wanted",
    Reason.ADDRESS_REFUSED: "a later run with --allow-net, after: retry --reason address_refused",
    Reason.TOO_MANY_REDIRECTS: "a later run with a larger --max-redirects, after: retry --reason "
    "too_many_redirects",
}
"""What would change a refusal; for every other reason it is another chance by `retry`."""


def when(unix_s: float) -> str:
    """A moment for people: UTC, to the second."""
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


def story(txn: Txn, key: UrlKey, row: UrlRow, key_urls: KeyUrls, now: float) -> list[str]:
    """At most ten lines: verdict, key, origin, attempts, what it waits for, what would help."""
    lines = [_verdict(txn, key, row, key_urls)]
    if row.key_url and row.key_url != row.url:
        lines.append(f"asked for as {row.url}, known by its canonical key {row.key_url}")
    lines.append(_origin(txn, row, key_urls))
    lines.extend(_attempts(txn, key, row))
    if row.state == State.STORED:
        lines.extend(_copy(txn, key, key_urls))
    elif row.state == State.PENDING:
        lines.extend(_waiting(txn, key, row, now))
    elif row.state == State.ROBOTS_REFUSED:
        lines.extend(_robots(txn, row.url))
    if row.reason is not None and row.state not in (State.PENDING, State.STORED):
        change = CHANGES.get(row.reason, f"another chance: retry --reason {row.reason}")
        lines.append(f"what would change it: {change}")
    return lines


def _verdict(txn: Txn, key: UrlKey, row: UrlRow, key_urls: KeyUrls) -> str:
    if row.state == State.PENDING:
        return "pending: admitted, and not yet decided"
    if row.state == State.REDIRECTED:
        status = f" with {row.status}" if row.status else ""
        target = key_urls.of(txn, row.target) or "a URL that has no key"
        return f"redirected: it answered{status} and points to {target}"
    if row.state == State.STORED:
        page = txn.pages.get(key)
        if page is None:
            return "stored, but its page record is missing; run check --repair"
        return (
            f"stored on {when(page.fetched_at)}: status {page.status}, "
            f"{page.content_type or 'no type given'}, {page.body_bytes} bytes"
            f"{', cut at the limit' if page.truncated else ''}"
        )
    words = {
        State.GONE: "gone",
        State.FAILED: "failed",
        State.ROBOTS_REFUSED: "refused by robots.txt",
        State.REFUSED: "refused before any request",
    }
    return f"{words[row.state]}: {row.reason or 'no reason recorded'}"


def _origin(txn: Txn, row: UrlRow, key_urls: KeyUrls) -> str:
    at = f" on {when(row.found_at)}" if row.found_at else ""
    if row.is_seed:
        return f"found{at}: it is a seed"
    source = key_urls.of(txn, row.parent) or "a URL that is not in this store"
    if row.hops:
        return f"found{at}: {source} redirects to it (hop {row.hops}, depth {row.depth})"
    return f"found{at}: {source} links to it (depth {row.depth})"


def _attempts(txn: Txn, key: UrlKey, row: UrlRow) -> Iterator[str]:
    if row.attempts:
        times = "once" if row.attempts == 1 else f"{row.attempts} times"
        last = f", last on {when(row.last_at)}" if row.last_at else ""
        status = f", last status {row.status}" if row.status else ""
        yield f"asked for {times}{last}{status}"
    dead = txn.dead.get(key)
    if dead is not None and dead.error:
        yield f"what was reported: {dead.error}"


def _copy(txn: Txn, key: UrlKey, key_urls: KeyUrls) -> Iterator[str]:
    page = txn.pages.get(key)
    if page is None:
        return
    if page.duplicate_of:
        yield f"its body equals that of {key_urls.of(txn, page.duplicate_of)}"
    elif page.near_duplicate_of:
        yield (
            f"its text is close to that of {key_urls.of(txn, page.near_duplicate_of)} "
            f"({page.near_distance} of 64 bits differ)"
        )


def _waiting(txn: Txn, key: UrlKey, row: UrlRow, now: float) -> Iterator[str]:
    yield _place(txn, key, row, now)
    host = txn.hosts.get(HostId(key[:HOST_ID_BYTES]))
    if host is not None:
        yield from _clock(host, now)
    yield from _robots(txn, row.url)
    run = txn.meta.get("run")
    stop_reason = run.get("stop_reason") if isinstance(run, Mapping) else None
    if stop_reason:
        yield f"the last run ended ({stop_reason}); crawl --store DIR goes on with it"


def _place(txn: Txn, key: UrlKey, row: UrlRow, now: float) -> str:
    if row.due_at > now:
        return f"it waits in the delayed queue until {when(row.due_at)}"
    host_id = HostId(key[:HOST_ID_BYTES])
    if txn.pins.get(host_id) is not None:
        waiting = islice(txn.back.scan(prefix=host_id), LOOKED_THROUGH)
        for place, (_, waiting_key) in enumerate(waiting, start=1):
            if waiting_key == key:
                return f"it is number {place} in the back queue of its host"
    return f"it waits in the front queue of level {row.level}"


def _clock(host: HostRow, now: float) -> Iterator[str]:
    if host.blocked_until > max(now, host.due_at):
        why = f": {host.block_reason}" if host.block_reason else ""
        yield f"{host.host} may not be asked until {when(host.blocked_until)}{why}"
    elif host.due_at > now:
        why = f", gap {host.gap_s:g} s: {host.gap_reason}" if host.gap_reason else ""
        yield f"{host.host} may be asked again at {when(host.due_at)}{why}"
    if host.unreachable:
        times = "once" if host.unreachable == 1 else f"{host.unreachable} times in a row"
        kind = f" ({host.unreachable_kind})" if host.unreachable_kind else ""
        yield (
            f"{host.host} could not be reached {times}{kind}, since {when(host.unreachable_since)}"
        )


def _robots(txn: Txn, url: str) -> Iterator[str]:
    row = txn.robots.get(origin_of(url))
    if row is None:
        return
    if row.verdict == "unknown":
        why = f"status {row.status}" if row.status else row.error or "no answer"
        yield f"its robots.txt is unknown ({why}); asked again at {when(row.ask_again_at)}"
    else:
        yield f"the robots.txt in force ({row.verdict}) is of {when(robots_at(row))}"
