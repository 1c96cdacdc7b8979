"""Keys and shards are part of the disk format."""

from __future__ import annotations

import pytest

from mercator.urls.splitter import shard_of
from mercator.urls.url_key import host_id, url_key

# These values may never change: the tables of every store on disk are keyed by them. With other
# values a store would see all of its URLs as new and fetch each of them again.
GOLDEN = [
    (
        "https://example.org/",
        "example.org",
        "4037554f7ebc",
        "4037554f7ebc9db2570db118aad0d506",
        "4037554f7ebc9fd2d8fdb32d1b110c60",
    ),
    (
        "https://example.org/a?b=1",
        "example.org",
        "4037554f7ebc",
        "4037554f7ebc9f5d6ee01b4d9a0cce13",
        "4037554f7ebcee860b80a27319e4a44a",
    ),
    (
        "http://[::1]:8080/",
        "[::1]",
        "f0cecd338db8",
        "f0cecd338db82cc009a7a598fbd4eb09",
        "f0cecd338db83190b261136188291c54",
    ),
    (
        "http://xn--bcher-kva.example/x",
        "xn--bcher-kva.example",
        "67519d0e20d5",
        "67519d0e20d5d915a75711da22158ded",
        "67519d0e20d5ab0dd89f2870a5d539bb",
    ),
]


@pytest.mark.parametrize(("key_url", "host", "prefix", "first", "second"), GOLDEN)
def test_golden_keys(key_url: str, host: str, prefix: str, first: str, second: str) -> None:
    assert host_id(host).hex() == prefix
    assert url_key(key_url, host).hex() == first
    assert url_key(key_url, host, 1).hex() == second


def test_the_hash_is_the_published_one() -> None:
    # XXH3 of no bytes, as the xxHash project publishes it: 64 bits, then 128 bits.
    assert host_id("") == bytes.fromhex("2d06800538d394c2")[:6]
    assert url_key("", "")[6:] == bytes.fromhex("99aa06d3014798d86001c324468d497f")[:10]


def test_a_probe_gives_another_key_of_the_same_host() -> None:
    keys = {url_key("http://example.org/", "example.org", probe) for probe in range(100)}
    assert len(keys) == 100
    assert {key[:6] for key in keys} == {host_id("example.org")}


# These may never change either: a host's pending URLs and its clock lie in the shard that owned it
# when they were written, and two shards must never ask one host.
GOLDEN_SHARDS = [
    ("example.org", 1, 0),
    ("example.org", 2, 0),
    ("example.org", 3, 0),
    ("example.org", 16, 12),
    ("example.org", 1000, 92),
    ("[::1]", 1, 0),
    ("[::1]", 2, 0),
    ("[::1]", 3, 1),
    ("[::1]", 16, 8),
    ("[::1]", 1000, 112),
    ("xn--bcher-kva.example", 1, 0),
    ("xn--bcher-kva.example", 2, 1),
    ("xn--bcher-kva.example", 3, 0),
    ("xn--bcher-kva.example", 16, 5),
    ("xn--bcher-kva.example", 1000, 725),
    ("h0000.test", 1, 0),
    ("h0000.test", 2, 0),
    ("h0000.test", 3, 2),
    ("h0000.test", 16, 2),
    ("h0000.test", 1000, 650),
]


@pytest.mark.parametrize(("host", "shards", "owner"), GOLDEN_SHARDS)
def test_golden_shards(host: str, shards: int, owner: int) -> None:
    assert shard_of(host, shards) == owner


def test_shards_get_even_shares() -> None:
    counts = [0] * 7
    for i in range(7000):
        counts[shard_of(f"h{i:04d}.test", 7)] += 1
    assert max(counts) - min(counts) < 150


@pytest.mark.parametrize("shards", [0, -1])
def test_there_is_at_least_one_shard(shards: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        shard_of("example.org", shards)
