"""What the vectors do not say of the tree's reader: bounds, order, and the ways through deep trees."""

from __future__ import annotations

import pytest

from mercator.content import soup_links, tree_links
from mercator.content.elements import PageElements
from mercator.values import RawLink


def read(html: str | bytes, max_links: int = 10_000) -> PageElements:
    markup = html.encode() if isinstance(html, str) else html
    return tree_links.read_elements(markup, "mercator", max_links)


def test_links_stand_in_document_order_each_once() -> None:
    html = (
        "<link rel=next href=2><a href=1>one</a><img src=p><a href=1>again</a>"
        "<area href=3><div><template shadowrootmode=open><a href=4>x</a></template></div>"
        "<svg><a href=5><text>s</text></a></svg><iframe src=6></iframe><a href=1 rel=x>one</a>"
    )
    assert read(html).links == (
        RawLink("2", "link", "next", ""),
        RawLink("1", "a", "", "one"),
        RawLink("p", "img", "", ""),
        RawLink("3", "area", "", ""),
        RawLink("4", "a", "", "x"),
        RawLink("5", "svg-a", "", "s"),
        RawLink("6", "iframe", "", ""),
        RawLink("1", "a", "x", "one"),
    )


def test_the_bound_counts_different_links() -> None:
    html = "<a href=0>0</a>" * 100 + "".join(f"<a href={i}>{i}</a>" for i in range(20))
    assert [link.href for link in read(html, 5).links] == ["0", "1", "2", "3", "4"]
    assert read(html, 0).links == ()


def test_beyond_the_bound_the_rest_of_the_page_is_still_read() -> None:
    html = "<a href=1>1</a><a href=2>2</a><base href=/b><meta name=robots content=none><title>T"
    found = read(html, 1)
    assert (len(found.links), found.base_href, found.robots_metas) == (1, "/b", ("none",))


@pytest.mark.parametrize(
    ("inner", "anchor"),
    [
        ("one<br>two", "one two"),
        ("<b>o</b>ne", "one"),
        ("<div><b>one</b></div>two", "one two"),
        ("one<!-- no -->two", "onetwo"),
        ("one<img alt=no>two", "one two"),
        ("<iframe>no</iframe><noembed>no</noembed><textarea>no</textarea>x", "x"),
        ("<template>no</template>x<noscript>y</noscript>", "x y"),
        ("<svg><title>icon</title></svg> x", "icon x"),
        ("", ""),
        (" \n ", ""),
        ("x" * 300, "x" * 200),
        ("<i>" + "y " * 300 + "</i>", ("y " * 100).strip()),
        ("a&nbsp;&amp;\u3000b", "a & b"),
    ],
)
def test_anchor_texts(inner: str, anchor: str) -> None:
    (link,) = read(f"<a href=x>{inner}</a>after").links
    assert link.anchor == anchor


@pytest.mark.timeout(20)
def test_links_within_links_do_not_read_one_text_again_and_again() -> None:
    html = "".join(f"<a href={i}><object>" for i in range(3000)) + "word " * 400_000
    found = read(html)
    assert len(found.links) == 3000
    assert found.links[0].anchor == ""
    assert found.links[-1].anchor.startswith("word word")


@pytest.mark.timeout(20)
def test_foreign_elements_within_each_other_are_walked_once() -> None:
    html = "".join(f"<svg><foreignObject><p><a href={i}>" for i in range(2000))
    assert {link.kind for link in read(html).links} == {"a"}
    html = "".join(f"<svg><a href={i}>" for i in range(4000))
    assert {link.kind for link in read(html).links} == {"svg-a"}


@pytest.mark.parametrize(
    ("inner", "kinds"),
    [
        ("<mi><a href=x>", ["a"]),
        ("<mi><mglyph><a href=x>", []),
        ("<mi><svg><a href=x>", ["svg-a"]),
        ("<mrow><a href=x>", []),
        ("<annotation-xml><svg><a href=x>", ["svg-a"]),
        ("<annotation-xml><svg><desc><a href=x>", ["a"]),
        ("<annotation-xml encoding=application/xhtml+xml><a href=x>", ["a"]),
        ("<annotation-xml encoding=text/plain><a href=x>", []),
    ],
)
def test_namespaces_below_mathml(inner: str, kinds: list[str]) -> None:
    assert [link.kind for link in read(f"<math>{inner}").links] == kinds


@pytest.mark.timeout(20)
def test_shadow_roots_within_each_other_end() -> None:
    html = "".join(f"<div><template shadowrootmode=open><a href={i}>" for i in range(3000))
    assert len(read(html).links) == 1000


def test_nothing_and_nearly_nothing() -> None:
    nothing = PageElements(None, None, (), (), ())
    for markup in (
        b"",
        b"\0",
        b"<",
        b"<!",
        b"</",
        b"<a",
        b"\xff\xfe",
        b"<frameset>",
        b"<template>",
    ):
        assert read(markup) == nothing, markup


def test_bad_bytes_are_read_as_replacement_characters() -> None:
    assert read(b"<a href='/\xff\xe4\xb8'>\xe4</a>").links[0][:1] == ("/\ufffd\ufffd",)


def test_the_second_parser_reads_ordinary_pages_alike() -> None:
    html = (
        b"<!doctype html><html><head><title>A  page</title><base href='/b/'>"
        b"<meta name=robots content=nofollow><link rel=canonical href=/c>"
        b"<script>'<a href=no>'</script></head><body><!-- <a href=no> --><ul>"
        b"<li><a href='/x?a=1&amp;b=2' rel='Nofollow UGC'>one <b>bold</b></a></li></ul>"
        b"<a href=/card><div>Title</div><p>Text</p></a><map><area href=n></map>"
        b"<picture><source srcset='w 1x'><img src=i></picture><iframe src=f></iframe>"
        b"<svg><a xlink:href=s>s</a></svg><template><a href=no>n</a></template>"
        b"<meta http-equiv=refresh content='0;url=r'><noscript><a href=ns>n</a></noscript></body></html>"
    )
    assert soup_links.read_elements(html, "mercator", 100) == tree_links.read_elements(
        html, "mercator", 100
    )


@pytest.mark.parametrize(
    "body",
    [
        b"<![x[<a href=1>",
        b"<!DOCTYPE [<a>",
        b"\xff\0<",
        b"<a href=1>\xe9",
        b"http://a.test/",
        b"page.html",
        b"<?xml version='1.0'?><a>",
    ],
)
def test_soup_takes_any_body(body: bytes) -> None:
    assert soup_links.soup(body, "windows-1252") is not None
    assert soup_links.soup(body) is not None
    soup_links.read_elements(body, "mercator", 100)
