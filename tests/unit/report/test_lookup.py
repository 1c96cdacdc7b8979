"""From a URL to its row, across stores and past a key that another URL holds."""

from __future__ import annotations

import pytest

from mercator.report.lookup import find, find_page
from mercator.rows import UrlRow
from mercator.urls.canonical import Canonicalizer
from mercator.urls.url_key import url_key
from mercator.values import CanonicalUrl, RefusedUrl, State
from tests.unit.report.conftest import PAGE, WatchedTables, key_of, put_page, put_url

URL = CanonicalUrl("http://h.test/A", "http://h.test/a", "h.test")


def test_a_url_is_found_under_its_key(tables: WatchedTables) -> None:
    with tables.write() as txn:
        put_url(txn, "http://h.test/Another", key_url="http://h.test/a")
    with tables.read() as txn:
        found = find(txn, URL)
        assert found is not None
        assert found[1].url == "http://h.test/Another"
        assert find(txn, URL._replace(key_url="http://h.test/b")) is None


def test_a_url_whose_first_key_is_anothers_is_found_under_the_next(tables: WatchedTables) -> None:
    with tables.write() as txn:
        key = put_url(txn, "http://h.test/A", key_url="http://h.test/a")
        row = txn.urls.get(key)
        assert row is not None
        txn.urls.put(key_of("http://h.test/a", probe=1), row)
        txn.urls.put(key, row._replace(url="http://h.test/other", key_url="http://h.test/other"))
        txn.pages.put(key, PAGE._replace(title="other"))
        txn.pages.put(key_of("http://h.test/a", probe=1), PAGE._replace(title="ours"))
    with tables.read() as txn:
        found = find(txn, URL)
        assert found is not None
        assert found[0] == key_of("http://h.test/a", probe=1)
    page = find_page([tables], URL)
    assert page is not None
    assert page.title == "ours"


@pytest.mark.parametrize(
    "text", ["http://me@h.test/", "http://h.test/" + "x" * 2100, "http://h.test/" + "x" * 20_000]
)
def test_a_url_without_a_key_is_found_under_its_spelling(tables: WatchedTables, text: str) -> None:
    url = Canonicalizer().parse(text)
    assert isinstance(url, RefusedUrl)
    kept = url.url[:8192]
    row = UrlRow(State.REFUSED, url=kept, key_url="", reason=url.reason)
    with tables.write() as txn:
        txn.urls.put(url_key(url.url, url.host), row)
    with tables.read() as txn:
        found = find(txn, url)
    assert found is not None
    assert found[1].url == kept


def test_a_page_is_found_in_whichever_store(tables: WatchedTables) -> None:
    other = WatchedTables()
    with other.write() as txn:
        put_page(txn, "http://h.test/a", title="there")
    page = find_page([tables, other], URL)
    assert page is not None
    assert page.title == "there"
    assert find_page([tables], URL) is None
