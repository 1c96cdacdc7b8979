"""The link extractor: everything a page says, read off one walk of one WHATWG tree (lexbor).

The walk goes through the tree in C and hands over each node; only some fifteen kinds of tag are
looked at. Whatever needs the surroundings of an element (namespace, head, picture) is worked out
for the few elements where it matters, never by climbing from every link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from mercator.content.attribute_values import (
    INLINE_NAMES,
    MAX_ANCHOR_CHARS,
    RAW_PER_SHOWN_CHAR,
    UNSHOWN_NAMES,
    rel_tokens,
    shown_text,
)
from mercator.content.elements import ElementCollector, PageElements
from mercator.content.markup_bounds import bounded, tree_of
from mercator.values import RawLink

_MAX_ANCHOR_NODES = 300
"""Links can be nested (in tables and objects); without a bound the innermost text would be read by
each of them."""

_MAX_HEAD_SIBLINGS = 100
_MAX_SHADOW_ROOTS = 1000


def _id(name: str) -> int:
    """Lexbor's number for a tag name, asked of the library itself: it changes with its versions."""
    return LexborHTMLParser("").create_node(name).tag_id


def _ids(*names: str) -> frozenset[int]:
    return frozenset(map(_id, names))


_A: Final = _id("a")
_ANNOTATION: Final = _id("annotation-xml")
_AREA: Final = _id("area")
_BASE: Final = _id("base")
_BODY: Final = _id("body")
_FRAME: Final = _id("frame")
_HEAD: Final = _id("head")
_IFRAME: Final = _id("iframe")
_IMG: Final = _id("img")
_LINK: Final = _id("link")
_MATH: Final = _id("math")
_META: Final = _id("meta")
_NOSCRIPT: Final = _id("noscript")
_PICTURE: Final = _id("picture")
_SOURCE: Final = _id("source")
_SVG: Final = _id("svg")
_TEMPLATE: Final = _id("template")
_TITLE: Final = _id("title")
_TEXT, _COMMENT = (node.tag_id for node in LexborHTMLParser("<p>x<!---->").css("p")[0].iter(True))
_FOREIGN_ROOTS: Final = frozenset((_SVG, _MATH))
_WANTED: Final = _FOREIGN_ROOTS | {
    *(_A, _AREA, _BASE, _FRAME, _IFRAME, _IMG, _LINK, _META, _SOURCE, _TEMPLATE, _TITLE)
}
_MATHML_TEXT: Final = _ids("mi", "mo", "mn", "ms", "mtext")
_SVG_WITH_HTML: Final = _ids("foreignObject", "desc", "title")
_GLYPHS: Final = _ids("mglyph", "malignmark")
_UNSHOWN: Final = _ids(*UNSHOWN_NAMES)
_INLINE: Final = _ids(*INLINE_NAMES) | {_COMMENT}
_HEAD_CONTENT: Final = _ids(
    "base", "link", "meta", "noscript", "script", "style", "template", "title"
) | {_COMMENT}
_HEAD_CLOSERS: Final = _ids("img", "iframe")
_END_OF_HEAD = re.compile(rb"</head|<body", re.IGNORECASE)


def read_elements(markup: bytes, user_agent: str, max_links: int) -> PageElements:
    """What a page in UTF-8 holds, by the rules of HTML parsing with scripting off.

    `markup` may hold any bytes; at most `max_links` different links are kept, the first ones.
    Never raises, and takes time in proportion to the page (`markup_bounds`): about 0.2 ms for
    30 KB with 50 links. Source: WHATWG HTML 13.2; the kinds of link are the interface's.
    """
    collector = ElementCollector(user_agent, max_links)
    safe = bounded(markup)
    root = tree_of(safe).root
    if root is not None:
        _Walk(collector, markup, is_thinned=safe is not markup).through(root)
    return collector.elements()


