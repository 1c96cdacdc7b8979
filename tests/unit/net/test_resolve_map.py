"""`--resolve NAME=ADDRESS[:PORT]`, parsed and asked."""

from __future__ import annotations

import pytest

from mercator.errors import ConfigError
from mercator.net.resolve_map import ResolveMap


@pytest.mark.parametrize(
    ("entry", "answer"),
    [
        ("a.test=127.0.0.1", ("127.0.0.1", 0)),
        ("a.test=127.0.0.1:8099", ("127.0.0.1", 8099)),
        ("A.Test.=127.0.0.1:1", ("127.0.0.1", 1)),
        ("a.test=::1", ("::1", 0)),
        ("a.test=[::1]", ("::1", 0)),
        ("a.test=[::1]:65535", ("::1", 65535)),
        ("a.test=2001:db8::8:8099", ("2001:db8::8:8099", 0)),
        (" a.test = 127.0.0.1 ", ("127.0.0.1", 0)),
    ],
)
def test_an_entry_answers_its_name(entry: str, answer: tuple[str, int]) -> None:
    names = ResolveMap((entry,))
    assert names.answer("a.test") == answer
    assert names.answer("A.TEST.") == answer
    assert names.answer("b.a.test") is None
    assert names.answer("test") is None


def test_the_nearest_entry_wins() -> None:
    names = ResolveMap(
        (
            "*.test=10.0.0.1",
            "*.b.test=10.0.0.2:2",
            "c.b.test=10.0.0.3",
            "192.0.2.7=10.0.0.4",
        )
    )
    assert names.answer("c.b.test") == ("10.0.0.3", 0)
    assert names.answer("x.b.test") == ("10.0.0.2", 2)
    assert names.answer("x.c.b.test") == ("10.0.0.2", 2)
    assert names.answer("b.test") == ("10.0.0.1", 0)
    assert names.answer("x.y.z.test") == ("10.0.0.1", 0)
    assert names.answer("test") is None
    assert names.answer("atest") is None
    assert names.answer("test.org") is None
    assert names.answer("192.0.2.7") == ("10.0.0.4", 0)
    assert names.answer("") is None


def test_the_same_twice_is_once() -> None:
    twice = ("a.test=127.0.0.1", "A.test=127.0.0.1")
    assert ResolveMap(twice).answer("a.test") == ("127.0.0.1", 0)


@pytest.mark.parametrize(
    "entries",
    [
        ("",),
        ("a.test",),
        ("=127.0.0.1",),
        ("a.test=",),
        ("a.test=localhost",),
        ("a.test=127.1",),
        ("a.test=127.0.0.1:",),
        ("a.test=127.0.0.1:0",),
        ("a.test=127.0.0.1:65536",),
        ("a.test=127.0.0.1:x",),
        ("a.test=127.0.0.1:\u0661",),
        ("a.test=[127.0.0.1]:80",),
        ("a.test=[::1",),
        ("a.test=[::1]80",),
        ("a.test=::1::",),
        ("*=127.0.0.1",),
        ("*.=127.0.0.1",),
        ("a.*.test=127.0.0.1",),
        ("*test=127.0.0.1",),
        ("a..test=127.0.0.1",),
        ("bücher.test=127.0.0.1",),
        ("a b.test=127.0.0.1",),
        ("a.test=127.0.0.1", "a.test=127.0.0.2"),
        ("*.test=127.0.0.1:1", "*.test=127.0.0.1:2"),
    ],
)
def test_a_bad_entry_is_one_clear_line(entries: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        ResolveMap(entries)
    text = str(caught.value)
    assert text.startswith("resolve")
    assert repr(entries[-1]) in text
    assert "\n" not in text
