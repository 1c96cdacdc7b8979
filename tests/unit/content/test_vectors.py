"""The room's cases: links, encodings and signals of whole pages."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from mercator.content.decode import decide, decode
from mercator.content.page import parse_page
from mercator.content.robots_meta import robots_flags
from mercator.content.tree_links import read_elements
from mercator.urls.canonical import Canonicalizer
from mercator.values import CanonicalUrl, ParsedPage

VECTORS = Path(__file__).parents[2] / "vectors"
LINKS = json.loads((VECTORS / "links.json").read_text("utf-8"))
CHARSET = json.loads((VECTORS / "charset.json").read_text("utf-8"))
SIGNALS = json.loads((VECTORS / "page_signals.json").read_text("utf-8"))

Case = dict[str, Any]


def by_id(vectors: dict[str, Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", vectors["cases"], ids=lambda case: str(case["id"]))


def parsed(case: Case, body: bytes, url: str) -> ParsedPage:
    return parse_page(
        body,
        url=url,
        content_type=case.get("content_type", "text/html; charset=utf-8"),
        headers=[(name, value) for name, value in case.get("headers", ())],
        user_agent=case.get("user_agent", "mercator"),
        max_links=10_000,
    )


def joined(parts: list[list[Any]]) -> str:
    return "".join(
        "".join(text.replace("{i}", str(i)) for i in range(times)) for text, times in parts
    )


@pytest.mark.timeout(20)
@by_id(LINKS)
def test_links(case: Case) -> None:
    html = case["html"] if "html" in case else joined(case["html_parts"])
    page = parsed(case, html.encode(), LINKS["base_url"])
    resolve = Canonicalizer("conservative").for_page(page.base_url, page.encoding or "utf-8")
    found: dict[tuple[str, str, str], str] = {}
    for href, kind, rel, anchor in page.links:
        target = resolve(href)
        if isinstance(target, CanonicalUrl):
            found.setdefault((target.key_url, kind, rel), anchor)
    wanted = {
        (link["url"], link["kind"], " ".join(link.get("rel", ()))): link.get("anchor")
        for link in case["expect_links"]
    }
    assert found.keys() == wanted.keys(), case["note"]
    for key, wanted_anchor in wanted.items():
        assert wanted_anchor is None or found[key] == wanted_anchor, case["note"]


@by_id(CHARSET)
def test_encodings(case: Case) -> None:
    parts = case.get("body_parts_b64") or [[case["body_b64"], 1]]
    body = b"".join(base64.b64decode(text) * times for text, times in parts)
    encoding, step = decide(body, case["content_type"])
    assert (encoding, step) == (case["expect_encoding"], case["expect_from"]), case["note"]
    if "expect_text" in case:
        assert decode(body, encoding) == case["expect_text"], case["note"]


@by_id(SIGNALS)
def test_signals(case: Case) -> None:
    body = case["html"].encode()
    page = parsed(case, body, SIGNALS["url"])
    expect = dict(case["expect"])
    if "noarchive" in expect:
        agent = case["user_agent"]
        elements = read_elements(body, agent, 100)
        flags = robots_flags(elements.robots_metas, map(tuple, case["headers"]), agent)
        assert flags.noarchive is expect.pop("noarchive"), case["note"]
    assert {name: getattr(page, name) for name in expect} == expect, case["note"]