class _Walk:
    """One walk through one tree. Threads: confined to the thread that parses."""

    __slots__ = ("_canonicals_in_head", "_collector", "_foreign", "_is_thinned", "_markup")

    def __init__(self, collector: ElementCollector, markup: bytes, is_thinned: bool) -> None:
        self._collector = collector
        self._markup = markup
        self._is_thinned = is_thinned
        self._canonicals_in_head: int | None = None
        self._foreign: dict[int, bool] = {}
        """Elements outside of the HTML namespace: True in SVG, False in MathML."""

    def through(self, root: LexborNode) -> None:
        """Every element that matters, in document order; a shadow root stands where its host is.

        Other template content is not in the tree. The stack holds a walk for each shadow root that
        is open, instead of calling itself: they can be nested as deep as a page likes.
        """
        wanted = _WANTED
        foreign = self._foreign
        walks = [root.traverse()]
        shadow_roots = 0
        while walks:
            for node in walks[-1]:
                tag = node.tag_id
                if tag not in wanted:
                    continue
                if tag == _A:
                    self._anchor(node)
                elif foreign and node.mem_id in foreign:
                    continue
                elif tag in _FOREIGN_ROOTS:
                    foreign.update(_foreign_elements(node))
                elif tag != _TEMPLATE:
                    self._other(node, tag, in_shadow=len(walks) > 1)
                elif shadow_roots < _MAX_SHADOW_ROOTS:
                    shadow = _shadow_root(node)
                    if shadow is not None:
                        shadow_roots += 1
                        walks.append(shadow.traverse())
                        break
            else:
                walks.pop()

    def _anchor(self, node: LexborNode) -> None:
        attributes = node.attributes
        kind = "a"
        if self._foreign and node.mem_id in self._foreign:
            if not self._foreign[node.mem_id]:
                return
            kind = "svg-a"
            if "href" not in attributes and "xlink:href" in attributes:
                attributes["href"] = attributes["xlink:href"]
        if "href" not in attributes:
            return
        href = attributes["href"] or ""
        rel = rel_tokens(attributes.get("rel"))
        if self._collector.wants(href, kind, rel):
            # The NamedTuple's own constructor takes twice as long.
            self._collector.links.append(
                tuple.__new__(RawLink, (href, kind, rel, _anchor_text(node)))
            )

    def _other(self, node: LexborNode, tag: int, in_shadow: bool) -> None:
        collector = self._collector
        attributes = node.attributes
        if tag == _IMG:
            collector.image(attributes)
        elif tag == _LINK:
            if collector.link(attributes) and not in_shadow and self._is_in_head(node):
                collector.canonical(attributes["href"] or "")
        elif tag == _META:
            if not in_shadow:
                collector.meta(attributes)
        elif tag == _AREA:
            if "href" in attributes:
                collector.add(attributes["href"] or "", "area", rel_tokens(attributes.get("rel")))
        elif tag in (_IFRAME, _FRAME):
            if src := attributes.get("src"):
                collector.add(src, "iframe" if tag == _IFRAME else "frame")
        elif tag == _SOURCE:
            parent = node.parent
            if self._is_thinned or (parent is not None and parent.tag_id == _PICTURE):
                collector.srcset(attributes)
        elif not in_shadow:
            if tag == _BASE:
                collector.base(attributes)
            elif tag == _TITLE:
                collector.first_title(node.text())

    def _is_in_head(self, node: LexborNode) -> bool:
        """Was the element written in the head?

        A tracking pixel in a noscript in the head (common) ends the head for a parser with
        scripting off, and what follows stands in the body of the tree. So an element there counts
        if all before it belongs to a head and the source says so too.
        """
        parent = node.parent
        if parent is None or parent.tag_id == _HEAD:
            return parent is not None
        if parent.tag_id == _NOSCRIPT:
            parent = parent.parent
            return parent is not None and parent.tag_id == _HEAD
        if parent.tag_id != _BODY:
            return False
        closed = False
        before = node.prev
        for _ in range(_MAX_HEAD_SIBLINGS):
            if before is None:
                break
            if before.tag_id in _HEAD_CLOSERS:
                closed = True
            elif before.tag_id not in _HEAD_CONTENT and (
                before.tag_id != _TEXT or before.text().strip()
            ):
                return False
            before = before.prev
        return closed and before is None and self._head_has_another_canonical()

    def _head_has_another_canonical(self) -> bool:
        """By the source: does the word stand in the head more often than it was found there?"""
        if self._canonicals_in_head is None:
            head_end = _END_OF_HEAD.search(self._markup)
            head = self._markup[: head_end.start()] if head_end else self._markup
            self._canonicals_in_head = head.lower().count(b"canonical")
        return self._canonicals_in_head > len(self._collector.canonicals)


