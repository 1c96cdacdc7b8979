"""What the elements of one page say, gathered in document order by whichever parser reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mercator.content.attribute_values import (
    MAX_TITLE_CHARS,
    refresh_target,
    rel_tokens,
    shown_text,
    srcset_urls,
)
from mercator.values import RawLink

Attributes = Mapping[str, str | None]
"""Names in lower case; an attribute without a value has None."""

LINK_RELATIONS = frozenset(("canonical", "next", "prev", "alternate", "sitemap"))
"""A link element or Link field with one of these leads to a page, if it is no style sheet."""

_MAX_ROBOTS_METAS = 100
_MAX_CANONICALS = 100


class PageElements(NamedTuple):
    """What one page holds, before anything is resolved; all texts are HTML-decoded.

    `base_href` is that of the first base with an href. `canonicals` are the hrefs of the canonical
    links in the head, `robots_metas` the contents of the metas that speak to this crawler.
    Threads: immutable.
    """

    base_href: str | None
    title: str | None
    canonicals: tuple[str, ...]
    robots_metas: tuple[str, ...]
    links: tuple[RawLink, ...]


class ElementCollector:
    """Gathers `PageElements`; the parsers call one method for each element that matters.

    A link is kept once for each (href, kind, rel), with the anchor it had first, so that a menu
    that is repeated a thousand times cannot use up `max_links`. `user_agent` is the product token.
    Threads: confined to the thread that parses.
    """

    __slots__ = (
        "_max_links",
        "_robots_metas",
        "_robots_names",
        "_seen",
        "base_href",
        "canonicals",
        "links",
        "title",
    )

    def __init__(self, user_agent: str, max_links: int) -> None:
        self._robots_names = ("robots", "*", user_agent.lower())
        self._max_links = max_links
        self._seen: set[tuple[str, str, str]] = set()
        self.canonicals: list[str] = []
        self._robots_metas: list[str] = []
        self.links: list[RawLink] = []
        self.base_href: str | None = None
        self.title: str | None = None

    def wants(self, href: str, kind: str, rel: str) -> bool:
        """Is this a link not yet kept, and is there room? If so the caller adds it to `links`."""
        seen = self._seen
        key = (href, kind, rel)
        if key in seen or len(seen) >= self._max_links:
            return False
        seen.add(key)
        return True

    def add(self, href: str, kind: str, rel: str = "", anchor: str = "") -> None:
        """A link, unless it is kept already."""
        if self.wants(href, kind, rel):
            self.links.append(RawLink(href, kind, rel, anchor))

    def base(self, attributes: Attributes) -> None:
        """A base element: the first with an href counts, wherever it stands."""
        if self.base_href is None and "href" in attributes:
            self.base_href = attributes["href"] or ""

    def first_title(self, text: str) -> None:
        """The text of the first title element; one without text gives None."""
        if self.title is None:
            self.title = shown_text(text, MAX_TITLE_CHARS)

    def link(self, attributes: Attributes) -> bool:
        """A link element. Says whether it is a canonical one, for which the place matters."""
        href = attributes.get("href")
        rel = attributes.get("rel")
        if not href or not rel:
            return False
        tokens = rel_tokens(rel)
        relations = set(tokens.split())
        if not relations.isdisjoint(LINK_RELATIONS) and "stylesheet" not in relations:
            self.add(href, "link", tokens)
        return "canonical" in relations

    def canonical(self, href: str) -> None:
        """The href of a canonical link in the head."""
        if len(self.canonicals) < _MAX_CANONICALS:
            self.canonicals.append(href)

    def meta(self, attributes: Attributes) -> None:
        """A meta element: a refresh pragma, or rules for robots."""
        content = attributes.get("content")
        if content is None:
            return
        if (attributes.get("http-equiv") or "").lower() == "refresh":
            target = refresh_target(content)
            if target:
                self.add(target, "meta-refresh")
        name = attributes.get("name")
        if (
            name
            and name.strip().lower() in self._robots_names
            and len(self._robots_metas) < _MAX_ROBOTS_METAS
        ):
            self._robots_metas.append(content)

    def image(self, attributes: Attributes) -> None:
        """An img element."""
        src = attributes.get("src")
        # data: URLs are no links; dropped here because they may be most of a page.
        if src and src[:5].lower() != "data:":
            self.add(src, "img")
        self.srcset(attributes)

    def srcset(self, attributes: Attributes) -> None:
        """The candidates of an img element or of a source element in a picture."""
        srcset = attributes.get("srcset")
        if srcset:
            for url in srcset_urls(srcset):
                if url[:5].lower() != "data:":
                    self.add(url, "img")

    def elements(self) -> PageElements:
        """All that was gathered."""
        return PageElements(
            self.base_href,
            self.title or None,
            tuple(self.canonicals),
            tuple(self._robots_metas),
            tuple(self.links),
        )
