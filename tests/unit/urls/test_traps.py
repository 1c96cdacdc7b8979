"""The hard bounds stop what grows without end, and leave real sites alone."""

from __future__ import annotations

import pytest

from mercator.urls.canonical import Canonicalizer
from mercator.urls.traps import broken_bound, too_deep
from mercator.values import CanonicalUrl, Reason


def _broken(rest: str) -> Reason | None:
    found = Canonicalizer("conservative").parse("http://site.example" + rest)
    assert isinstance(found, CanonicalUrl)
    return broken_bound(found)


def _segments(count: int) -> str:
    return "".join(f"/s{i}" for i in range(count))


def _parameters(count: int) -> str:
    return "/x?" + "&".join(f"p{i}=1" for i in range(count))


@pytest.mark.parametrize(
    "rest",
    [
        "/",
        "/page/12",
        _segments(20),
        _segments(20) + "/",
        _segments(20) + "?a=/1/2/3/4",
        _parameters(12),
        "/news/news/today.html",
        "/a/b/a/b/c",
        "/a/b/a/b/a",
        "/a/b/c/a/b/c/a/b",
        "/a/a/b/a/a",
        "/news/news/news.html",
        "/news/news/newspaper/",
        "/code/1/1/1/1",
        "/code/1/1/1/1/1",
        "/2011/11/11/11",
        "/v/1/2/1/2/1/2",
        "/src/app/src/main/app/ui/app/App",
        "//x",
        "/a//b//c//d",
        "/x?u=/a/a&v=/a",
        "/p?u=http://h/a/b/c",
    ],
)
def test_real_sites_are_not_cut(rest: str) -> None:
    assert _broken(rest) is None


@pytest.mark.parametrize(
    "rest",
    [
        _segments(21),
        _segments(21) + "/?a=1",
        "/news/news/news/today.html",
        "/x/news/news/news",
        "/a/b/a/b/a/b",
        "/a/b/a/b/a/b/?q",
        "/x/en/shop/view/en/shop/view/en/shop/view/index",
        "/code/1/1/1/1/1/1",
        "/1/2/1/2/1/2/1/2/1/2/1/2",
        "/v/1/x/1/x/1/x",
        "////news",
        "/a////b",
    ],
)
def test_paths_that_grow_are_cut(rest: str) -> None:
    assert _broken(rest) is Reason.PATH_TRAP


@pytest.mark.parametrize(
    "rest",
    [
        _parameters(13),
        "/login?next=/login?next=/login?next=/login?next=/login",
        "/x?u=/a/a/a",
        "/x?u=/a/b/a/b/a/b/",
    ],
)
def test_queries_that_grow_are_cut(rest: str) -> None:
    assert _broken(rest) is Reason.QUERY_TRAP


def test_the_key_is_judged_not_the_spelling() -> None:
    found = Canonicalizer("standard").parse(
        "http://site.example" + _parameters(12) + "&utm_id=1&gclid=2"
    )
    assert isinstance(found, CanonicalUrl)
    assert broken_bound(found) is None


@pytest.mark.parametrize(
    ("depth", "max_depth", "deep"),
    [(0, 0, False), (1, 0, True), (5, 5, False), (6, 5, True), (10**9, None, False)],
)
def test_depth(depth: int, max_depth: int | None, deep: bool) -> None:
    assert too_deep(depth, max_depth) is deep