def _anchor_text(anchor: LexborNode) -> str:
    """The text that an element shows, white space collapsed, cut to 200 characters."""
    first = anchor.first_child
    if first is None:
        return ""
    if first.tag_id == _TEXT and first.next is None:
        return shown_text(first.text(), MAX_ANCHOR_CHARS)
    return shown_text("".join(_shown_texts(anchor, first)), MAX_ANCHOR_CHARS)


def _shown_texts(anchor: LexborNode, node: LexborNode) -> Iterator[str]:
    """The texts below an element from its first child on, blocks and pictures set apart by a blank,
    until there is enough or 300 nodes have been seen.
    """
    top = anchor.mem_id
    raw_chars = 0
    for _ in range(_MAX_ANCHOR_NODES):
        tag = node.tag_id
        child = None
        if tag == _TEXT:
            text = node.text()
            yield text
            raw_chars += len(text)
            if raw_chars > MAX_ANCHOR_CHARS * RAW_PER_SHOWN_CHAR:
                return
        else:
            if tag not in _INLINE:
                yield " "
            if tag not in _UNSHOWN:
                child = node.first_child
        if child is not None:
            node = child
            continue
        while (following := node.next) is None:
            parent = node.parent
            if parent is None or parent.mem_id == top:
                return
            node = parent
            if node.tag_id not in _INLINE:
                yield " "
        node = following


def _shadow_root(template: LexborNode) -> LexborNode | None:
    """The content of a template that declares a shadow root, which browsers show; else None."""
    mode = template.attributes.get("shadowrootmode")
    if mode is None or mode.lower() not in ("open", "closed"):
        return None
    content = template.template_fragments()
    return content[0] if content else None


def _foreign_elements(root: LexborNode) -> dict[int, bool]:
    """The elements of SVG (True) and MathML (False) in the subtree of an svg or math element.

    lexbor does not tell namespaces, but the parser's rules say what they are on the way down.
    """
    found = {root.mem_id: root.tag_id == _SVG}
    below: list[tuple[LexborNode, bool | None]] = [(root, root.tag_id == _SVG)]
    while below:
        parent, parent_space = below.pop()
        parent_tag = parent.tag_id
        for child in parent.iter():
            space = _space(child.tag_id, parent, parent_tag, parent_space)
            if space is not None:
                found[child.mem_id] = space
            below.append((child, space))
    return found


def _space(tag: int, parent: LexborNode, parent_tag: int, parent_space: bool | None) -> bool | None:
    """The namespace of a child: SVG (True), MathML (False) or HTML (None).

    Source: WHATWG HTML 13.2.6, "MathML text integration point", "HTML integration point", and the
    tree construction dispatcher.
    """
    if parent_space is True and parent_tag not in _SVG_WITH_HTML:
        return True
    if parent_space is False:
        if parent_tag in _MATHML_TEXT:
            if tag in _GLYPHS:
                return False
        elif parent_tag != _ANNOTATION:
            return False
        elif tag != _SVG:
            encoding = (parent.attributes.get("encoding") or "").lower()
            if encoding not in ("text/html", "application/xhtml+xml"):
                return False
    return tag == _SVG if tag in _FOREIGN_ROOTS else None
