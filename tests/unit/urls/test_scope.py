"""What seeds open, and what stays closed."""

from __future__ import annotations

import socket

import pytest

from mercator.config import Scope as ScopeKind
from mercator.config import UrlPolicy
from mercator.urls.canonical import Canonicalizer
from mercator.urls.scope import Scope, registrable_domain
from mercator.values import CanonicalUrl


def _url(text: str, policy: UrlPolicy = "standard") -> CanonicalUrl:
    found = Canonicalizer(policy).parse(text)
    assert isinstance(found, CanonicalUrl)
    return found


def _opened(kind: ScopeKind, seed: str, policy: UrlPolicy = "standard") -> Scope:
    scope = Scope(kind)
    entry = scope.entry_of(_url(seed, policy))
    assert entry is not None
    return scope.with_entries([entry])


@pytest.mark.parametrize(
    ("kind", "seed", "entry"),
    [
        ("host", "https://www.Example.org:8443/a/b", "host:www.example.org"),
        ("host", "http://[::1]:80/", "host:[::1]"),
        ("domain", "https://www.example.co.uk/a", "domain:example.co.uk"),
        ("prefix", "https://example.org/a/b?c=/d/", "prefix:https://example.org/a/"),
        ("prefix", "https://example.org", "prefix:https://example.org/"),
        ("prefix", "https://example.org:81/%7Ea/", "prefix:https://example.org:81/~a/"),
        ("any", "https://example.org/", None),
    ],
)
def test_entry_of_a_seed(kind: ScopeKind, seed: str, entry: str | None) -> None:
    assert Scope(kind).entry_of(_url(seed)) == entry


@pytest.mark.parametrize(
    ("kind", "seed", "inside", "outside"),
    [
        (
            "host",
            "https://example.org/a/",
            ["http://example.org/", "https://example.org:8443/x", "https://example.org/a/b"],
            ["https://www.example.org/", "https://example.org./", "https://example.com/"],
        ),
        (
            "domain",
            "https://www.example.co.uk/",
            ["http://example.co.uk/", "https://a.b.example.co.uk:81/x", "http://example.co.uk./"],
            ["http://other.co.uk/", "http://co.uk/", "http://notexample.co.uk/"],
        ),
        (
            "prefix",
            "https://example.org/a/b.html",
            ["https://example.org/a/", "https://example.org/a/c/d?e", "https://example.org/a/%62"],
            [
                "https://example.org/",
                "https://example.org/a",
                "https://example.org/ab/",
                "https://example.org/?x=/a/",
                "http://example.org/a/",
                "https://example.org:81/a/",
                "https://example.com/a/",
            ],
        ),
    ],
)
def test_what_a_seed_opens(
    kind: ScopeKind, seed: str, inside: list[str], outside: list[str]
) -> None:
    scope = _opened(kind, seed)
    assert scope.admits(_url(seed))
    assert [text for text in inside if not scope.admits(_url(text))] == []
    assert [text for text in outside if scope.admits(_url(text))] == []


def test_nothing_is_open_without_entries_but_any() -> None:
    url = _url("https://example.org/")
    assert not Scope("host").admits(url)
    assert not Scope("domain").admits(url)
    assert not Scope("prefix").admits(url)
    assert Scope("any").admits(url)


@pytest.mark.parametrize("seed", ["https://example.org/a/", "https://example.org/a/index.html"])
def test_a_folder_whose_key_lost_its_slash_does_not_open_the_whole_host(seed: str) -> None:
    scope = _opened("prefix", seed, "aggressive")
    assert scope.entries == {"prefix:https://example.org/a/"}
    assert scope.admits(_url(seed, "aggressive"))
    assert scope.admits(_url("https://example.org/a/b", "aggressive"))
    assert not scope.admits(_url("https://example.org/b/", "aggressive"))


def test_expressions_are_searched_in_the_key() -> None:
    scope = Scope("any", include=(r"/docs/", r"\.org/x"), exclude=(r"[?&]print=1\b",))
    assert scope.admits(_url("https://example.com/docs/a"))
    assert scope.admits(_url("https://example.org/x"))
    assert not scope.admits(_url("https://example.com/blog/"))
    assert not scope.admits(_url("https://example.com/docs/a?print=1"))
    assert not scope.admits(_url("https://example.com/docs/a?z=1&utm_id=5&print=1"))
    assert scope.admits(_url("https://example.com/a?utm_id=/docs/")) is False


def test_an_exclusion_needs_no_inclusion() -> None:
    scope = Scope("any", exclude=("/private/",))
    assert scope.admits(_url("https://example.com/"))
    assert not scope.admits(_url("https://example.com/private/x"))


def test_new_entries_make_a_new_scope() -> None:
    scope = Scope("host", frozenset(("host:a.test",)), ("a",), ("b",))
    wider = scope.with_entries(["host:c.test"])
    assert scope.entries == {"host:a.test"}
    assert wider == Scope("host", frozenset(("host:a.test", "host:c.test")), ("a",), ("b",))


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.example.com", "example.com"),
        ("example.com", "example.com"),
        ("www.example.com.", "example.com"),
        ("www.h0000.test.", "h0000.test"),
        ("a.example.co.jp", "example.co.jp"),
        ("me.github.io", "github.io"),
        ("www.xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd.xn--p1ai"),
        ("www.h0000.test", "h0000.test"),
        ("h0000.test", "h0000.test"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("a..com", "a..com"),
    ],
)
def test_registrable_domain(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


def test_the_suffix_list_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a suffix list was asked for")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    from mercator.urls import scope

    scope._suffix_list.cache_clear()
    scope.registrable_domain.cache_clear()
    assert registrable_domain("www.example.com") == "example.com"
