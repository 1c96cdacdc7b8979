"""The link extractor for XHTML, which is XML: names in their case, every element closed.

Expat reads the page without a tree. Nothing outside of the page is read, and a page that declares
entities of its own is not taken for well-formed, so there is nothing to expand.
"""

from __future__ import annotations

import html.entities
from collections.abc import Mapping
from typing import Final
from xml.parsers import expat

from mercator.content.attribute_values import (
    INLINE_NAMES,
    MAX_ANCHOR_CHARS,
    MAX_TITLE_CHARS,
    RAW_PER_SHOWN_CHAR,
    UNSHOWN_NAMES,
    rel_tokens,
    shown_text,
)
from mercator.content.elements import ElementCollector, PageElements

_XHTML: Final = "http://www.w3.org/1999/xhtml "
_SVG_A: Final = "http://www.w3.org/2000/svg a"
_XLINK_HREF: Final = "http://www.w3.org/1999/xlink href"
_MAX_OPEN_TEXTS = 100
"""Links within links whose texts are gathered at the same time."""


class _NotPlainXml(Exception):
    """The page declares entities. Threads: immutable."""


def read_xhtml(markup: bytes, user_agent: str, max_links: int) -> PageElements | None:
    """What an XHTML page in UTF-8 holds, or None if it is not well-formed XML.

    As `tree_links.read_elements` in all else. An XML declaration's encoding is ignored: the caller
    has decided it. Never raises. O(length).
    """
    reading = _Reading(ElementCollector(user_agent, max_links))
    parser = expat.ParserCreate("utf-8", " ")
    parser.buffer_text = True
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.text
    parser.SkippedEntityHandler = reading.skipped_entity
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(markup, True)
    except (expat.ExpatError, _NotPlainXml):
        return None
    return reading.collector.elements()


def _refuse_entity(*declaration: object) -> None:
    raise _NotPlainXml


class _OpenText:
    """The text of a link or title that is still open. Threads: confined to the parsing thread."""

    __slots__ = ("depth", "index", "parts", "room_chars")

    def __init__(self, depth: int, index: int, limit_chars: int) -> None:
        self.depth = depth
        self.index = index
        self.parts: list[str] = []
        self.room_chars = limit_chars * RAW_PER_SHOWN_CHAR


class _Reading:
    """The state of one pass. Threads: confined to the thread that parses."""

    __slots__ = ("_inert_depth", "_open", "_path", "_unshown_depth", "collector")

    def __init__(self, collector: ElementCollector) -> None:
        self.collector = collector
        self._inert_depth = 0
        """Depth of the outermost open template, 0 outside of one: its content is inert."""
        self._unshown_depth = 0
        """Likewise for elements whose text is not shown."""
        self._path: list[str] = []
        self._open: list[_OpenText] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        path = self._path
        path.append(name)
        if self._inert_depth:
            return
        if name.startswith(_XHTML):
            html_name = name[len(_XHTML) :]
            if self._open:
                self._set_apart(html_name)
            if not self._unshown_depth and html_name in UNSHOWN_NAMES:
                self._unshown_depth = len(path)
            self._html_element(html_name, attributes)
        elif name == _SVG_A:
            href = attributes.get("href", attributes.get(_XLINK_HREF))
            if href is not None:
                self._link(href, "svg-a", attributes)

    def _html_element(self, name: str, attributes: Mapping[str, str]) -> None:
        collector = self.collector
        if name == "a":
            if "href" in attributes:
                self._link(attributes["href"], "a", attributes)
        elif name == "area":
            if "href" in attributes:
                collector.add(attributes["href"], "area", rel_tokens(attributes.get("rel")))
        elif name in ("iframe", "frame"):
            if attributes.get("src"):
                collector.add(attributes["src"], name)
        elif name == "img":
            collector.image(attributes)
        elif name == "link":
            if collector.link(attributes) and f"{_XHTML}head" in self._path[:3]:
                collector.canonical(attributes["href"])
        elif name == "meta":
            collector.meta(attributes)
        elif name == "base":
            collector.base(attributes)
        elif name == "source":
            if self._path[-2:-1] == [f"{_XHTML}picture"]:
                collector.srcset(attributes)
        elif name == "title":
            if collector.title is None:
                self._open.append(_OpenText(len(self._path), -1, MAX_TITLE_CHARS))
        elif name == "template":
            self._inert_depth = len(self._path)

    def _link(self, href: str, kind: str, attributes: Mapping[str, str]) -> None:
        collector = self.collector
        before = len(collector.links)
        collector.add(href, kind, rel_tokens(attributes.get("rel")))
        if len(collector.links) > before and len(self._open) < _MAX_OPEN_TEXTS:
            self._open.append(_OpenText(len(self._path), before, MAX_ANCHOR_CHARS))

    def _set_apart(self, html_name: str) -> None:
        if html_name not in INLINE_NAMES:
            self.text(" ")

    def text(self, text: str) -> None:
        if self._inert_depth or self._unshown_depth:
            return
        for open_text in self._open:
            if open_text.room_chars > 0:
                open_text.parts.append(text)
                open_text.room_chars -= len(text)

    def skipped_entity(self, name: str, is_parameter_entity: bool) -> None:
        """HTML's entities, which an XHTML page has from a DTD that is not read."""
        self.text(html.entities.html5.get(f"{name};", ""))

    def end(self, name: str) -> None:
        depth = len(self._path)
        self._path.pop()
        if self._inert_depth == depth:
            self._inert_depth = 0
        if self._unshown_depth == depth:
            self._unshown_depth = 0
        if self._open and name.startswith(_XHTML):
            self._set_apart(name[len(_XHTML) :])
        if self._open and self._open[-1].depth == depth:
            done = self._open.pop()
            text = "".join(done.parts)
            if done.index < 0:
                self.collector.first_title(text)
            else:
                links = self.collector.links
                anchor = shown_text(text, MAX_ANCHOR_CHARS)
                links[done.index] = links[done.index]._replace(anchor=anchor)
