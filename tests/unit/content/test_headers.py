"""Link, Refresh and robots' fields."""

from __future__ import annotations

import pytest

from mercator.content.headers import HeaderLink, parse_link_field, read_headers
from mercator.content.robots_meta import RobotsFlags, robots_flags
from mercator.values import RawLink


@pytest.mark.parametrize(
    ("field", "links"),
    [
        ("</a>; rel=next", [HeaderLink("/a", "next", False)]),
        ("< /a >;rel=\"Next  PREV\"", [HeaderLink("/a", "next prev", False)]),
        ("</a,b;c>; title=\"x, y; \\\"z\"; rel=next", [HeaderLink("/a,b;c", "next", False)]),
        (
            "</a>; rel=next, </b>;rel=prev",
            [HeaderLink("/a", "next", False), HeaderLink("/b", "prev", False)],
        ),
        (", ,</a>;;rel=next;,", [HeaderLink("/a", "next", False)]),
        ("</a>; rel=\"ne\\xt\"", [HeaderLink("/a", "next", False)]),
        ("</a>; rel; rel=next", [HeaderLink("/a", "", False)]),
        ("</a>; rel=next; anchor=\"\"", [HeaderLink("/a", "next", True)]),
        ("</a>; rel=\"next", [HeaderLink("/a", "next", False)]),
        ("</a> junk, </b>; rel=next", [HeaderLink("/a", "", False), HeaderLink("/b", "next", False)]),
        ("/a; rel=next", []),
        ("</a", []),
        ("", []),
    ],
)  # fmt: skip
def test_link_fields(field: str, links: list[HeaderLink]) -> None:
    assert parse_link_field(field) == links


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "field",
    ["<a>;" * 10**6, "<" * 10**6, '<a>;rel="' + "\\a" * 10**6, "," * 10**6, "<a>,<b>," * 10**5],
)
def test_link_fields_are_bounded(field: str) -> None:
    assert len(parse_link_field(field)) <= 500
    assert len(read_headers([("Link", field)] * 10).links) <= 500


def test_fields_to_links() -> None:
    found = read_headers(
        [
            ("LINK", "</a>; rel=next, </a>; rel=next, </b>; rel=preload, </c>; rel=canonical"),
            ("Link", "</d>; rel=\"alternate stylesheet\", </e>; rel=sitemap; anchor=x"),
            ("refresh", "0;url=/r"),
            ("Refresh", "9"),
            ("X-Link", "</no>; rel=next"),
        ]
    )  # fmt: skip
    assert found.links == [
        RawLink("/a", "header", "next", ""),
        RawLink("/c", "header", "canonical", ""),
        RawLink("/r", "header-refresh", "", ""),
    ]
    assert found.canonicals == ["/c"]


def test_rules_are_bounded() -> None:
    field = "otherbot: nofollow, " * 100_000 + "mercator: noindex"
    assert robots_flags((), [("X-Robots-Tag", field)], "mercator") == RobotsFlags()
    assert robots_flags((), [("X-Robots-Tag", "noindex," + field)], "mercator").noindex
