"""Links in header fields: Link (RFC 8288) and Refresh."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from mercator.content.attribute_values import refresh_target, rel_tokens
from mercator.content.elements import LINK_RELATIONS
from mercator.values import RawLink

_MAX_FIELD_CHARS = 65_536
_MAX_LINKS = 500
"""Of all Link fields of a response together."""

_TARGET = re.compile(r"[\t ,]*+<([^>]*+)>")
_PARAMETER = re.compile(
    r"[\t ]*+;[\t ]*+([^\t ;,=]*+)[\t ]*+(?:=[\t ]*+(?:\"((?:[^\"\\]|\\.)*+)\"?|([^;,]*+)))?[^;,]*+",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class HeaderLink(NamedTuple):
    """One link of a Link field: rel tokens in lower case, and whether it has another context.

    Threads: immutable.
    """

    target: str
    rel: str
    has_anchor: bool


def parse_link_field(value: str) -> list[HeaderLink]:
    """The links of one Link field, at most 500, in order.

    Of a link's rel parameters only the first counts. Reading ends where no further `<target>`
    follows; what was read before stays. Never raises. Source: RFC 8288, appendix B.2 and B.3.
    """
    value = value[:_MAX_FIELD_CHARS]
    links: list[HeaderLink] = []
    at = 0
    while len(links) < _MAX_LINKS and (target := _TARGET.match(value, at)):
        at = target.end()
        rel: str | None = None
        has_anchor = False
        while parameter := _PARAMETER.match(value, at):
            at = parameter.end()
            name = parameter[1].lower()
            if name == "rel" and rel is None:
                rel = (
                    _ESCAPED.sub(r"\1", parameter[2])
                    if parameter[2] is not None
                    else parameter[3] or ""
                )
            elif name == "anchor":
                has_anchor = True
        links.append(HeaderLink(target[1].strip("\t "), rel_tokens(rel), has_anchor))
        comma = value.find(",", at)
        if comma < 0:
            break
        at = comma
    return links


class HeaderElements(NamedTuple):
    """What header fields say beside robots' rules: links to follow, and canonical targets.

    Threads: confined to the caller.
    """

    links: list[RawLink]
    canonicals: list[str]


def read_headers(headers: Iterable[tuple[str, str]]) -> HeaderElements:
    """Links of kinds `header` and `header-refresh`, and the targets of canonical links.

    A link with an anchor speaks of another page and is passed over. References are relative to the
    URL of the response, never to a base element (RFC 8288 3.2).
    """
    links: dict[RawLink, None] = {}
    canonicals: list[str] = []
    for name, value in headers:
        field = name.lower()
        if field == "link":
            for target, rel, has_anchor in parse_link_field(value):
                relations = set(rel.split())
                if has_anchor or relations.isdisjoint(LINK_RELATIONS):
                    continue
                if "stylesheet" not in relations:
                    links[RawLink(target, "header", rel, "")] = None
                if "canonical" in relations:
                    canonicals.append(target)
        elif field == "refresh":
            target = refresh_target(value[:_MAX_FIELD_CHARS])
            if target:
                links[RawLink(target, "header-refresh", "", "")] = None
    return HeaderElements(list(links)[:_MAX_LINKS], canonicals[:_MAX_LINKS])
