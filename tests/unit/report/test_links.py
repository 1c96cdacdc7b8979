"""The table of links."""

from __future__ import annotations

from mercator.report.links import links
from mercator.rows import LinkRow
from mercator.values import NO_KEY, Reason
from tests.unit.report.conftest import WatchedTables, put_failure, put_page, put_url


def test_every_link_of_a_page_in_document_order(tables: WatchedTables) -> None:
    with tables.write() as txn:
        source = put_page(txn, "http://h.test/")
        target = put_url(txn, "http://h.test/B", key_url="http://h.test/b")
        unkeyed = put_failure(txn, "http://me@h.test/", Reason.INVALID_URL, key_url="")
        txn.links.put(
            source,
            (
                LinkRow(target, "", "a", "nofollow", "to b"),
                LinkRow(NO_KEY, "http://h.test/i.png", "img", "", ""),
                LinkRow(unkeyed, "", "a", "", "to me"),
                LinkRow(source, "", "a", "", ""),
            ),
        )
    got = [(link.source, link.target, link.kind, link.rel, link.anchor) for link in links([tables])]
    assert got == [
        ("http://h.test/", "http://h.test/b", "a", "nofollow", "to b"),
        ("http://h.test/", "http://h.test/i.png", "img", None, None),
        ("http://h.test/", None, "a", None, "to me"),
        ("http://h.test/", "http://h.test/", "a", None, None),
    ]


def test_a_target_may_lie_in_another_store(tables: WatchedTables) -> None:
    other = WatchedTables()
    with other.write() as txn:
        target = put_url(txn, "http://other.test/")
    with tables.write() as txn:
        source = put_page(txn, "http://h.test/")
        txn.links.put(source, (LinkRow(target, "", "redirect", "", ""),))
    assert [link.target for link in links([tables, other])] == ["http://other.test/"]


def test_a_page_of_many_links_does_not_hold_a_transaction(tables: WatchedTables) -> None:
    with tables.write() as txn:
        target = put_url(txn, "http://h.test/t")
        for number in range(3):
            source = put_page(txn, f"http://h.test/{number}")
            txn.links.put(source, (LinkRow(target, "", "a", "", ""),) * 1000)
    count = 0
    for _ in links([tables]):
        assert tables.open_reads == 0
        count += 1
    assert count == 3000
    assert tables.reads >= 3
