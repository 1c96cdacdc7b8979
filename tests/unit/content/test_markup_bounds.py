"""Thinning keeps every link, touches no page that is not too dear, and makes the dear ones cheap."""

from __future__ import annotations

import random

import pytest

from mercator.content import markup_bounds
from mercator.content.markup_bounds import bounded, tree_of
from mercator.content.tree_links import read_elements

PIECES = (
    "<div class=c data-x='{{\"a\":1}}'><p>text <b>bold</b> <a href=/a{i} rel=ugc>t<i>x</i></a></p></div>",
    "<!-- <div --><a href=/b{i}>x</a><!-- <b --!>",
    "<script>if(a<b&&c>d){{w('<div class=\"'+x+'\"><a href=/no{i}>')}}</script>",
    "<table><tr><td>x<td><a href=/c{i}>cell</a></table>",
    "<ul><li><a href=/d{i}>one</a><li>two</ul>",
    "<picture><source srcset='/e{i}.webp 1x, /f{i}.webp 2x'><img src=/g{i}.png></picture>",
    "<noscript><img src=/h{i}.gif></noscript>",
    "<textarea><a href=/no{i}>no</a></textarea>",
    "<style>a>b{{}}</style><span title='a > b'><a href=/j{i}>s</a></span>",
    "<select><option>x<option>y</select><button onclick=\"f('<b>')\">x</button>",
    "<iframe src=/k{i}><a href=/no{i}>x</a></iframe>",
    "<template><a href=/no{i}>x</a></template>",
    "<map><area href=/l{i}></map>",
    '<h2>it\'s <em>a</em> "quote"</h2><hr/><x-y a=b><a href=/m{i}>q</a></x-y>',
    "<x--y a=it's>q</x--y>",
    "<FONT color='red'><STRONG>loud</FONT></STRONG><A HREF=/n{i}>N</A>",
)


def page(pieces: int) -> bytes:
    rng = random.Random(20)
    body = "".join(rng.choice(PIECES).format(i=i) for i in range(pieces))
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>T</title>"
        "<meta name=robots content=nofollow><base href=/base/><link rel=canonical href=/can>"
        f"<script>var s='<p>';</script></head><body class=x>{body}<link rel=canonical href=/bad>"
    ).encode()


@pytest.fixture
def unbounded(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(markup_bounds, "_MAX_TAGS", 10**9)
    monkeypatch.setattr(markup_bounds, "_MAX_REBUILT", 10**12)
    return monkeypatch


def test_a_page_of_a_person_is_not_touched() -> None:
    markup = page(100)
    assert bounded(markup) is markup


def test_a_thinned_page_has_the_same_links_and_signals(unbounded: pytest.MonkeyPatch) -> None:
    markup = page(4000)
    whole = read_elements(markup, "mercator", 10**6)
    unbounded.undo()
    assert b"<div" not in bounded(markup)
    assert read_elements(markup, "mercator", 10**6) == whole
    assert len(whole.links) > 3000
    assert whole.canonicals == ("/can",)


def test_without_formatting_tags_a_page_has_the_same_links(unbounded: pytest.MonkeyPatch) -> None:
    markup = page(500)
    whole = read_elements(markup, "mercator", 10**6)
    unbounded.setattr(markup_bounds, "_MAX_REBUILT", 5 * markup.count(b"<"))
    thinned = bounded(markup)
    assert b"<em>" not in thinned
    assert b"<div" in thinned
    assert b"<!-- <b --!>" in thinned
    assert read_elements(markup, "mercator", 10**6) == whole


DEAR = {
    "nested": "<div>" * 100_000,
    "nested lists": "<ul><li>" * 50_000,
    "awkward nested": "<div x='a\"b'>" * 50_000,
    "formatting": "<p>" + "".join(f"<b a={i}>" for i in range(3000)) + "</p>" + "<p>x" * 3000,
    "awkward formatting": "<p>" + "".join(f"<b a='<{i}>'>" for i in range(3000)) + "</p>" + "<p>x" * 3000,
    "attributes": "<p " + " ".join(f"a{i}=1" for i in range(60_000)) + ">",
    "hidden attributes": "<p x'><p b=\">'>\" " + " ".join(f"a{i}=1" for i in range(60_000)) + ">",
    "quoted ends": "<p " + " ".join(f'a{i}=">"' for i in range(60_000)) + ">",
    "roots": "".join(f"<html a{i}=1>" for i in range(15_000)) * 2,
    "roots with many": "".join(
        "<body " + " ".join(f"b{i}_{k}" for k in range(700)) + ">" for i in range(60)
    ),
    "foreign": "<svg x='a\"'>" + "<a>" * 30_000 + "</title>" * 30_000,
    "ends": "<i></p>" * 30_000,
}  # fmt: skip


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", DEAR)
def test_dear_pages_are_cheap_and_lose_nothing_behind(name: str) -> None:
    found = read_elements(f"{DEAR[name]}<a href=/after>x</a>".encode(), "mercator", 10)
    assert [link.href for link in found.links] == ["/after"]
    tree = tree_of(bounded(DEAR[name].encode()))
    assert tree.root is not None
    assert sum(1 for _ in tree.root.traverse()) < 120_000


def test_many_roots_do_not_gather_attributes_on_one_element() -> None:
    body = tree_of(bounded(DEAR["roots with many"].encode())).body
    assert body is not None
    assert len(body.attributes) <= 4 * 700


def test_options_are_not_copied_into_selectedcontent_elements() -> None:
    html = b"<select><button><selectedcontent></selectedcontent></button><option selected><u>x</u>"
    assert len(tree_of(html).css("u")) == 1


@pytest.mark.timeout(20)
@pytest.mark.parametrize("start", ['<a "', '<a x="', "<a x='", "<a", "<p =", "<"])
def test_tags_within_tags_end(start: str) -> None:
    bounded((start * 200_000).encode())


def test_a_page_of_tags_only_is_cut() -> None:
    markup = bounded(b"".join(b"<a href=/%d>" % i for i in range(300_000)))
    assert markup.count(b"<") == 250_000
