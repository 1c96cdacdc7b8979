"""Laws of canonical URLs: idempotent, ordered by strength, total, and one way equal to the other."""

from __future__ import annotations

import string

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mercator.config import UrlPolicy
from mercator.urls.canonical import Canonicalizer, canonicalize
from mercator.urls.policy import POLICIES
from mercator.urls.url_key import host_id, url_key
from mercator.values import CanonicalUrl, Reason, RefusedUrl

WEAK_TO_STRONG: tuple[UrlPolicy, ...] = ("conservative", "standard", "aggressive")
BY_POLICY = {policy: Canonicalizer(policy) for policy in WEAK_TO_STRONG}
TOKEN = "9f86d081884c7d65"
LABELS = ("utf-8", "gbk", "shift_jis", "big5", "euc-jp", "iso-2022-jp", "windows-1252", "no such")

policies = st.sampled_from(WEAK_TO_STRONG)

any_text = st.one_of(
    st.text(st.characters(exclude_categories=())),  # lone surrogates are in
    st.binary().map(lambda data: data.decode("latin-1")),
    st.text(string.printable),
)

hosts = st.one_of(
    st.sampled_from(
        (
            "example.org",
            "www.example.org",
            "h0001.test",
            "EXAMPLE.org",
            "example.org.",
            "example.org:80",
            "example.org:8080",
            "example.org:",
            "user@example.org",
            "@example.org",
            "a.1",
            "1.2.3.4",
            "0x7f.1",
            "1.2.3.4.example",
            "a.0x4",
            "a.4b",
            "xn--bcher-kva.example",
            "a.xn--p1ai",
            "xn--a.example",
            "xn--.example",
            "bücher.example",
            "例え.test",
            "a_b.example",
            "-a-.b-",
            "ab--cd.example",
            "a..b",
            ".a",
            "[::1]",
            "[::1]:8080",
            "[zz]",
            "localhost",
            "l" * 70 + ".example",
            ".".join(["abcdefgh"] * 40),
            "",
            "a b",
        )
    ),
    st.from_regex(r"[a-z0-9-]{1,6}(\.[a-z0-9-]{1,6}){0,3}", fullmatch=True),
    st.text(st.characters(exclude_categories=()), max_size=8),
)

words = st.one_of(
    st.sampled_from(
        (
            "a",
            "page",
            "Page.html",
            "12",
            ".",
            "..",
            "...",
            ".well-known",
            "a..b",
            "%2e",
            "%2E%2e",
            ".%2e",
            "%2f",
            "%2F",
            "%41",
            "%7e",
            "%",
            "%%",
            "%%34%31",
            "%4%31",
            "%%34",
            "1",
            "%zz",
            "%25",
            "%2541",
            "%e4%b8%ad",
            "%E4%B8%AD",
            "中",
            "é",
            "~",
            "a b",
            "a:b",
            "a@b",
            "(x)",
            "[x]",
            "{x}",
            "|",
            "^",
            "`",
            "'",
            '"',
            "<",
            "\\",
            "\t",
            "\n",
            " ",
            "\x00",
            "\ud800",
            ";",
            ";p=1",
            ";jsessionid=5",
            ";JSESSIONID",
            f";sid={TOKEN}",
            "..;jsessionid=5",
            ".;phpsessid=5",
            f"(S({TOKEN}))",
            f"(A({TOKEN})F({TOKEN}))",
            f"(S({TOKEN}));jsessionid=1",
            "index.html",
            "INDEX.PHP",
            "default.asp",
            "inde%78.htm",
            "index.pdf",
            "http:",
            "//",
        )
    ),
    st.text(string.ascii_letters + string.digits + "-._~!$&'()*+,;=:@%[]|", max_size=6),
)

paths = st.lists(words, max_size=5).map(lambda parts: "/".join(["", *parts]))
loose_paths = st.lists(words, min_size=1, max_size=4).map("".join)

