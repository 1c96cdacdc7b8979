from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testsite.hosts import (
    KINDS,
    MAX_NUMBER,
    NORMAL,
    host_index,
    host_kind,
    host_name,
    may_fetch,
    rules_of,
)


@given(
    hosts=st.integers(1, 2000),
    index=st.integers(0, 1999 + len(KINDS) * MAX_NUMBER),
)
def test_every_index_has_a_name_that_leads_back(hosts: int, index: int) -> None:
    index = min(index, hosts + len(KINDS) * (MAX_NUMBER + 1) - 1)
    name = host_name(index, hosts)
    assert host_index(name, hosts) == index
    assert host_kind(name) == (NORMAL if index < hosts else KINDS[(index - hosts) % len(KINDS)])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "test",
        "h0003.test",
        "h00001.test",
        "h1.test",
        "h0000.example",
        "dead-.test",
        "dead-100.test",
        "alive.test",
        "h0000.test.",
        "x.h0000.test",
        "status.test",
    ],
)
def test_other_names_have_no_index(name: str) -> None:
    assert host_index(name, 3) is None


def test_kinds_keep_the_indexes_that_their_pages_are_made_from() -> None:
    assert [host_index(f"{kind}.test", 10) for kind in KINDS] == list(range(10, 10 + len(KINDS)))
    assert KINDS[:9] == (
        "robots503",
        "robots404",
        "robotshang",
        "robotsreset",
        "robotsdelay",
        "robotsredirect",
        "robotsloop",
        "robotsclosed",
        "dead",
    )


def test_a_loopback_address_is_the_first_host() -> None:
    assert host_index("127.0.0.1", 3) == 0
    assert host_index("localhost", 3) == 0


@pytest.mark.parametrize("name", ["robots503.test", "robotshang-3.test", "robotsreset.test"])
def test_unknown_robots_leave_nothing_but_robots_itself(name: str) -> None:
    assert may_fetch(name, "/robots.txt")
    assert not may_fetch(name, "/")
    assert not may_fetch(name, "/page/1")


@pytest.mark.parametrize(
    ("name", "page", "private"),
    [
        ("h0000.test", True, False),
        ("robots404.test", True, True),
        ("robotsloop.test", True, True),
        ("robotsredirect.test", True, False),
        ("robotsdelay.test", True, False),
        ("robotsclosed.test", False, False),
        ("dead.test", False, False),
        ("tlswrong.test", True, False),
        ("other.test", True, False),
    ],
)
def test_rules_by_kind(name: str, page: bool, private: bool) -> None:
    assert may_fetch(name, "/page/1") is page
    assert may_fetch(name, "/private/1") is private
    assert may_fetch(name, "/robots-loop.txt")


def test_crawl_delay_holds_for_its_host_only() -> None:
    assert rules_of("robotsdelay-4.test").crawl_delay_s == 2.0
    assert rules_of("h0000.test").crawl_delay_s == 0.0
