"""Both spellings, the reasons of refusals, and the way past the parser."""

from __future__ import annotations

import pytest

from mercator.config import UrlPolicy
from mercator.errors import ConfigError
from mercator.urls import canonical
from mercator.urls.canonical import Canonicalizer, canonicalize, versions
from mercator.values import CanonicalUrl, Reason, RefusedUrl

PAGE = "https://example.org:8443/docs/a/page.html?v=1"


def test_fetch_spelling_and_key_are_kept_apart() -> None:
    found = Canonicalizer().parse("HTTPS://Example.ORG/%7ea%c3%a9/?b=2&utm_id=1&a=1#top")
    assert found == CanonicalUrl(
        "https://example.org/%7ea%c3%a9/?b=2&utm_id=1&a=1",
        "https://example.org/~a%C3%A9/?a=1&b=2",
        "example.org",
    )


def test_the_documents_encoding_is_in_the_fetch_spelling() -> None:
    found = Canonicalizer("conservative").parse("/é?q=é", PAGE, "windows-1252")
    assert isinstance(found, CanonicalUrl)
    assert found.url == "https://example.org:8443/%C3%A9?q=%E9"


@pytest.mark.parametrize("label", ["", "no such", "ｕｔｆ-8", "\ud800"])
def test_an_unknown_label_means_utf_8(label: str) -> None:
    assert canonicalize("/?q=é", PAGE, encoding=label) == "https://example.org:8443/?q=%C3%A9"


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("http://example.org:8080/", "example.org"),
        ("http://EXAMPLE.org./", "example.org."),
        ("http://[2001:DB8::1]:8080/", "[2001:db8::1]"),
        ("http://[::]/", "[::]"),
        ("http://0x7f.1:81/", "127.0.0.1"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
    ],
)
def test_host_is_lower_case_and_without_port(text: str, host: str) -> None:
    found = Canonicalizer().parse(text)
    assert isinstance(found, CanonicalUrl)
    assert found.host == host


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (
            "mailto:a@example.org#x",
            RefusedUrl("mailto:a@example.org", "", Reason.UNSUPPORTED_SCHEME),
        ),
        (
            "ws://u:p@Example.org:81/x#y",
            RefusedUrl("ws://u:p@example.org:81/x", "example.org", Reason.UNSUPPORTED_SCHEME),
        ),
        ("ftp://[::1]:2/", RefusedUrl("ftp://[::1]:2/", "[::1]", Reason.UNSUPPORTED_SCHEME)),
        ("file:///etc", RefusedUrl("file:///etc", "", Reason.UNSUPPORTED_SCHEME)),
        ("data:,a://b/", RefusedUrl("data:,a://b/", "", Reason.UNSUPPORTED_SCHEME)),
        (
            "http://me@example.org:81/x#y",
            RefusedUrl("http://me@example.org:81/x", "example.org", Reason.INVALID_URL),
        ),
        (
            "http://:pw@[::1]:81/",
            RefusedUrl("http://:pw@[::1]:81/", "[::1]", Reason.INVALID_URL),
        ),
        (
            "http://example.org/?gclid=" + "x" * 2083,
            RefusedUrl(
                "http://example.org/?gclid=" + "x" * 2083, "example.org", Reason.URL_TOO_LONG
            ),
        ),
    ],
)
def test_refusals_name_their_reason(text: str, refused: RefusedUrl) -> None:
    assert Canonicalizer().parse(text) == refused
    assert Canonicalizer().for_page(PAGE)(text) == refused


@pytest.mark.parametrize("text", ["", "/a", "http://", "http://a:b:c/", "http://[x]/", "x\ud800"])
def test_what_does_not_parse_is_none(text: str) -> None:
    assert Canonicalizer().parse(text) is None


def test_the_bound_is_a_setting_and_counts_both_spellings() -> None:
    short = Canonicalizer(max_url_bytes=30)
    assert isinstance(short.parse("http://example.org/" + "a" * 11), CanonicalUrl)
    for text in ("http://example.org/" + "a" * 12, "http://example.org/?utm_id=1234"):
        found = short.parse(text)
        assert isinstance(found, RefusedUrl)
        assert found.reason is Reason.URL_TOO_LONG
        assert short.for_page("http://example.org/")(text) == found