pieces = st.one_of(
    st.sampled_from(
        (
            "a",
            "a=",
            "a=1",
            "a=2",
            "A=1",
            "a1=x",
            "%61=1",
            "b=1=2",
            "b=%26",
            "=",
            "=c",
            "",
            "q=中",
            "q=😀",
            "q=a b",
            "q='x'",
            "a[]=1",
            "utm_source=x",
            "UTM_x",
            "%75tm_y=1",
            "gclid",
            "sid=12",
            f"sid={TOKEN}",
            f"s={TOKEN}",
            "sid=1234567890123456",
            "PHPSESSID=1",
            "ASPSESSIONIDQQ=1",
            "u=http://x//../y?z",
            "%%34%31",
            "?",
            "/.",
        )
    ),
    st.text(string.ascii_letters + string.digits + "-._~!$'()*+,;=:@%[]|/?", max_size=6),
)
queries = st.one_of(
    st.just(""), st.lists(pieces, max_size=5).map(lambda parts: "?" + "&".join(parts))
)
fragments = st.one_of(st.just(""), st.just("#"), words.map(lambda word: "#" + word))

absolute = st.builds(
    lambda scheme, host, path, query, fragment: scheme + host + path + query + fragment,
    st.sampled_from(("http://", "https://", "https://", "HTTP://", "http:", "http:/", "ftp://")),
    hosts,
    st.one_of(paths, st.just("")),
    queries,
    fragments,
)
steps = st.sampled_from(("", "", "", "./", "../", "../../", ".", "..", ".././", "..\\"))
relative = st.builds(
    lambda start, path, query, fragment: start + path + query + fragment,
    st.one_of(steps, st.sampled_from(("//", "//example.org", "mailto:", "javascript:", "data:"))),
    st.one_of(paths, loose_paths, st.just("")),
    queries,
    fragments,
)
links = st.one_of(absolute, relative, relative, any_text)
sites = st.sampled_from(
    (
        "http://example.org",
        "https://example.org:8443",
        "http://127.0.0.1:8099",
        "https://[::1]",
        "https://user@example.org",
        "mailto:x",
    )
)
bases = st.one_of(
    st.builds(lambda site, path, query: site + path + query, sites, paths, queries), absolute
)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(bases, links, policies, st.sampled_from(LABELS))
@example("http://example.org/a/b?q", "", "standard", "utf-8")
@example("http://example.org/a/b?q", "#x", "standard", "gbk")
@example("http://example.org/a//b/c", "../x", "standard", "utf-8")
@example("http://example.org/", "../../x", "standard", "utf-8")
@example("http://example.org/a/", "x:y", "standard", "utf-8")
@example("http://example.org/a/", "./x:y", "standard", "utf-8")
@example("http://example.org/a/", "//b/c", "standard", "utf-8")
@example("http://example.org/a/", "/" + "a" * 2100, "standard", "utf-8")
@example("http://example.org/a/", "/%2e%2E/a", "standard", "utf-8")
@example("http://example.org/a/", "http://0x4/", "standard", "utf-8")
@example("http://example.org/a/", "mailto:/../a", "standard", "utf-8")
@example("http://example.org/a;jsessionid=1/", "b", "standard", "utf-8")
@example("http://example.org/a/", "index.html", "aggressive", "utf-8")
def test_the_short_way_gives_what_the_parser_gives(
    base: str, href: str, policy: UrlPolicy, encoding: str
) -> None:
    canonicalizer = BY_POLICY[policy]
    expected = canonicalizer.parse(href, base, encoding)
    assert canonicalizer.for_page(base, encoding)(href) == expected


@settings(max_examples=500, deadline=None, derandomize=True)
@given(links, bases, policies, st.sampled_from(LABELS))
@example("/..;jsessionid=1/b", "http://example.org/a/", "standard", "utf-8")
@example("/a/..;jsessionid=1", "http://example.org/", "aggressive", "utf-8")
@example("/%%34%31", "http://example.org/", "conservative", "utf-8")
@example("/%%341", "http://example.org/", "conservative", "utf-8")
@example("//index.html/default.htm/", "http://example.org/x", "aggressive", "utf-8")
def test_a_canonical_url_is_its_own_canonical_url(
    text: str, base: str, policy: UrlPolicy, encoding: str
) -> None:
    key = canonicalize(text, base, policy, encoding)
    if key is not None:
        assert canonicalize(key, policy=policy) == key


