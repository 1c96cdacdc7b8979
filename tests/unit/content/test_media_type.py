"""Content-Type fields, by the MIME Sniffing standard's parser."""

from __future__ import annotations

import pytest

from mercator.content import media_type


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("text/html", ("text/html", "")),
        (" Text/HTML ; charset=UTF-8 ", ("text/html", "UTF-8")),
        ('text/html;charset="utf-8"x;charset=gbk', ("text/html", "utf-8")),
        ('text/html; a="x;charset=gbk"; charset=koi8-r', ("text/html", "koi8-r")),
        ('text/html; charset="a\\"b\\', ("text/html", 'a"b\\')),
        ("text/html; charset=; charset=gbk", ("text/html", "gbk")),
        ('text/html; charset=""; charset=gbk', ("text/html", "")),
        ("text/html; charset; charset=gbk", ("text/html", "gbk")),
        ("text/html; charset =gbk", ("text/html", "")),
        ("text/html; charset= gbk", ("text/html", " gbk")),
        ("text/html; charset='gbk'", ("text/html", "'gbk'")),
        ("text/html; charset=gb\u0100k", ("text/html", "")),
        ("text/html;;;charset=gbk", ("text/html", "gbk")),
        ("text", ("", "")),
        ("text/", ("", "")),
        ("te xt/html; charset=gbk", ("", "")),
        ("text/html charset=gbk", ("", "")),
        ("", ("", "")),
    ],
)
def test_essence_and_charset(field: str, expected: tuple[str, str]) -> None:
    assert media_type.parse(field) == expected


def test_a_field_without_end_is_cut() -> None:
    assert media_type.parse("text/html;" + "a=b;" * 100_000 + "charset=gbk") == ("text/html", "")


@pytest.mark.parametrize(
    ("essence", "html", "xhtml", "xml", "text"),
    [
        ("", True, False, False, True),
        ("text/html", True, False, False, True),
        ("application/xhtml+xml", False, True, True, True),
        ("image/svg+xml", False, False, True, True),
        ("text/xml", False, False, True, True),
        ("text/csv", False, False, False, True),
        ("application/ld+json", False, False, False, True),
        ("application/json", False, False, False, True),
        ("application/pdf", False, False, False, False),
        ("image/png", False, False, False, False),
    ],
)
def test_classes(essence: str, html: bool, xhtml: bool, xml: bool, text: bool) -> None:
    assert media_type.is_html(essence) is html
    assert media_type.is_xhtml(essence) is xhtml
    assert media_type.is_xml(essence) is xml
    assert media_type.is_text(essence) is text
