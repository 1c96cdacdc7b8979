"""Seeds as a person gives them: what is no URL is said, and a real site needs a contact."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mercator import Crawl
from mercator.config import CrawlConfig
from mercator.errors import ConfigError, UsageError
from mercator.seeds import check_contact, parsed_seeds
from mercator.values import CanonicalUrl, Reason, RefusedUrl

DEFAULT = CrawlConfig()


def needs_contact(seeds: Sequence[str], **fields: Any) -> bool:
    try:
        check_contact(seeds, CrawlConfig(**fields))
    except UsageError:
        return True
    return False


# -- texts -----------------------------------------------------------------------------------------


def test_seeds_become_urls_in_their_order() -> None:
    urls = parsed_seeds(["http://b.test/x#part", "HTTP://A.test"], DEFAULT)
    assert urls == [
        CanonicalUrl("http://b.test/x", "http://b.test/x", "b.test"),
        CanonicalUrl("http://a.test/", "http://a.test/", "a.test"),
    ]


def test_a_seed_that_comes_twice_is_given_twice() -> None:
    assert len(parsed_seeds(["http://a.test/", "http://a.test/"], DEFAULT)) == 2


def test_no_seeds_are_no_urls() -> None:
    assert parsed_seeds([], DEFAULT) == []


def test_the_key_is_made_under_the_policy_that_is_set() -> None:
    (plain,) = parsed_seeds(["http://a.test/?utm_source=x"], CrawlConfig(url_policy="conservative"))
    (clean,) = parsed_seeds(["http://a.test/?utm_source=x"], CrawlConfig(url_policy="standard"))
    assert isinstance(plain, CanonicalUrl)
    assert isinstance(clean, CanonicalUrl)
    assert plain.url == clean.url
    assert plain.key_url != clean.key_url


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("http://me@a.test/", Reason.INVALID_URL),
        ("mailto:me@a.test", Reason.UNSUPPORTED_SCHEME),
        ("http://a.test/" + "x" * 3000, Reason.URL_TOO_LONG),
    ],
)
def test_a_url_that_is_not_ours_to_crawl_is_kept_with_its_reason(text: str, reason: Reason) -> None:
    (url,) = parsed_seeds([text], DEFAULT)
    assert isinstance(url, RefusedUrl)
    assert url.reason is reason


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("example.org", "the seed 'example.org' is no URL; did you mean https://example.org?"),
        ("a.test/x?y", "the seed 'a.test/x?y' is no URL; did you mean https://a.test/x?y?"),
        ("", "the seed '' is no URL"),
        ("http://", "the seed 'http://' is no URL"),
        ("two words", "the seed 'two words' is no URL"),
    ],
)
def test_a_text_that_is_no_url_is_named_with_what_may_be_meant(text: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        parsed_seeds(["http://a.test/", text], DEFAULT)
    assert str(error.value) == says


@pytest.mark.parametrize("seed", [None, b"http://a.test/", 7])
def test_a_seed_that_is_no_text_is_named(seed: Any) -> None:
    with pytest.raises(UsageError, match="a seed must be a text, not"):
        parsed_seeds([seed], DEFAULT)


# -- a contact -------------------------------------------------------------------------------------


def test_a_real_site_needs_a_contact_and_is_named() -> None:
    with pytest.raises(UsageError, match=r"^example\.org is a real site: give a contact"):
        check_contact(["https://example.org/x"], DEFAULT)


def test_one_real_site_among_local_ones_needs_a_contact() -> None:
    seeds = ["http://a.test/", "http://example.org/"]
    assert needs_contact(seeds, resolve=("a.test=127.0.0.1",))


def test_with_a_contact_any_site_may_be_asked() -> None:
    assert not needs_contact(["https://example.org/"], contact="me@example.org")


@pytest.mark.parametrize(
    ("seed", "fields"),
    [
        ("http://a.test/", {"resolve": ("a.test=127.0.0.1:80",)}),
        ("http://x.y.test/", {"resolve": ("*.test=127.0.0.1",)}),
        ("http://127.0.0.1:8099/", {"allow_net": ("127.0.0.0/8",)}),
        ("http://[::1]/", {"allow_net": ("10.0.0.0/8", "::1/128")}),
    ],
    ids=str,
)
def test_what_is_named_as_local_needs_none(seed: str, fields: dict[str, Any]) -> None:
    assert not needs_contact([seed], **fields)
    assert needs_contact([seed])


@pytest.mark.parametrize(
    ("seed", "fields"),
    [
        ("http://b.test/", {"resolve": ("a.test=127.0.0.1",)}),
        ("http://test/", {"resolve": ("*.test=127.0.0.1",)}),
        ("http://10.0.0.1/", {"allow_net": ("127.0.0.0/8",)}),
        ("http://[::2]/", {"allow_net": ("0.0.0.0/0", "::1/128")}),
        ("http://localhost/", {"allow_net": ("127.0.0.0/8",)}),
    ],
    ids=str,
)
def test_what_lies_beside_it_needs_one(seed: str, fields: dict[str, Any]) -> None:
    assert needs_contact([seed], **fields)


def test_a_url_that_is_never_asked_needs_none() -> None:
    assert not needs_contact(["mailto:me@example.org", "http://me@example.org/"])


def test_no_seeds_need_none() -> None:
    assert not needs_contact([])


def test_a_seed_that_is_no_url_is_said_before_its_contact() -> None:
    with pytest.raises(UsageError, match="is no URL"):
        check_contact(["nonsense"], DEFAULT)


@pytest.mark.parametrize("contact", [None, "me@example.org"])
@pytest.mark.parametrize("resolve", ["*.test=nonsense", "a.test=127.0.0.1:99999", "a b=127.0.0.1"])
def test_a_resolve_that_is_wrong_is_said_before_anything_is_written(
    tmp_path: Path, contact: str | None, resolve: str
) -> None:
    with pytest.raises(ConfigError, match="resolve"):
        Crawl(
            tmp_path / "store", ["http://a.test/"], CrawlConfig(contact=contact, resolve=(resolve,))
        ).start()
    assert list(tmp_path.iterdir()) == []
