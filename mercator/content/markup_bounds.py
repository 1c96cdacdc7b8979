"""Bounds for the tree builder: no page may take minutes or gigabytes to parse.

The WHATWG algorithm is quadratic in three ways that a page of some kilobytes can use: each open
element may be looked at for every tag (nesting); each formatting element that was left open is made
again in every block (`<p><b 1><b 2>...</p><p>x<p>x...`: 37 KB become a gigabyte); and each
attribute of a tag is compared with those before it. None of this moves a link. What is taken out
here is tags that neither carry links nor decide what is markup, and only from pages that could be
too dear.

The bounds are counted, not guessed: tags in comments and scripts count as well, so that they hold
whatever the parser takes the bytes for. Nothing is taken out in a way that could open or close a
comment, a script or a quoted value.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser

_UNCHECKED_TAGS = 600
"""So few tags can do no harm: at most 90,000 elements come of them, 35 MB."""

_MAX_REBUILT = 100_000
"""Formatting elements that may be made again, all blocks together."""

_MAX_TAGS = 16_000
"""All of them may be nested: 0.3 s. Of a page with more only the tags that matter are kept."""

_MAX_KEPT_TAGS = 250_000
"""The rest of a page behind so many is cut off: 60 MB of tree."""

_MAX_ATTRIBUTES = 30_000
"""If all of them stood in one tag, comparing them took a second."""

_UNCHECKED_BYTES = 90_000
"""So few bytes hold no more different attributes than that: names of two bytes and a blank."""

_SEPARATORS = b"\t\n\f\r /\"'"
"""Each attribute stands behind one of these."""

_MANY_ATTRIBUTES = 1_000
"""When there is too much to compare, tags with more are taken out."""

_MAX_LOOKS = 4
"""How often each byte may be looked at as part of a tag that begins inside another."""

_MAX_ROOT_STARTS = 4
"""Every further `<html x=1>` or `<body y=2>` would add its attributes to one element."""

_WITHOUT_EVENTS = 1
"""Lexbor's LXB_DOM_DOCUMENT_OPT_WO_EVENTS: no copying of options into selectedcontent elements."""

_SPACE = rb"\t\n\f\r "
_NAME_REST = rb"[^%b/>\"'<=]*+(?=[%b/>])" % ((_SPACE,) * 2)
_SIMPLE_REST = (
    rb"[^<>\"'=]*+(?:(?<![%b/\"'])=[%b]*+(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^%b\"'<>]++)[^<>\"'=]*+)*+>"
    % ((_SPACE,) * 3)
)
"""Attributes of a tag that surely ends at this `>`: no quote stands where it could hide one."""

_REMOVABLE = _SIMPLE_REST + rb"(?<!-->)(?<!--!>)"
"""In a comment such a "tag" may hold the comment's end."""


def _one_of(names: str) -> bytes:
    """A pattern for tag names in any case; twice as fast as re.IGNORECASE."""
    words = [
        "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in name)
        for name in names.split()
    ]
    firsts = "".join({letter for name in names.split() for letter in (name[0], name[0].upper())})
    return f"(?=[{firsts}])(?:{'|'.join(words)})(?=[\\t\\n\\f\\r />])".encode()


_FORMATTING = _one_of("b big code em font i nobr s small strike strong tt u")
_KEPT = _one_of(
    "a template iframe title script style textarea xmp plaintext noembed noframes "
    "/a /template /iframe /title /script /style /textarea /xmp /noembed /noframes "
    "area base img link meta source frame frameset"
)
_FORMATTING_START = re.compile(b"<" + _FORMATTING + b"(" + _SIMPLE_REST + b")?")
_FORMATTING_TAG = re.compile(b"</?" + _FORMATTING + _REMOVABLE)
_UNKEPT_START = re.compile(b"<(?!" + _KEPT + b")/?[a-zA-Z]")
_UNKEPT_TAG = re.compile(_UNKEPT_START.pattern + _NAME_REST + _REMOVABLE)
_ANY_START = re.compile(rb"<[a-zA-Z/!?]")
_HEAD_TAG = re.compile(b"</?" + _one_of("html head noscript"))
_ROOT_START = re.compile(b"<(" + _one_of("html body") + b")")

_AWKWARD_START = re.compile(
    rb"<[a-zA-Z](?:(?!%b%b)|(?=[^<>]{%d}))" % (_NAME_REST, _SIMPLE_REST, 2 * _MANY_ATTRIBUTES)
)
"""Where a tag with many attributes may begin: one that is not plain, or is long."""

