"""The languages inside of attributes."""

from __future__ import annotations

import pytest

from mercator.content.attribute_values import refresh_target, rel_tokens, shown_text, srcset_urls


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/a", "/a"),
        ("0; URL = '/a' ignored", "/a"),
        ('0;url="/a', "/a"),
        ("0;'/a'b", "/a"),
        ("1.5.2,/a ", "/a "),
        (".;/a", "/a"),
        ("0 /a", "/a"),
        ("0;urn:x", "urn:x"),
        ("0;uri=/a", "uri=/a"),
        ("0;url/a", "url/a"),
        ("0;;/a", ";/a"),
        ("", ""),
        ("0", ""),
        ("0;", ""),
        ("0;url=", ""),
        ("0;url=''", ""),
        ("0/a", ""),
        ("-1;/a", ""),
        (";/a", ""),
        ("\u0661;/a", ""),
    ],
)
def test_refresh(content: str, target: str) -> None:
    assert refresh_target(content) == target


@pytest.mark.parametrize(
    ("srcset", "urls"),
    [
        ("/a 1x, /b 2x", ["/a", "/b"]),
        ("/a,/b 2x", ["/a,/b"]),
        ("/a, /b", ["/a", "/b"]),
        (",, /a,, ,/b", ["/a", "/b"]),
        ("/a (x, y) 1x , /b", ["/a", "/b"]),
        ("/a (x, /b", ["/a"]),
        ("data:,x 1x, /b", ["data:,x", "/b"]),
        (" ,\n", []),
        ("", []),
    ],
)
def test_srcset(srcset: str, urls: list[str]) -> None:
    assert srcset_urls(srcset) == urls


def test_srcset_is_bounded() -> None:
    assert len(srcset_urls("/a, " * 100_000)) == 100


@pytest.mark.parametrize(
    ("rel", "tokens"),
    [
        (None, ""),
        ("", ""),
        (" \n", ""),
        ("A b\tA", "a b"),
        ("nofollow,noopener", "nofollow,noopener"),
        ("x" * 5000, "x" * 1000),
    ],
)
def test_rel(rel: str | None, tokens: str) -> None:
    assert rel_tokens(rel) == tokens


def test_shown_text_is_collapsed_and_cut() -> None:
    assert shown_text(" a\n\xa0 b ", 10) == "a b"
    assert shown_text("ab cd", 3) == "ab"
    assert shown_text(" " * 10**6 + "x" * 300, 200) == "x" * 200
    assert shown_text("x" + " " * 10**6 + "y", 200) == "x"
