"""What became of one URL, and why: the answer to "why was this page not crawled?"."""

from __future__ import annotations

from collections.abc import Sequence

from mercator.politeness.origin import origin_of
from mercator.politeness.robots_rules import RobotsRules
from mercator.ports import Tables
from mercator.records import Explanation
from mercator.report.lookup import find
from mercator.report.reading import KeyUrls, elsewhere
from mercator.report.story import story, when
from mercator.rows import RobotsRow
from mercator.urls.canonical import Canonicalizer
from mercator.urls.scope import Scope
from mercator.urls.traps import broken_bound
from mercator.values import CanonicalUrl, Reason, RefusedUrl, State

STATE_WORDS = {
    State.PENDING: "pending",
    State.STORED: "stored",
    State.REDIRECTED: "redirected",
    State.GONE: "gone",
    State.FAILED: "failed",
    State.ROBOTS_REFUSED: "robots_refused",
    State.REFUSED: "refused",
}
UNKNOWN = "unknown"
LINES = 10
"""A story is never longer."""


def explain(
    stores: Sequence[Tables],
    text: str,
    *,
    canonicalizer: Canonicalizer,
    scope: Scope,
    user_agent: str,
    now: float,
) -> Explanation:
    """The state, the reason and the story of a URL in any spelling; `now` is Unix time.

    A URL that no store has seen, and text that is no URL at all, have state "unknown" and the
    reason that scope, bounds and robots.txt would give it now (None: it would be asked for). A URL
    on lease counts as pending. Costs a few look-ups; nothing is scanned but a bounded part of one
    host's back queue.
    """
    url = canonicalizer.parse(text)
    if url is None:
        would = "be dropped: it is no URL"
        return _unknown(text, None, Reason.INVALID_URL, would)
    for tables in stores:
        with tables.read() as txn:
            found = find(txn, url)
            if found is None:
                continue
            key, row = found
            lines = story(txn, key, row, KeyUrls(elsewhere(stores, tables)), now)
            # A pending URL may still carry the reason of an earlier run: it is not in force.
            reason = row.reason.value if row.reason and row.state != State.PENDING else None
            return Explanation(
                row.url, row.key_url or None, STATE_WORDS[row.state], reason, _lines(lines)
            )
    if isinstance(url, RefusedUrl):
        return _unknown(url.url, None, url.reason, f"be refused: {url.reason}")
    return _judged(stores, url, scope, user_agent)


def _judged(
    stores: Sequence[Tables], url: CanonicalUrl, scope: Scope, user_agent: str
) -> Explanation:
    """What the rules say of a URL that is in no store, in the order in which a URL meets them."""
    reason = broken_bound(url) if scope.admits(url) else Reason.OUT_OF_SCOPE
    if reason is not None:
        would = f"be refused: {reason}"
    else:
        robots = _robots(stores, origin_of(url.url))
        if robots is None:
            would = "be asked for, once its robots.txt has been read and allows it"
        elif robots.verdict == "unknown":
            would = "wait, because its robots.txt is not known"
        elif robots.verdict == "rules" and not RobotsRules.parse(robots.body, user_agent).allows(
            url.url
        ):
            reason = Reason.ROBOTS_REFUSED
            would = f"be refused by the robots.txt of {when(robots.body_at)}"
        else:
            would = "be asked for"
    return _unknown(url.url, url.key_url, reason, would)


def _unknown(url: str, key_url: str | None, reason: Reason | None, would: str) -> Explanation:
    story = (
        f"never seen: no page that was read links to {key_url or url}, and it was no seed",
        f"if it were found now it would {would}",
    )
    return Explanation(url, key_url, UNKNOWN, reason.value if reason else None, _lines(story))


def _lines(story: Sequence[str]) -> tuple[str, ...]:
    """At most `LINES`, each on one line whatever a server's error or a person's text holds."""
    return tuple(" ".join(line.split()) for line in story[:LINES])


def _robots(stores: Sequence[Tables], origin: str) -> RobotsRow | None:
    for tables in stores:
        with tables.read() as txn:
            row = txn.robots.get(origin)
        if row is not None:
            # A host is in one store, so the first row is the only one.
            return row
    return None
