"""RFC 9309 wants a parser that takes what it can from anything: it never raises, and never hangs."""

from __future__ import annotations

import re
import string

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mercator.politeness.robots_rules import RobotsRules, whole_lines

NAMES = rb"User-agent disallow ALLOW Crawl-delay Sitemap mercator omega a b 9 1e9".split()
SIGNS = rb": # * $ / %2F % %4 ? .".split()
BLANKS = [b" ", b"\t", b"\n", b"\r\n", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf"]
words = st.sampled_from([*NAMES, *SIGNS, *BLANKS])
UNRESERVED = string.ascii_letters + string.digits + "-._~"
SPELLINGS = ("{}", "%{:02x}", "%{:02X}")

files = st.one_of(st.binary(max_size=300), st.lists(words, max_size=60).map(b"".join))
paths = st.text("ab/*$?%2F.é", max_size=30)
pieces = st.text("ab*", min_size=1, max_size=12)
targets = st.text("ab", max_size=12)


@given(body=files, user_agent=st.text(max_size=20), url=st.text(), path=paths)
@example(body=b"User-agent: *\nDisallow: /", user_agent="\ud800", url="\ud800", path="\ud800")
@settings(max_examples=400, deadline=None)
def test_any_bytes_give_an_answer(body: bytes, user_agent: str, url: str, path: str) -> None:
    rules = RobotsRules.parse(body, user_agent)
    assert isinstance(rules.allows("https://archive.test/" + path), bool)
    assert isinstance(rules.allows(url), bool)
    assert rules.allows("https://archive.test/robots.txt")
    assert rules.crawl_delay_s is None or 0 <= rules.crawl_delay_s < float("inf")


@given(pattern=pieces, anchored=st.booleans(), target=targets)
@settings(max_examples=600, deadline=None)
def test_stars_mean_what_a_regular_expression_says(
    pattern: str, anchored: bool, target: str
) -> None:
    line = f"User-agent: *\nDisallow: /{pattern}{'$' if anchored else ''}"
    spelled = re.escape("/" + pattern).replace(r"\*", ".*") + ("$" if anchored else "")
    expected = re.match(spelled, "/" + target) is None
    assert RobotsRules.parse(line.encode(), "x").allows("https://a.test/" + target) is expected


@given(rules=st.lists(st.tuples(st.booleans(), pieces, st.booleans()), max_size=12), target=targets)
@settings(max_examples=400, deadline=None)
def test_the_longest_of_the_matching_rules_decides(
    rules: list[tuple[bool, str, bool]], target: str
) -> None:
    lines = ["User-agent: *"]
    best = (0, True)
    for allow, pattern, anchored in rules:
        text = f"/{pattern}{'$' if anchored else ''}"
        lines.append(f"{'Allow' if allow else 'Disallow'}: {text}")
        alone = RobotsRules.parse(f"User-agent: *\nDisallow: {text}".encode(), "x")
        if not alone.allows("https://a.test/" + target):
            best = max(best, (len(text), allow))
    read = RobotsRules.parse("\n".join(lines).encode(), "x")
    assert read.allows("https://a.test/" + target) is best[1]


@given(
    octets=st.lists(
        st.tuples(st.integers(0, 255), st.sampled_from(SPELLINGS), st.sampled_from(SPELLINGS))
    )
)
@settings(deadline=None)
def test_how_an_octet_is_escaped_changes_nothing(octets: list[tuple[int, str, str]]) -> None:
    rule = "".join(_spelt(octet, spelling) for octet, spelling, _ in octets)
    path = "".join(_spelt(octet, spelling) for octet, _, spelling in octets)
    rules = RobotsRules.parse(f"User-agent: *\nDisallow: /{rule}$".encode(), "x")
    assert not rules.allows("https://a.test/" + path)


def _spelt(octet: int, spelling: str) -> str:
    if spelling == "{}" and chr(octet) in UNRESERVED:
        return chr(octet)
    return (SPELLINGS[1] if spelling == "{}" else spelling).format(octet)


@given(body=st.binary(max_size=200), cut=st.booleans())
@settings(deadline=None)
def test_whole_lines_are_a_beginning_that_ends_where_a_line_ends(body: bytes, cut: bool) -> None:
    kept = whole_lines(body, cut=cut)
    assert body.startswith(kept)
    if cut:
        rest = body[len(kept) :]
        assert rest[:1] in (b"\n", b"\r", b"") or not kept
