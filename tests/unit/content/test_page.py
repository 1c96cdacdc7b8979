"""`parse_page`: which parser, which encoding, which base, and what is left where there is none."""

from __future__ import annotations

import pytest

from mercator.content.page import parse_page
from mercator.values import ParsedPage, RawLink

URL = "https://site.test/a/b"


def parsed(body: bytes, content_type: str | None = "text/html", **given: object) -> ParsedPage:
    arguments: dict[str, object] = {
        "url": URL,
        "content_type": content_type,
        "headers": (),
        "user_agent": "mercator",
        "max_links": 100,
    }
    return parse_page(body, **(arguments | given))  # type: ignore[arg-type]


def test_a_type_that_is_no_text_has_only_its_fields() -> None:
    page = parsed(
        b"%PDF <a href=x>",
        "application/pdf",
        headers=[("Link", "<c>; rel=canonical"), ("X-Robots-Tag", "none"), ("Refresh", "1;url=r")],
    )
    assert page == ParsedPage(
        encoding="",
        encoding_from="",
        base_url=URL,
        title=None,
        links=(RawLink("c", "header", "canonical", ""), RawLink("r", "header-refresh", "", "")),
        canonical="https://site.test/a/c",
        noindex=True,
        nofollow=True,
    )


@pytest.mark.parametrize(
    ("content_type", "encoding"),
    [
        ("text/plain; charset=koi8-r", ("KOI8-R", "header")),
        ("application/json", ("windows-1252", "default")),
        ("application/rss+xml", ("UTF-8", "xml")),
        ("image/png", ("", "")),
        ("application/octet-stream; charset=utf-8", ("", "")),
    ],
)
def test_other_types_have_an_encoding_if_they_are_text(
    content_type: str, encoding: tuple[str, str]
) -> None:
    page = parsed(b"<a href=x>\xff</a>", content_type)
    assert (page.encoding, page.encoding_from) == encoding
    assert page.links == ()


@pytest.mark.parametrize("content_type", [None, "", "nonsense", "text/html", "TEXT/HTML; x"])
def test_what_is_read_as_html(content_type: str | None) -> None:
    assert parsed(b"<a href=x>y</a>", content_type).links == (RawLink("x", "a", "", "y"),)


def test_text_is_decoded_before_it_is_parsed() -> None:
    page = parsed(
        "<title>日本</title><a href=/語>本".encode("shift_jis"), "text/html;charset=x-sjis"
    )
    assert (page.encoding, page.encoding_from, page.title) == ("Shift_JIS", "header", "日本")
    assert page.links == (RawLink("/語", "a", "", "本"),)
    utf_16 = parsed("\ufeff<title>ö</title>".encode("utf-16-le"))
    assert (utf_16.encoding, utf_16.encoding_from, utf_16.title) == ("UTF-16LE", "bom", "ö")
    marked = parsed(b"\xef\xbb\xbf<title>\xc3\xb6</title>")
    assert (marked.encoding, marked.title) == ("UTF-8", "ö")


def test_an_encoding_that_is_one_error_gives_nothing() -> None:
    page = parsed(b"<a href=x>y</a>", "text/html; charset=iso-2022-kr")
    assert (page.encoding, page.links) == ("replacement", ())


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/z/", "https://site.test/z/"),
        ("c#d", "https://site.test/a/c"),
        ("", URL),
        ("http://[", URL),
        ("data:,x", URL),
        ("JAVASCRIPT:x", URL),
        ("ftp://files.test/", "ftp://files.test/"),
        ("?q=ä", "https://site.test/a/b?q=%E4"),
    ],
)
def test_the_document_base(base: str, expected: str) -> None:
    body = f"<base href='{base}'>".encode("windows-1252")
    assert parsed(body, "text/html; charset=windows-1252").base_url == expected


def test_links_of_fields_are_made_absolute_where_the_page_has_another_base() -> None:
    fields = [("Link", "<c>; rel=next, <http://[>; rel=next")]
    assert parsed(b"", headers=fields).links[0] == RawLink("c", "header", "next", "")
    page = parsed(b"<base href=/z/><a href=x>", headers=fields)
    assert page.links == (
        RawLink("https://site.test/a/c", "header", "next", ""),
        RawLink("x", "a", "", ""),
    )


def test_the_bound_holds_for_fields_and_page_together() -> None:
    fields = [("Link", "<1>;rel=next, <2>;rel=next, <3>;rel=next")]
    body = b"<a href=4></a><a href=5></a>"
    hrefs = [
        [link.href for link in parsed(body, headers=fields, max_links=n).links] for n in range(6)
    ]
    assert hrefs[5] == ["1", "2", "3", "4", "5"]
    assert all(hrefs[n] == hrefs[5][:n] for n in range(6))
