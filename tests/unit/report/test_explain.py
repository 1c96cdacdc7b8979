"""What became of a URL: state, reason and a story of at most ten lines, for every state."""

from __future__ import annotations

from typing import Any

import pytest

from mercator.records import Explanation
from mercator.report.explain import LINES, STATE_WORDS, explain
from mercator.report.story import CHANGES
from mercator.rows import QueueKey, RobotsRow
from mercator.urls.canonical import Canonicalizer
from mercator.urls.scope import Scope
from mercator.urls.url_key import host_id
from mercator.values import STATE_OF_REASON, FailureKind, Reason, State
from tests.unit.report.conftest import (
    NOW,
    WatchedTables,
    put_failure,
    put_host,
    put_page,
    put_url,
)

SCOPE = Scope("host", frozenset(["host:h.test"]))
URL = "http://h.test/a"


def ask(*stores: WatchedTables, url: str = URL) -> Explanation:
    explanation = explain(
        stores,
        url,
        canonicalizer=Canonicalizer(),
        scope=SCOPE,
        user_agent="mercator",
        now=NOW,
    )
    assert 0 < len(explanation.story) <= LINES
    assert all(line and "\n" not in line for line in explanation.story)
    return explanation


def robots(verdict: str, body: bytes = b"", **fields: Any) -> RobotsRow:
    return RobotsRow(verdict, body, NOW - 600, NOW - 600, NOW + 60)._replace(**fields)


def test_every_state_has_a_word_and_no_word_comes_twice() -> None:
    assert set(STATE_WORDS) == set(State)
    assert len(set(STATE_WORDS.values())) == len(State)


