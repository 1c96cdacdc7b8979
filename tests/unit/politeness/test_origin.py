"""Origins in one spelling."""

from __future__ import annotations

import pytest

from mercator.politeness.origin import origin_of, robots_url


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://archive.test/a?b", "https://archive.test"),
        ("https://archive.test", "https://archive.test"),
        ("http://archive.test?x=http://other.test:99/", "http://archive.test"),
        ("http://archive.test#@other.test", "http://archive.test"),
        ("http://archive.test:80/", "http://archive.test"),
        ("https://archive.test:443/", "https://archive.test"),
        ("https://archive.test:80/", "https://archive.test:80"),
        ("http://[2001:db8::1]:8080/a", "http://[2001:db8::1]:8080"),
        ("HTTP://Archive.TEST:080/a", "http://archive.test"),
        ("https://käse.test/a", "https://xn--kse-qla.test"),
        ("http://a_b.test:81/", "http://a_b.test:81"),
    ],
)
def test_origin_of(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize("url", ["", "archive.test/a", "ftp://archive.test/", "http://u:p@a.test/"])
def test_what_is_no_http_url_has_no_origin(url: str) -> None:
    with pytest.raises(ValueError, match="no http"):
        origin_of(url)


def test_robots_url() -> None:
    assert robots_url("https://archive.test:8443") == "https://archive.test:8443/robots.txt"
