"""Whatever bytes and fields a server sends: no exception, no endless work, and stable answers."""

from __future__ import annotations

import codecs

import webencodings.labels
from hypothesis import given, settings
from hypothesis import strategies as st

from mercator.content import soup_links, tree_links
from mercator.content.decode import decide, decode
from mercator.content.labels import encoding_of
from mercator.content.markup_bounds import bounded
from mercator.content.page import parse_page

LABELS = sorted(webencodings.labels.LABELS)
NAMES = sorted({encoding_of(label) or "" for label in LABELS})
STEPS = {"bom", "header", "meta", "xml", "utf-8", "default", ""}

TOKENS = [
    *"<>\"'=/&;!-? \n\0aZ",
    *("<a href=", "<a href='/x'>", "</a>", "<b>", "</b>", "<p>", "</p>", "<div>", "</div>"),
    "<base href=",
    *("<link rel=canonical href=/c>", "<link rel=next href=2>", "<meta charset=", "<meta ", "koi8-r"),
    *("<meta http-equiv=refresh content='0;url=/r'>", "<meta name=robots content=none>", "content="),
    *("<title>", "</title>", "<table>", "<td>", "<svg>", "</svg>", "<math>", "<mi>", "<foreignObject>"),
    *("<template>", "<template shadowrootmode=open>", "</template>", "<select>", "<option>", "<script>"),
    *("</script>", "<!--", "-->", "<![CDATA[", "]]>", "<textarea>", "<frameset>", "<frame src=f>"),
    *("<img srcset='a 1x, b'>", "<picture>", "<source srcset=s>", "<noscript>", "<iframe src=i>"),
    *("<head>", "</head>", "<body>", "<html>", "&amp;", "&#0;", "&#xD800;", "é", "日本"),
    "<html xmlns='http://www.w3.org/1999/xhtml'>",
    "<?xml version='1.0' encoding='utf-16'?>",
    "<!DOCTYPE html [<!ENTITY x 'y'>]>",
]  # fmt: skip

markup = st.lists(st.sampled_from(TOKENS), max_size=60).map("".join)
bodies = st.one_of(
    st.binary(max_size=300),
    markup.map(str.encode),
    st.builds(lambda text, name: text.encode(name, "replace"), markup, st.sampled_from(
        ["utf-16-le", "utf-16", "shift_jis", "gb18030", "euc_jp", "iso2022_jp", "latin-1"]
    )),
    st.builds(lambda start, rest: start + rest, st.sampled_from(
        [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"<\0?\0x\0", b"<meta charset="]
    ), st.binary(max_size=50)),
)  # fmt: skip
field_text = st.one_of(
    st.text(st.characters(max_codepoint=0xFF), max_size=60),
    st.lists(
        st.sampled_from([
            *"<>;,=\"'\\ :*", "rel", "next", "canonical", "anchor", "/x", "noindex", "mercator",
            "0", "url=", "charset", "text/html", "utf-8",
        ]),
        max_size=30,
    ).map("".join),
)  # fmt: skip
content_types = st.one_of(
    st.none(),
    st.sampled_from(["text/html", "application/xhtml+xml", "text/plain", "image/png", "text/xml"]),
    st.sampled_from(LABELS).map("text/html; charset={}".format),
    field_text,
)
fields = st.lists(
    st.tuples(
        st.sampled_from(["Link", "refresh", "X-ROBOTS-TAG", "robots-tag", "Content-Type", "x"]),
        field_text,
    ),
    max_size=5,
)


@settings(max_examples=400, deadline=10_000, derandomize=True)
@given(bodies, content_types, fields, st.integers(0, 20))
def test_parse_page_takes_anything(
    body: bytes, content_type: str | None, headers: list[tuple[str, str]], max_links: int
) -> None:
    def parsed() -> object:
        return parse_page(
            body,
            url="https://site.test/a/b",
            content_type=content_type,
            headers=headers,
            user_agent="mercator",
            max_links=max_links,
        )

    page = parse_page(
        body,
        url="https://site.test/a/b",
        content_type=content_type,
        headers=headers,
        user_agent="mercator",
        max_links=max_links,
    )
    assert page == parsed()
    assert page.encoding in {*NAMES, ""}
    assert page.encoding_from in STEPS
    assert len(page.links) <= max_links
    assert len(set(page.links)) == len(page.links)
    for href, kind, rel, anchor in page.links:
        assert len(anchor) <= 200
        assert rel == rel.lower()
        assert kind
        (href + anchor).encode()  # no lone surrogates
    if page.title is not None:
        assert 0 < len(page.title) <= 500
        page.title.encode()
    if page.canonical is not None:
        assert page.canonical.startswith(("http://", "https://"))


@settings(max_examples=300, deadline=10_000, derandomize=True)
@given(st.binary(max_size=200), st.sampled_from(NAMES))
def test_every_decoder_takes_any_bytes(body: bytes, name: str) -> None:
    text = decode(body, name)
    assert decode(body, name) == text
    text.encode()
    if name not in ("UTF-16LE", "UTF-16BE", "ISO-2022-JP", "replacement"):
        # No error may swallow an ASCII byte: markup would vanish.
        tail = "<a href='x'>"
        assert decode(body + b"\n" + tail.encode(), name).endswith(tail)


@settings(max_examples=200, deadline=10_000, derandomize=True)
@given(st.text(max_size=100), st.sampled_from(NAMES))
def test_what_an_encoding_can_write_is_read_again(text: str, name: str) -> None:
    codec = {"UTF-16LE": "utf-16-le", "UTF-16BE": "utf-16-be", "UTF-8": "utf-8"}.get(name)
    if codec is None:
        return
    body = text.encode(codec, "replace")
    assert decode(codecs.BOM_UTF8 * (name == "UTF-8") + body, name) == body.decode(
        codec
    ).removeprefix("\ufeff" if name != "UTF-8" else "")


@settings(max_examples=200, deadline=10_000, derandomize=True)
@given(bodies, content_types)
def test_decide_is_total(body: bytes, content_type: str | None) -> None:
    encoding, step = decide(body, content_type)
    assert encoding in NAMES
    assert step in STEPS - {""}


@settings(max_examples=200, deadline=10_000, derandomize=True)
@given(markup, st.integers(1, 400))
def test_repeated_markup_is_bounded(text: str, times: int) -> None:
    body = text.encode() * times
    assert len(bounded(body)) <= 2 * len(body) + 100
    tree_links.read_elements(body, "mercator", 50)


@settings(max_examples=100, deadline=10_000, derandomize=True)
@given(markup)
def test_the_second_parser_takes_anything(text: str) -> None:
    assert len(soup_links.read_elements(text.encode(), "mercator", 5).links) <= 5