_ATTRIBUTE = (
    rb"[%b/]*+[^%b/>][^%b/>=]*+"
    rb"(?:[%b]*+=[%b]*+(?:\"[^\"]*+\"?|'[^']*+'?|[^%b\"'>][^%b>]*+|(?=>)))?+" % ((_SPACE,) * 7)
)
_TAG = re.compile(rb"<[a-zA-Z][^%b/>]*+((?:%b)*+)[%b/]*+>?" % (_SPACE, _ATTRIBUTE, _SPACE))
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE)


def bounded(markup: bytes) -> bytes:
    """The markup itself, or thinned if the tree builder could take too much time or memory over it.

    Of what comes out, `tree_of` builds a tree within about a second and 100 MB. Up to 600 tags and
    90 KB are not looked at; more are looked through, in about a fifth of the time of their parse.
    Never raises. O(length).
    """
    tags = markup.count(b"<")
    if tags > _MAX_TAGS:
        markup = _thinned(markup)
    elif tags > _UNCHECKED_TAGS and tags * _open_formatting(markup) > _MAX_REBUILT:
        markup = _FORMATTING_TAG.sub(b"", markup)
        if tags * _open_formatting(markup) > _MAX_REBUILT:
            markup = _thinned(markup)
    if len(markup) > _UNCHECKED_BYTES:
        separators = len(markup) - len(markup.translate(None, _SEPARATORS))
        if separators > _MAX_ATTRIBUTES:
            markup = _with_few_root_starts(_without_huge_tags(markup))
    return markup


def tree_of(bounded_markup: bytes) -> LexborHTMLParser:
    """The tree of a page in UTF-8 (bad bytes read as U+FFFD) that has been through `bounded`."""
    return LexborHTMLParser(bounded_markup, options=_WITHOUT_EVENTS)


def _open_formatting(markup: bytes) -> int:
    """At most how many formatting elements can be open at once.

    Of equal ones the algorithm keeps three (WHATWG HTML 13.2.4.3, the "Noah's Ark clause"); one
    whose attributes are not plain is taken for different from all others.
    """
    starts = _FORMATTING_START.findall(markup)
    return 3 * (len(set(starts)) + starts.count(b""))


def _thinned(markup: bytes) -> bytes:
    """Only the tags that carry links or whose content is no markup; pictures lose their frame.

    The first of the other tags, where the head ends, becomes `<body>`. Those with awkward
    attributes are not taken out but become comments, so that none of them is left in the tree.
    """
    markup = _HEAD_TAG.sub(b"<!", _FORMATTING_TAG.sub(b"", markup))
    first = _UNKEPT_START.search(markup)
    if first is not None:
        rest = _UNKEPT_TAG.sub(b" ", markup[first.start() :])
        markup = markup[: first.start()] + b"<body>" + _UNKEPT_START.sub(b"<!x", rest)
    if markup.count(b"<") > _MAX_KEPT_TAGS:
        for number, start in enumerate(_ANY_START.finditer(markup)):
            if number == _MAX_KEPT_TAGS:
                return markup[: start.start()]
    return markup


def _without_huge_tags(markup: bytes) -> bytes:
    """Takes the largest tags out when all together have too many attributes to compare.

    Every place where the parser might see a tag begin is looked at, also inside of other tags.
    """
    many: list[tuple[int, int]] = []
    compared = 0
    budget_bytes = _MAX_LOOKS * len(markup)
    for start in _AWKWARD_START.finditer(markup):
        tag = _TAG.match(markup, start.start())
        if tag is None:  # cannot be: what begins a tag matches up to the end at worst
            continue
        budget_bytes -= tag.end() - tag.start()
        if budget_bytes < 0:
            # Tags within tags within tags: what is ahead is not worth a look at each of them.
            markup = _thinned(markup[: start.start()])
            break
        if len(tag[1]) > 2 * _MANY_ATTRIBUTES:
            attributes = sum(1 for _ in _ONE_ATTRIBUTE.finditer(tag[1]))
            compared += attributes * attributes
            if attributes > _MANY_ATTRIBUTES:
                many.append(tag.span())
    if compared <= _MAX_ATTRIBUTES**2:
        return markup
    parts = []
    at = 0
    for start_at, end in many:
        parts.append(markup[at:start_at])
        at = max(at, end)
    parts.append(markup[at:])
    return b"".join(parts)


def _with_few_root_starts(markup: bytes) -> bytes:
    """Later `<html ...>` and `<body ...>` tags become elements of their own."""
    starts = 0

    def renamed(start: re.Match[bytes]) -> bytes:
        nonlocal starts
        starts += 1
        return start[0] if starts <= _MAX_ROOT_STARTS else b"<x-" + start[1]

    return _ROOT_START.sub(renamed, markup)
