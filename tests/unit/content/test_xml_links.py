"""XHTML: what is well-formed, and what an XML page may not do."""

from __future__ import annotations

import pytest

from mercator.content.elements import PageElements
from mercator.content.xml_links import read_xhtml

XHTML = "<html xmlns='http://www.w3.org/1999/xhtml'>{}</html>"
DTD = (
    "<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' "
    "'http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd'>"
)


def read(text: str, max_links: int = 100) -> PageElements | None:
    return read_xhtml(text.encode(), "mercator", max_links)


def test_everything_of_a_page() -> None:
    found = read(
        XHTML.format(
            "<head><title> A\nB </title><base href='/b'/><meta name='robots' content='noindex'/>"
            "<link rel='canonical' href='/c'/></head><body><a href='1' rel='X'>o<b>n</b>e<br/>two"
            "<script>no</script></a><area href='2'/><iframe src='3'><a href='4'>in</a></iframe>"
            "<picture><source srcset='5 1x'/><img src='6'/></picture><source srcset='no'/>"
            "<meta http-equiv='refresh' content='0;url=7'/></body>"
        )
    )
    assert found is not None
    assert (found.title, found.base_href, found.canonicals) == ("A B", "/b", ("/c",))
    assert found.robots_metas == ("noindex",)
    assert [(link.href, link.kind, link.anchor) for link in found.links] == [
        ("/c", "link", ""),
        ("1", "a", "one two"),
        ("2", "area", ""),
        ("3", "iframe", ""),
        ("4", "a", ""),
        ("5", "img", ""),
        ("6", "img", ""),
        ("7", "meta-refresh", ""),
    ]


def test_names_have_case_and_namespace() -> None:
    found = read(XHTML.format("<A href='1'/><a HREF='2'/><b:a xmlns:b='urn:x' href='3'/>"))
    assert found is not None
    assert found.links == ()
    without = read("<html><a href='1'/></html>")
    assert without is not None
    assert without.links == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no markup",
        XHTML.format("<p>"),
        XHTML.format("<a href=1/>"),
        XHTML.format("&nbsp;"),
        XHTML.format("\0"),
        "<!DOCTYPE html [<!ENTITY x 'y'>]>" + XHTML.format("&x;"),
        "<!DOCTYPE html [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>" + XHTML.format("&x;"),
        "<!DOCTYPE html [<!ENTITY % x SYSTEM 'file:///etc/passwd'> %x;]>" + XHTML.format(""),
    ],
)
def test_what_is_not_plain_well_formed_xml(text: str) -> None:
    assert read(text) is None


def test_entities_of_html_where_a_dtd_is_named() -> None:
    found = read(DTD + XHTML.format("<head><title>a&nbsp;&copy;</title></head>"))
    assert found is not None
    assert found.title == "a ©"


def test_the_encoding_was_decided_before() -> None:
    found = read("<?xml version='1.0' encoding='iso-8859-1'?>" + XHTML.format("<title>é</title>"))
    assert found is not None
    assert found.title == "é"


@pytest.mark.timeout(20)
def test_deep_pages() -> None:
    links = "".join(f"<a href='{i}'>t" for i in range(50_000))
    found = read(XHTML.format(links + "</a>" * 50_000), max_links=10**6)
    assert found is not None
    assert len(found.links) == 50_000
