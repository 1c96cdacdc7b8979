"""Step 16 of a URL's way: a fetched body becomes text, links and signals, with one parse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mercator.content import media_type
from mercator.content.decode import decide, decode
from mercator.content.elements import PageElements
from mercator.content.headers import HeaderElements, read_headers
from mercator.content.robots_meta import robots_flags
from mercator.content.tree_links import read_elements
from mercator.content.xml_links import read_xhtml
from mercator.urls.canonical import Canonicalizer
from mercator.values import CanonicalUrl, ParsedPage, RawLink, RefusedUrl

_RESOLVER = Canonicalizer("conservative")
_NO_ELEMENTS = PageElements(None, None, (), (), ())
_NO_BASE_SCHEMES = ("data:", "javascript:")


def parse_page(
    body: bytes,
    *,
    url: str,
    content_type: str | None,
    headers: Sequence[tuple[str, str]],
    user_agent: str,
    max_links: int,
) -> ParsedPage:
    """Everything that a response says about itself and about other pages.

    `body` is decompressed, any bytes; `url` is the canonical URL it was fetched from; `headers` are
    the response's fields, names in any case; `user_agent` is the product token that rules for
    robots may name; at most `max_links` links are kept, those of the header fields and then of the
    page in document order. Without a usable Content-Type the body is read as HTML. Types other
    than HTML and XHTML give no links from the body, and types that are no text no encoding ("",
    ""). Never raises. O(length), whatever the bytes: the dearest 100 KB take about
    a second, the dearest 10 MiB a few (`markup_bounds`).
    """
    essence = media_type.parse(content_type)[0] if content_type is not None else ""
    encoding, encoding_from = (
        decide(body, content_type) if media_type.is_text(essence) else ("", "")
    )
    elements = _NO_ELEMENTS
    if media_type.is_html(essence) or media_type.is_xhtml(essence):
        elements = _read(body, essence, encoding, user_agent, max_links)
    said = read_headers(headers)
    base_url = _base_url(elements.base_href, url, encoding)
    flags = robots_flags(elements.robots_metas, headers, user_agent)
    return ParsedPage(
        encoding=encoding,
        encoding_from=encoding_from,
        base_url=base_url,
        title=elements.title,
        links=_links(said, elements, url, base_url, max_links),
        canonical=_canonical(said, elements, url, base_url, encoding),
        noindex=flags.noindex,
        nofollow=flags.nofollow,
    )


def utf_8(body: bytes, encoding: str) -> bytes:
    """The text of a body as UTF-8 bytes without a byte order mark, as the parsers take it.

    Bad bytes of a UTF-8 page stay what they are: the parsers read them as U+FFFD, one by one.
    """
    if encoding == "UTF-8":
        return body.removeprefix(b"\xef\xbb\xbf")
    return decode(body, encoding).encode()


def _read(
    body: bytes, essence: str, encoding: str, user_agent: str, max_links: int
) -> PageElements:
    markup = utf_8(body, encoding)
    if media_type.is_xhtml(essence):
        elements = read_xhtml(markup, user_agent, max_links)
        if elements is not None:
            return elements
    return read_elements(markup, user_agent, max_links)


def _base_url(base_href: str | None, url: str, encoding: str) -> str:
    """The document base: that of the base element if it parses and its scheme may be one.

    Source: WHATWG HTML 4.2.3, "set the frozen base URL".
    """
    if base_href is None:
        return url
    base = _RESOLVER.parse(base_href, url, encoding or "utf-8")
    if base is None or base.url.startswith(_NO_BASE_SCHEMES):
        return url
    return base.url


def _links(
    said: HeaderElements, elements: PageElements, url: str, base_url: str, max_links: int
) -> tuple[RawLink, ...]:
    if not said.links:
        return elements.links[:max_links]
    header_links: Iterable[RawLink] = said.links
    if base_url != url:
        # Links are resolved against base_url; those of the header are relative to the response.
        header_links = [
            link._replace(href=absolute.url)
            for link in said.links
            if (absolute := _RESOLVER.parse(link.href, url)) is not None
        ]
    return (*header_links, *elements.links)[:max_links]


def _canonical(
    said: HeaderElements, elements: PageElements, url: str, base_url: str, encoding: str
) -> str | None:
    """The one canonical URL that the page names; None when it names none or several.

    References that are no http(s) URL do not count. Source: RFC 6596; that several contradict each
    other and none is taken is Google's rule.
    """
    named: dict[str, str] = {}
    resolved: list[CanonicalUrl | RefusedUrl | None] = [
        _RESOLVER.parse(href, base_url, encoding or "utf-8") for href in elements.canonicals
    ]
    resolved += [_RESOLVER.parse(target, url) for target in said.canonicals]
    for canonical in resolved:
        if isinstance(canonical, CanonicalUrl):
            named.setdefault(canonical.key_url, canonical.url)
    return next(iter(named.values())) if len(named) == 1 else None
