"""The second parser: Beautiful Soup on Python's html.parser, for notebooks and for comparison.

It builds no WHATWG tree: unclosed and misplaced tags, comments and references are read differently
in places, and it is some fifty times slower. The crawler does not use it.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import Final

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString, PreformattedString
from bs4.exceptions import ParserRejectedMarkup

from mercator.content.attribute_values import (
    INLINE_NAMES,
    MAX_ANCHOR_CHARS,
    UNSHOWN_NAMES,
    rel_tokens,
    shown_text,
)
from mercator.content.decode import decide, decode
from mercator.content.elements import ElementCollector, PageElements

_FIRST_TAG: Final = re.compile(r"<[a-zA-Z]")
_RAW_TEXT: Final = frozenset(
    ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext")
)
"""Elements whose content is no markup; html.parser builds elements in most of them."""


def soup(body: bytes, encoding: str | None = None) -> BeautifulSoup:
    """A page's body as Beautiful Soup, decoded as the crawler decoded it.

    `encoding` is the name that `decide` gave; without one it is decided again, from the body alone.
    Never raises on a body.
    """
    text = decode(body, encoding or decide(body, None)[0])
    # An XML declaration is a comment in HTML; as it is, Beautiful Soup would warn of it.
    first_tag = _FIRST_TAG.search(text)
    at = first_tag.start() if first_tag else len(text)
    text = text[:at].replace("<?", "<!?") + text[at:]
    try:
        return _soup(text)
    except ParserRejectedMarkup:
        # html.parser gives up on some `<![...`, which a browser takes for a comment.
        return _soup(text.replace("<![", "&lt;!["))


def _soup(text: str) -> BeautifulSoup:
    """From a file, since of a short text Beautiful Soup might warn that it looks like a file name."""
    return BeautifulSoup(StringIO(text), "html.parser", on_duplicate_attribute="ignore")


def read_elements(markup: bytes, user_agent: str, max_links: int) -> PageElements:
    """As `tree_links.read_elements`, off a Beautiful Soup."""
    collector = ElementCollector(user_agent, max_links)
    waiting: list[tuple[Tag, bool]] = [(soup(markup, "UTF-8"), False)]
    while waiting:
        tag, in_svg = waiting.pop()
        in_svg = tag.name == "svg" or (in_svg and tag.name not in ("foreignobject", "desc"))
        _element(collector, tag, in_svg)
        if tag.name not in _RAW_TEXT and (tag.name != "template" or _is_shadow_root(tag)):
            children = [child for child in tag.contents if isinstance(child, Tag)]
            waiting.extend((child, in_svg) for child in reversed(children))
    return collector.elements()


def _element(collector: ElementCollector, tag: Tag, in_svg: bool) -> None:
    name = tag.name
    attributes: dict[str, str | None] = {
        key: " ".join(value) if isinstance(value, list) else str(value)
        for key, value in tag.attrs.items()
    }
    if name == "a":
        href = attributes.get("href")
        if href is None and in_svg:
            href = attributes.get("xlink:href")
        if href is not None:
            kind = "svg-a" if in_svg else "a"
            collector.add(href, kind, rel_tokens(attributes.get("rel")), _anchor_text(tag))
    elif in_svg:
        return
    elif name == "area":
        if "href" in attributes:
            collector.add(attributes["href"] or "", "area", rel_tokens(attributes.get("rel")))
    elif name in ("iframe", "frame"):
        if src := attributes.get("src"):
            collector.add(src, name)
    elif name == "img":
        collector.image(attributes)
    elif name == "source":
        if tag.parent is not None and tag.parent.name == "picture":
            collector.srcset(attributes)
    elif name == "link":
        if collector.link(attributes) and tag.find_parent("body") is None:
            collector.canonical(attributes["href"] or "")
    elif name == "meta":
        collector.meta(attributes)
    elif name == "base":
        collector.base(attributes)
    elif name == "title":
        collector.first_title(tag.get_text())


def _is_shadow_root(template: Tag) -> bool:
    return str(template.get("shadowrootmode", "")).lower() in ("open", "closed")


def _anchor_text(anchor: Tag) -> str:
    """The text that an element shows: blocks set apart by a blank, comments and scripts left out."""
    parts: list[str] = []
    for node in anchor.descendants:
        if isinstance(node, NavigableString):
            parent = node.parent
            if isinstance(node, PreformattedString) or parent is None:
                continue
            if parent.name not in UNSHOWN_NAMES:
                apart = "" if parent.name in INLINE_NAMES else " "
                parts.append(f"{apart}{node}{apart}")
        elif isinstance(node, Tag) and node.name not in INLINE_NAMES:
            parts.append(" ")
    return shown_text("".join(parts), MAX_ANCHOR_CHARS)