@settings(max_examples=300, deadline=None, derandomize=True)
@given(links, bases)
def test_the_fetch_spelling_is_kept_by_the_parser_and_has_the_same_key(
    text: str, base: str
) -> None:
    for canonicalizer in BY_POLICY.values():
        found = canonicalizer.parse(text, base)
        if isinstance(found, CanonicalUrl):
            assert canonicalizer.parse(found.url) == found
            assert found.url.isascii()
            assert "#" not in found.url
            assert len(found.key_url) <= len(found.url) <= canonicalizer.max_url_bytes


@settings(max_examples=500, deadline=None, derandomize=True)
@given(any_text | links, st.none() | any_text | bases, policies, any_text | st.sampled_from(LABELS))
def test_no_text_raises(text: str, base: str | None, policy: UrlPolicy, encoding: str) -> None:
    found = BY_POLICY[policy].parse(text, base, encoding)
    key = canonicalize(text, base, policy, encoding)
    if isinstance(found, CanonicalUrl):
        assert key == found.key_url
    elif found is None or found.reason is not Reason.URL_TOO_LONG:
        assert key is None
    if base is not None:
        BY_POLICY[policy].for_page(base, encoding)(text)


variants = st.builds(
    lambda path, query: ("http://example.org" + path, query), paths, st.lists(pieces, max_size=4)
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(variants, st.data())
def test_one_url_under_a_policy_is_one_under_each_stronger(
    variant: tuple[str, list[str]], data: st.DataObject
) -> None:
    path, query = variant
    shuffled = data.draw(st.permutations(query))
    end = data.draw(st.sampled_from(("", "/", "/index.html", ";jsessionid=1", "/..;jsessionid=1/")))
    first = path + "?" + "&".join(query)
    second = path.replace("%7e", "~").replace("%2f", "%2F") + end + "?" + "&".join(shuffled)
    same = [canonicalize(first, policy=p) == canonicalize(second, policy=p) for p in WEAK_TO_STRONG]
    assert same == sorted(same)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(absolute, min_size=2, max_size=6), policies)
def test_equal_keys_mean_equal_canonical_urls(texts: list[str], policy: UrlPolicy) -> None:
    found = [BY_POLICY[policy].parse(text) for text in texts]
    urls = [url for url in found if isinstance(url, CanonicalUrl)]
    for one in urls:
        for other in urls:
            one_key, other_key = url_key(one.key_url, one.host), url_key(other.key_url, other.host)
            assert (one_key == other_key) == (one.key_url == other.key_url)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(absolute, policies, st.integers(0, 2**64 - 1))
def test_the_keys_of_a_host_share_its_prefix(text: str, policy: UrlPolicy, probe: int) -> None:
    found = BY_POLICY[policy].parse(text)
    if isinstance(found, CanonicalUrl):
        key = url_key(found.key_url, found.host, probe)
        assert len(key) == 16
        assert key[:6] == host_id(found.host)
        # A scheme, port or path never changes whose range a URL lies in.
        again = Canonicalizer(policy).parse(f"https://{found.host}:4711/other?x")
        assert isinstance(again, CanonicalUrl)
        assert again.host == found.host
        assert url_key(again.key_url, again.host)[:6] == key[:6]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(absolute, policies)
def test_a_policy_never_lengthens_a_url(text: str, policy: UrlPolicy) -> None:
    found = BY_POLICY["conservative"].parse(text)
    if isinstance(found, CanonicalUrl):
        assert len(POLICIES[policy].key_of(found.url)) <= len(found.url)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(any_text, bases)
def test_what_is_refused_says_why(text: str, base: str) -> None:
    found = BY_POLICY["standard"].parse(text, base)
    if isinstance(found, RefusedUrl):
        assert found.reason in (
            Reason.UNSUPPORTED_SCHEME,
            Reason.INVALID_URL,
            Reason.URL_TOO_LONG,
        )