def test_canonicalize_measures_the_canonical_form() -> None:
    assert canonicalize("http://example.org/?gclid=" + "x" * 2083) == "http://example.org/"
    assert canonicalize("http://example.org/?x=" + "x" * 2083) is None


def test_an_unknown_policy_is_an_error() -> None:
    wrong: UrlPolicy = "strict"  # type: ignore[assignment]
    with pytest.raises(ConfigError, match="strict"):
        Canonicalizer(wrong)
    with pytest.raises(ConfigError, match="strict"):
        canonicalize("http://example.org/", policy=wrong)


def test_versions_name_all_that_a_key_depends_on() -> None:
    found = versions()
    assert set(found) == {"policy", "policy_lists", "ada_url"}
    assert all(found.values())


PLAIN = [
    "",
    "#top",
    "?v=2",
    "?v=2#top",
    "/",
    "/page/12",
    "/a/b.html#c",
    "/caf%C3%A9/(x);y=1?z=%20&u=http://a/b",
    "page2.html",
    "b/c/",
    "./b",
    "../b.html",
    "../../../../b",
    "https://example.org:8443/x",
    "https://example.com",
    "http://www.example.com/a/b.html?c=d#e",
    "https://example.com?x=1",
    "mailto:me@example.org?subject=x",
    "javascript:void(0)",
]

AWKWARD = [
    "//example.com/x",
    "/a/../b",
    "/a/.hidden",
    "/a//b",
    "/a b",
    "/%2e/a",
    "/é",
    "/a\\b",
    "?q='x'",
    " /x",
    "/x\n",
    "a:b",
    "..",
    "http:x",
    "HTTP://example.com/",
    "http://Example.com/",
    "http://example.com:80/",
    "http://me@example.com/",
    "http://1.2.3.4/",
    "http://a.0x4/",
    "http://xn--a/",
    "http://a.xn--p1ai/",
    "https://example.org:84431/",
    "mailto:a b",
    "javascript:/../x",
]


def _asked(monkeypatch: pytest.MonkeyPatch, base: str, href: str) -> bool:
    """Whether the parser is called for a link (not counting the page's own URL)."""
    calls: list[str] = []
    resolve = Canonicalizer().for_page(base)
    parsed = canonical._parsed

    def counted(text: str, base: str | None, encoding: str) -> str | None:
        calls.append(text)
        return parsed(text, base, encoding)

    monkeypatch.setattr(canonical, "_parsed", counted)
    resolve(href)
    return bool(calls)


@pytest.mark.parametrize("href", PLAIN)
def test_plain_links_do_not_reach_the_parser(monkeypatch: pytest.MonkeyPatch, href: str) -> None:
    assert not _asked(monkeypatch, PAGE, href)


@pytest.mark.parametrize("href", AWKWARD)
def test_awkward_links_are_the_parsers(monkeypatch: pytest.MonkeyPatch, href: str) -> None:
    assert _asked(monkeypatch, PAGE, href)


@pytest.mark.parametrize("policy", ["conservative", "standard", "aggressive"])
@pytest.mark.parametrize("href", PLAIN + AWKWARD)
def test_both_ways_give_the_same(href: str, policy: UrlPolicy) -> None:
    canonicalizer = Canonicalizer(policy)
    assert canonicalizer.for_page(PAGE)(href) == canonicalizer.parse(href, PAGE)


@pytest.mark.parametrize("base", ["", "mailto:x", "https://me@example.org/", "no url"])
def test_a_base_that_is_no_page_is_left_to_the_parser(base: str) -> None:
    canonicalizer = Canonicalizer()
    for href in ("/x", "https://example.com/x", "#x", ""):
        assert canonicalizer.for_page(base)(href) == canonicalizer.parse(href, base)


@pytest.mark.timeout(10)
def test_hostile_lengths_cost_no_more_than_their_length() -> None:
    # Each took minutes when a step copied what was left of the text.
    page = Canonicalizer().for_page("http://example.org/a/b")
    assert page("../" * 800_000 + "x") == CanonicalUrl(
        "http://example.org/x", "http://example.org/x", "example.org"
    )
    endless = "http://example.org/" + "index.html/" * 100_000
    assert canonicalize(endless, policy="aggressive") == "http://example.org/"
