"""The URL-seen test: a URL is seen exactly when it has a row, also where two URLs share a key."""

from __future__ import annotations

import pytest

from mercator.config import CrawlConfig
from mercator.errors import StoreDamagedError
from mercator.ports import KeyTaken, Txn
from mercator.rows import Glance, UrlRow
from mercator.seen.url_seen import PROBES, Met, meet, meet_unkeyed
from mercator.store.memory_tables import MemoryTables
from mercator.testing import Answer
from mercator.urls.url_key import host_id, url_key
from mercator.values import FailureKind, FetchRequest, Reason, State, UrlKey
from tests.harness import Harness

HOST = "a.test"
URL = "http://a.test/page"
OTHER = "http://a.test/other"


def key_of(url: str, probe: int = 0) -> UrlKey:
    return url_key(url, HOST, probe)


def put(txn: Txn, key: UrlKey, url: str, state: State = State.PENDING, depth: int = 0) -> None:
    txn.urls.put(key, UrlRow(state, url, url, depth=depth))


def test_a_url_without_a_row_is_new_and_belongs_under_its_first_key() -> None:
    with MemoryTables().write() as txn:
        assert meet(txn, URL, HOST) == Met(key_of(URL), None)


def test_a_url_with_a_row_is_known_with_its_state_and_depth() -> None:
    with MemoryTables().write() as txn:
        put(txn, key_of(URL), URL, State.STORED, depth=3)
        assert meet(txn, URL, HOST) == Met(key_of(URL), Glance(State.STORED, None, 3))


def test_a_refused_url_is_known_with_its_reason() -> None:
    with MemoryTables().write() as txn:
        row = UrlRow(State.REFUSED, URL, URL, Reason.TOO_DEEP, depth=9)
        txn.urls.put(key_of(URL), row)
        assert meet(txn, URL, HOST).glance == Glance(State.REFUSED, Reason.TOO_DEEP, 9)


def test_looking_writes_nothing() -> None:
    with MemoryTables().write() as txn:
        meet(txn, URL, HOST)
        assert txn.urls.count() == 0


@pytest.mark.parametrize("taken", range(1, PROBES))
def test_a_url_whose_keys_are_taken_by_others_belongs_under_the_next_one(taken: int) -> None:
    with MemoryTables().write() as txn:
        for probe in range(taken):
            put(txn, key_of(URL, probe), f"{OTHER}/{probe}")
        assert meet(txn, URL, HOST) == Met(key_of(URL, taken), None)


@pytest.mark.parametrize("taken", range(1, PROBES))
def test_a_url_behind_others_is_known_again_there(taken: int) -> None:
    with MemoryTables().write() as txn:
        for probe in range(taken):
            put(txn, key_of(URL, probe), f"{OTHER}/{probe}")
        put(txn, key_of(URL, taken), URL, State.STORED)
        met = meet(txn, URL, HOST)
        assert met.key == key_of(URL, taken)
        assert met.glance is not None
        assert met.glance.state is State.STORED


def test_all_keys_of_a_url_are_of_its_host_and_different() -> None:
    keys = {key_of(URL, probe) for probe in range(PROBES)}
    assert len(keys) == PROBES
    assert {key[:6] for key in keys} == {host_id(HOST)}


def test_a_url_without_a_free_key_is_a_damage_that_names_it() -> None:
    with MemoryTables().write() as txn:
        for probe in range(PROBES):
            put(txn, key_of(URL, probe), f"{OTHER}/{probe}")
        with pytest.raises(StoreDamagedError, match=r"http://a\.test/page; run check"):
            meet(txn, URL, HOST)


def test_a_key_that_the_caller_has_is_not_made_again() -> None:
    """The key is on the hot path: a worker has made it already."""
    with MemoryTables().write() as txn:
        at_hand = UrlKey(b"k" * 16)
        assert meet(txn, URL, HOST, at_hand) == Met(at_hand, None)


def test_behind_a_key_that_the_caller_has_come_the_same_probes() -> None:
    with MemoryTables().write() as txn:
        put(txn, key_of(URL), OTHER)
        assert meet(txn, URL, HOST, key_of(URL)) == meet(txn, URL, HOST)
        assert meet(txn, URL, HOST).key == key_of(URL, 1)


def test_a_key_that_a_text_without_canonical_form_holds_is_taken() -> None:
    with MemoryTables().write() as txn:
        txn.urls.put(key_of(URL), UrlRow(State.REFUSED, "x", "", Reason.URL_TOO_LONG))
        assert meet(txn, URL, HOST) == Met(key_of(URL, 1), None)


# -- texts without a canonical form ----------------------------------------------------------------


def test_an_unkeyed_text_is_new_until_it_has_a_row() -> None:
    key = key_of("http://me@a.test/")
    with MemoryTables().write() as txn:
        assert meet_unkeyed(txn, key) == Met(key, None)
        row = UrlRow(State.REFUSED, "http://me@a.test/", "", Reason.INVALID_URL)
        txn.urls.put(key, row)
        assert meet_unkeyed(txn, key) == Met(key, Glance(State.REFUSED, Reason.INVALID_URL, 0))


def test_the_row_of_an_unkeyed_text_may_hold_a_part_of_it_only() -> None:
    text = "http://a.test/" + "x" * 10_000
    with MemoryTables().write() as txn:
        row = UrlRow(State.REFUSED, text[:8192], "", Reason.URL_TOO_LONG)
        txn.urls.put(key_of(text), row)
        assert meet_unkeyed(txn, key_of(text)).glance is not None
        assert meet_unkeyed(txn, key_of(text + "y")).glance is None


def test_a_row_with_a_canonical_form_is_never_taken_for_an_unkeyed_text() -> None:
    with MemoryTables().write() as txn:
        put(txn, key_of(URL), URL)
        with pytest.raises(KeyTaken):
            meet_unkeyed(txn, key_of(URL))


# -- in a crawl ------------------------------------------------------------------------------------


def test_a_page_whose_key_is_taken_is_crawled_once_all_the_same() -> None:
    def script(request: FetchRequest) -> Answer | FailureKind:
        if request.url.endswith("robots.txt"):
            return (404, {}, b"")
        return (200, {"Content-Type": "text/html"}, b"<a href=/page>x</a><a href=/>y</a>")

    h = Harness(script, CrawlConfig(threads=1))
    with h.tables.write() as txn:
        put(txn, key_of(URL), OTHER, State.STORED)
    h.seed("http://a.test/")
    assert h.run() == "finished"
    assert h.fetcher.urls().count(URL) == 1
    with h.tables.read() as txn:
        moved, other = txn.urls.get(key_of(URL, 1)), txn.urls.get(key_of(URL))
        assert txn.pages.get(key_of(URL, 1)) is not None
        links = txn.links.get(key_of("http://a.test/"))
    assert moved is not None
    assert (moved.url, moved.state) == (URL, State.STORED)
    assert other is not None
    assert other.url == OTHER
    assert links is not None
    assert key_of(URL, 1) in {link.target for link in links}