def test_any_spelling_of_a_url_finds_it(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_page(txn, URL)
    for url in (URL, "HTTP://H.test:80/a#part", " http://h.test/./a?utm_source=x "):
        assert ask(tables, url=url).key_url == URL


def test_a_stored_page(tables: WatchedTables) -> None:
    with tables.write() as txn:
        first = put_page(txn, "http://h.test/first")
        put_page(txn, URL, duplicate_of=first, truncated=True)
    found = ask(tables)
    assert (found.url, found.key_url, found.state, found.reason) == (URL, URL, "stored", None)
    assert found.story == (
        "stored on 2027-01-15 08:00:00 UTC: status 200, text/html, 5 bytes, cut at the limit",
        "found on 2027-01-15 07:59:00 UTC: a URL that is not in this store links to it (depth 0)",
        "asked for once, last on 2027-01-15 08:00:00 UTC, last status 200",
        "its body equals that of http://h.test/first",
    )


def test_a_near_copy(tables: WatchedTables) -> None:
    with tables.write() as txn:
        first = put_page(txn, "http://h.test/first")
        put_page(txn, URL, near_duplicate_of=first, near_distance=3)
    assert "its text is close to that of http://h.test/first (3 of 64 bits differ)" in (
        ask(tables).story
    )


def test_a_spelling_that_differs_from_its_key_is_told(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_url(txn, "http://h.test/a?utm_source=x", key_url=URL, is_seed=True)
    found = ask(tables)
    assert found.url == "http://h.test/a?utm_source=x"
    assert f"asked for as {found.url}, known by its canonical key {URL}" in found.story
    assert "found on 2027-01-15 07:59:00 UTC: it is a seed" in found.story


def test_a_redirect_names_where_it_points_and_what_pointed_to_it(tables: WatchedTables) -> None:
    with tables.write() as txn:
        target = put_url(txn, "http://h.test/b", State.PENDING)
        source = put_page(txn, "http://h.test/")
        put_url(
            txn, URL, State.REDIRECTED, target=target, parent=source, hops=2, depth=1, status=301
        )
    found = ask(tables)
    assert (found.state, found.reason) == ("redirected", None)
    assert found.story[0] == "redirected: it answered with 301 and points to http://h.test/b"
    assert found.story[1].endswith("http://h.test/ redirects to it (hop 2, depth 1)")


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_told_with_what_would_change_it(
    tables: WatchedTables, reason: Reason
) -> None:
    with tables.write() as txn:
        put_failure(txn, URL, reason, attempts=2, last_at=NOW, error="it\r\nbroke")
    found = ask(tables)
    assert found.state == STATE_WORDS[STATE_OF_REASON[reason]]
    assert found.reason == reason.value
    assert type(found.as_dict()["reason"]) is str
    assert found.story[0].endswith(f": {reason}")
    assert "what was reported: it broke" in found.story
    last = found.story[-1]
    assert last.startswith("what would change it: ")
    assert reason in CHANGES or last.endswith(f"retry --reason {reason}")


def test_a_refusal_by_robots_names_the_copy(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_failure(txn, URL, Reason.ROBOTS_REFUSED)
        txn.robots.put("http://h.test", robots("rules"))
    assert "the robots.txt in force (rules) is of 2027-01-15 07:50:00 UTC" in ask(tables).story


def test_a_pending_url_has_no_reason(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_url(txn, URL, reason=Reason.TIMEOUT, level=3)
    found = ask(tables)
    assert (found.state, found.reason) == ("pending", None)
    assert "it waits in the front queue of level 3" in found.story


def test_a_url_in_its_hosts_back_queue_has_its_place(tables: WatchedTables) -> None:
    with tables.write() as txn:
        keys = [put_url(txn, f"http://h.test/{number}") for number in range(3)]
        keys.append(put_url(txn, URL))
        for sequence, key in enumerate(keys):
            txn.back.put(QueueKey(host_id("h.test"), sequence), key)
        txn.pins.put(host_id("h.test"), b"")
    assert "it is number 4 in the back queue of its host" in ask(tables).story


def test_a_delayed_url_tells_until_when(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_url(txn, URL, due_at=NOW + 60, attempts=1, status=503, last_at=NOW - 1)
    story = ask(tables).story
    assert "it waits in the delayed queue until 2027-01-15 08:01:00 UTC" in story
    assert "asked for once, last on 2027-01-15 07:59:59 UTC, last status 503" in story


@pytest.mark.parametrize(
    ("host", "line"),
    [
        (
            {"due_at": NOW + 5, "gap_s": 5.0, "gap_reason": "crawl-delay"},
            "h.test may be asked again at 2027-01-15 08:00:05 UTC, gap 5 s: crawl-delay",
        ),
        (
            {"due_at": NOW + 5, "blocked_until": NOW + 1800, "block_reason": "Retry-After"},
            "h.test may not be asked until 2027-01-15 08:30:00 UTC: Retry-After",
        ),
        (
            {
                "unreachable": 2,
                "unreachable_since": NOW - 60,
                "unreachable_kind": FailureKind.CONNECT_TIMEOUT,
            },
            "h.test could not be reached 2 times in a row (connect_timeout), since "
            "2027-01-15 07:59:00 UTC",
        ),
    ],
)
def test_a_pending_url_tells_what_its_host_waits_for(
    tables: WatchedTables, host: dict[str, Any], line: str
) -> None:
    with tables.write() as txn:
        put_url(txn, URL)
        put_host(txn, "h.test", **host)
    assert line in ask(tables).story


def test_a_host_that_may_be_asked_now_is_not_worth_a_line(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_url(txn, URL)
        put_host(txn, "h.test", due_at=NOW - 1, blocked_until=NOW - 1)
    assert not any("may" in line for line in ask(tables).story)


def test_a_pending_url_tells_that_robots_is_unknown_and_how_the_run_ended(
    tables: WatchedTables,
) -> None:
    with tables.write() as txn:
        put_url(txn, URL)
        txn.robots.put("http://h.test", robots("unknown", status=503))
        txn.meta.put("run", {"stop_reason": "patience"})
    story = ask(tables).story
    assert "its robots.txt is unknown (status 503); asked again at 2027-01-15 08:01:00 UTC" in story
    assert any("the last run ended (patience)" in line for line in story)


def test_the_longest_story_keeps_its_bound(tables: WatchedTables) -> None:
    with tables.write() as txn:
        key = put_url(
            txn,
            "http://h.test/a?utm_source=x",
            key_url=URL,
            attempts=2,
            status=503,
            last_at=NOW,
            due_at=NOW + 9,
        )
        put_host(txn, "h.test", due_at=NOW + 9, unreachable=1, unreachable_since=NOW)
        txn.robots.put("http://h.test", robots("unknown"))
        txn.meta.put("run", {"stop_reason": "patience"})
        txn.pins.put(host_id("h.test"), b"")
        txn.back.put(QueueKey(host_id("h.test"), 1), key)
    assert len(ask(tables).story) <= LINES


@pytest.mark.parametrize(
    ("url", "reason", "would"),
    [
        ("http://h.test/new", None, "be asked for, once its robots.txt has been read"),
        ("http://other.test/", "out_of_scope", "be refused: out_of_scope"),
        ("http://h.test" + "/a" * 21, "path_trap", "be refused: path_trap"),
        ("http://h.test/?" + "&".join(f"a{n}=1" for n in range(13)), "query_trap", "query_trap"),
    ],
)
def test_an_unknown_url_has_the_reason_that_the_rules_would_give(
    tables: WatchedTables, url: str, reason: str | None, would: str
) -> None:
    found = ask(tables, url=url)
    assert (found.state, found.reason) == ("unknown", reason)
    assert found.key_url == Canonicalizer().parse(url)[1]  # type: ignore[index]
    assert found.story[0].startswith("never seen")
    assert would in found.story[1]


@pytest.mark.parametrize(
    ("row", "reason", "would"),
    [
        (robots("rules", b"User-agent: *\nDisallow: /a"), "robots_refused", "07:50:00 UTC"),
        (robots("rules", b"User-agent: mercator\nDisallow: /a"), "robots_refused", "robots.txt"),
        (robots("rules", b"User-agent: *\nDisallow: /b"), None, "be asked for"),
        (robots("none"), None, "be asked for"),
        (robots("unknown"), None, "wait, because its robots.txt is not known"),
    ],
)
def test_an_unknown_url_is_judged_by_the_robots_copy_of_its_origin(
    tables: WatchedTables, row: RobotsRow, reason: str | None, would: str
) -> None:
    other = WatchedTables()
    with other.write() as txn:
        txn.robots.put("http://h.test", row)
        txn.robots.put("https://h.test", robots("rules", b"User-agent: *\nDisallow: /"))
    found = ask(tables, other)
    assert (found.state, found.reason) == ("unknown", reason)
    assert would in found.story[1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not a url", "invalid_url"),
        ("not\na\nurl", "invalid_url"),
        ("", "invalid_url"),
        ("h.test/a", "invalid_url"),
        ("http://me:pw@h.test/", "invalid_url"),
        ("http://h.test/" + "x" * 3000, "url_too_long"),
        ("mailto:me@h.test", "unsupported_scheme"),
    ],
)
def test_text_that_can_never_be_crawled(tables: WatchedTables, text: str, reason: str) -> None:
    found = ask(tables, url=text)
    assert (found.key_url, found.state, found.reason) == (None, "unknown", reason)


def test_a_url_is_found_in_whichever_store(tables: WatchedTables) -> None:
    other = WatchedTables()
    with other.write() as txn:
        target = put_url(txn, "http://h.test/b")
    with tables.write() as txn:
        put_url(txn, URL, State.REDIRECTED, target=target)
    assert ask(tables, other).story[0].endswith("points to http://h.test/b")
    assert ask(other, tables, url="http://h.test/b").state == "pending"
