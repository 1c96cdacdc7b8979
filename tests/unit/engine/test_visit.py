"""One behaviour of a visit a test, on fakes: what the server says, what becomes of the URL."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import pytest

from mercator.config import CrawlConfig
from mercator.testing import LOOPBACK, Answer, FixedResolver, Script
from mercator.urls.url_key import url_key
from mercator.values import FailureKind, FetchRequest, Reason, State
from tests.harness import Harness

HTML = {"Content-Type": "text/html; charset=utf-8"}
ROBOTS = "/robots.txt"


def page(*links: str) -> Answer:
    body = "".join(f'<a href="{link}">x</a>' for link in links)
    return (200, HTML, f"<title>t</title>{body}".encode())


Turn = Answer | FailureKind
Pages = Mapping[str, Turn | list[Turn]]


def site(pages: Pages, robots: Turn = (404, {}, b"")) -> Script:
    """A script: URL to answer (a list: one after the other, the last for ever); others are 404."""
    seen: dict[str, int] = {}

    def script(request: FetchRequest) -> Answer | FailureKind:
        answer = pages.get(request.url)
        if answer is None and request.url.endswith(ROBOTS):
            return robots
        if answer is None:
            return (404, HTML, b"gone")
        if isinstance(answer, list):
            n = seen.get(request.url, 0)
            seen[request.url] = n + 1
            return answer[min(n, len(answer) - 1)]
        return answer

    return script


def crawl(pages: Pages, *seeds: str, robots: Turn = (404, {}, b""), **settings: object) -> Harness:
    config = CrawlConfig(threads=4, **settings)  # type: ignore[arg-type]
    harness = Harness(site(pages, robots), config)
    harness.seed(*(seeds or ("http://a.test/",)))
    harness.reason = harness.run()
    assert_adds_up(harness)
    return harness


def assert_adds_up(harness: Harness) -> None:
    s = harness.status()
    assert s.seen == (
        s.stored
        + s.redirects
        + s.gone
        + s.failed
        + s.robots_refused
        + s.refused
        + s.pending
        + s.in_flight
    )
    assert sum(s.reasons.values()) == s.gone + s.failed + s.robots_refused + s.refused


def end_of(harness: Harness, url: str) -> State | Reason | None:
    """The state of a URL, or its reason where it has one."""
    host = url.split("/")[2].partition(":")[0]
    with harness.tables.read() as txn:
        row = txn.urls.get(url_key(url, host))
    return None if row is None else row.reason or row.state


def test_a_site_is_crawled_through_its_links() -> None:
    h = crawl(
        {
            "http://a.test/": page("/1", "/2", "http://b.test/"),
            "http://a.test/1": page("/2"),
            "http://a.test/2": page(),
        }
    )
    assert h.reason == "finished"
    assert h.status().stored == 3
    assert end_of(h, "http://b.test/") is Reason.OUT_OF_SCOPE
    assert h.fetcher.urls()[0] == "http://a.test/robots.txt"
    assert sorted(h.fetcher.urls()[1:]) == ["http://a.test/", "http://a.test/1", "http://a.test/2"]


def test_gaps_count_from_the_end_of_the_last_request() -> None:
    h = crawl({"http://a.test/": page("/1", "/2", "/3")}, delay_s=2.0)
    starts = [at for at, _ in h.fetcher.requests]
    assert len(starts) == 5
    assert all(b - a >= 2.0 + 0.05 - 1e-6 for a, b in itertools.pairwise(starts))


def test_what_robots_refuses_is_never_asked() -> None:
    robots: Turn = (200, {}, b"User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n")
    h = crawl(
        {"http://a.test/": page("/private/x", "/1"), "http://a.test/1": page()}, robots=robots
    )
    assert end_of(h, "http://a.test/private/x") is Reason.ROBOTS_REFUSED
    assert "http://a.test/private/x" not in h.fetcher.urls()
    starts = [at for at, _ in h.fetcher.requests]
    assert all(b - a >= 3.0 for a, b in itertools.pairwise(starts))


@pytest.mark.parametrize(
    "robots", [(503, {}, b""), FailureKind.READ_TIMEOUT, FailureKind.INCOMPLETE_BODY]
)
def test_unknown_robots_never_permits(robots: Turn) -> None:
    h = crawl({"http://a.test/": page()}, robots=robots, patience_s=100.0)
    assert h.reason == "patience"
    assert set(h.fetcher.urls()) == {"http://a.test/robots.txt"}
    assert h.status().pending == 1


def test_unknown_robots_is_given_up_after_its_time() -> None:
    h = crawl(
        {"http://a.test/": page()}, robots=(500, {}, b""), patience_s=1e6, robots_give_up_s=3600.0
    )
    assert end_of(h, "http://a.test/") is Reason.ROBOTS_UNKNOWN


def test_a_redirect_of_robots_to_another_host_is_asked_under_that_hosts_lease() -> None:
    pages = {
        "http://a.test/robots.txt": (302, {"Location": "http://b.test/r.txt"}, b""),
        "http://b.test/r.txt": (200, {}, b"User-agent: *\nDisallow: /no\n"),
        "http://a.test/": page("/no", "/yes"),
        "http://a.test/yes": page(),
    }
    h = crawl(pages)
    assert end_of(h, "http://a.test/no") is Reason.ROBOTS_REFUSED
    assert end_of(h, "http://a.test/yes") is State.STORED
    with h.tables.read() as txn:
        kinds = {row.url: row.host for _, row in txn.visits.scan()}
    assert kinds["http://b.test/r.txt"] == "b.test"


def test_a_redirect_of_robots_on_the_same_host_waits_for_the_hosts_gap() -> None:
    pages = {
        "http://a.test/robots.txt": (301, {"Location": "https://a.test/robots.txt"}, b""),
        "https://a.test/robots.txt": (200, {}, b""),
        "http://a.test/": page(),
    }
    h = crawl(pages, delay_s=2.0)
    assert [url for _, url in h.fetcher.requests] == [
        "http://a.test/robots.txt",
        "https://a.test/robots.txt",
        "http://a.test/",
    ]
    starts = [at for at, _ in h.fetcher.requests]
    assert all(b - a >= 2.0 for a, b in itertools.pairwise(starts))


def test_a_failure_of_the_urls_own_lets_its_host_go_on() -> None:
    pages: Pages = {
        "http://a.test/": page("/bad", "/1"),
        "http://a.test/bad": [(500, HTML, b""), (500, HTML, b""), page()],
        "http://a.test/1": page(),
    }
    h = crawl(pages)
    assert h.status().stored == 3
    urls = [url for _, url in h.fetcher.requests]
    assert urls.count("http://a.test/bad") == 3


def test_retries_end() -> None:
    h = crawl({"http://a.test/": page("/bad"), "http://a.test/bad": (500, HTML, b"")}, retries=2)
    assert end_of(h, "http://a.test/bad") is Reason.HTTP_ERROR
    assert [u for _, u in h.fetcher.requests].count("http://a.test/bad") == 3


def test_retry_after_blocks_the_host_and_not_only_the_url() -> None:
    pages: Pages = {
        "http://a.test/": page("/busy", "/1"),
        "http://a.test/busy": [(429, {"Retry-After": "50"}, b""), page()],
        "http://a.test/1": page(),
    }
    h = crawl(pages)
    assert h.status().stored == 3
    times = {url: at for at, url in h.fetcher.requests}
    first = next(at for at, url in h.fetcher.requests if url.endswith("/busy"))
    assert all(not first < at < first + 50 for at, _ in h.fetcher.requests)
    assert times["http://a.test/1"] > first


def test_redirects_are_rows_of_their_own() -> None:
    pages = {
        "http://a.test/": (301, {"Location": "/home"}, b""),
        "http://a.test/home": page("/"),
    }
    h = crawl(pages)
    s = h.status()
    assert (s.stored, s.redirects, s.seen) == (1, 1, 2)


def test_a_seed_that_redirects_extends_the_scope_to_where_it_ends() -> None:
    pages = {
        "http://a.test/": (301, {"Location": "http://www.a.test/"}, b""),
        "http://www.a.test/": page("/1", "http://a.test/2"),
        "http://www.a.test/1": page(),
        "http://a.test/2": page("http://c.test/"),
    }
    h = crawl(pages)
    assert h.status().stored == 3
    assert end_of(h, "http://c.test/") is Reason.OUT_OF_SCOPE


def test_a_redirect_out_of_scope_is_refused_at_the_hop() -> None:
    pages = {
        "http://a.test/": page("/out"),
        "http://a.test/out": (302, {"Location": "http://b.test/"}, b""),
    }
    h = crawl(pages)
    assert end_of(h, "http://a.test/out") is State.REDIRECTED
    assert end_of(h, "http://b.test/") is Reason.OUT_OF_SCOPE
    assert "http://b.test/" not in h.fetcher.urls()


def test_redirect_loops_and_long_chains_are_named() -> None:
    chain = {f"http://a.test/c{i}": (302, {"Location": f"/c{i + 1}"}, b"") for i in range(9)}
    pages = {
        "http://a.test/": page("/self", "/x", "/c0"),
        "http://a.test/self": (302, {"Location": "/self"}, b""),
        "http://a.test/x": (302, {"Location": "/y"}, b""),
        "http://a.test/y": (302, {"Location": "/x"}, b""),
        **chain,
    }
    h = crawl(pages)
    assert end_of(h, "http://a.test/self") is Reason.REDIRECT_LOOP
    assert end_of(h, "http://a.test/y") is Reason.REDIRECT_LOOP
    assert end_of(h, "http://a.test/x") is State.REDIRECTED
    assert end_of(h, "http://a.test/c5") is Reason.TOO_MANY_REDIRECTS
    assert end_of(h, "http://a.test/c6") is None


def test_a_redirect_to_another_spelling_of_the_same_url_is_followed() -> None:
    pages = {
        "http://a.test/": page("/dir?utm_source=x"),
        "http://a.test/dir?utm_source=x": (301, {"Location": "/dir"}, b""),
        "http://a.test/dir": page(),
    }
    h = crawl(pages)
    assert end_of(h, "http://a.test/dir") is State.STORED
    assert h.status().redirects == 0


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (FailureKind.CONNECTION_REFUSED, Reason.CONNECT_FAILED),
        (FailureKind.DNS_SERVFAIL, Reason.DNS_FAILED),
        (FailureKind.TLS_HANDSHAKE_FAILURE, Reason.TLS_FAILED),
    ],
)
def test_a_host_that_cannot_be_reached_fails_when_nothing_else_is_left(
    kind: FailureKind, reason: Reason
) -> None:
    pages = {"http://b.test/": page("/1"), "http://b.test/1": page()}

    def script(request: FetchRequest) -> Answer | FailureKind:
        return kind if "//a.test" in request.url else site(pages)(request)

    h = Harness(script, CrawlConfig(threads=4))
    h.seed("http://a.test/", "http://a.test/2", "http://b.test/")
    assert h.run() == "finished"
    assert_adds_up(h)
    assert end_of(h, "http://a.test/") is reason
    assert end_of(h, "http://a.test/2") is reason
    assert h.status().stored == 2
    assert sum("//a.test" in url for url in h.fetcher.urls()) >= 3


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (FailureKind.DNS_NXDOMAIN, Reason.DNS_FAILED),
        (FailureKind.TLS_CERTIFICATE_INVALID, Reason.TLS_FAILED),
        (FailureKind.ADDRESS_REFUSED, Reason.ADDRESS_REFUSED),
    ],
)
def test_what_will_not_change_fails_at_once(kind: FailureKind, reason: Reason) -> None:
    h = Harness(lambda request: kind, CrawlConfig(threads=4))
    h.seed("http://a.test/", "http://a.test/2", "http://a.test/3")
    assert h.run() == "finished"
    assert_adds_up(h)
    assert h.status().failed == 3
    assert len(h.fetcher.requests) == 1
    assert end_of(h, "http://a.test/3") is reason


def test_exactly_max_pages_with_failures_in_the_way() -> None:
    pages = {"http://a.test/": page(*(f"/{i}" for i in range(30)), "/gone", "/r")}
    pages |= {f"http://a.test/{i}": page() for i in range(0, 30, 2)}
    pages |= {"http://a.test/r": (302, {"Location": "/4"}, b"")}
    for n in (1, 2, 7):
        h = crawl(pages, max_pages=n)
        assert h.reason == "max_pages"
        assert h.status().stored == n
        served = [u for u in h.fetcher.urls() if pages.get(u, (0,))[0] == 200]
        assert len(served) == n


def test_the_host_budget_refuses_the_rest() -> None:
    pages = {"http://a.test/": page(*(f"/{i}" for i in range(10)))}
    pages |= {f"http://a.test/{i}": page() for i in range(10)}
    h = crawl(pages, max_pages_per_host=4)
    assert h.reason == "finished"
    assert h.status().stored == 4
    assert h.status().reasons == {"host_budget": 7}


def test_depth_and_nofollow() -> None:
    pages = {
        "http://a.test/": (200, HTML, b"<meta name=robots content=nofollow><a href=/1>x</a>"),
        "http://b.test/": page("/1"),
        "http://b.test/1": page("/2"),
        "http://b.test/2": page("/3"),
    }
    h = crawl(pages, "http://a.test/", "http://b.test/", max_depth=2)
    assert end_of(h, "http://a.test/1") is Reason.NOFOLLOW
    assert end_of(h, "http://b.test/3") is Reason.TOO_DEEP
    assert h.status().stored == 4


def test_a_nofollow_refusal_ends_when_a_followed_link_is_found() -> None:
    pages = {
        "http://a.test/": (200, HTML, b"<meta name=robots content=nofollow><a href=/1>x</a>"),
        "http://b.test/": page("http://a.test/1"),
        "http://a.test/1": page(),
    }
    h = crawl(pages, "http://a.test/", "http://b.test/")
    assert end_of(h, "http://a.test/1") is State.STORED
    assert h.status().reasons == {}


def test_a_visit_that_raises_twice_is_poison() -> None:
    def script(request: FetchRequest) -> Answer | FailureKind:
        if request.url.endswith("/1"):
            raise ZeroDivisionError("in the fetcher")
        return site({"http://a.test/": page("/1", "/2"), "http://a.test/2": page()})(request)

    h = Harness(script, CrawlConfig(threads=4))
    h.seed("http://a.test/")
    assert h.run() == "finished"
    assert end_of(h, "http://a.test/1") is Reason.POISON
    assert h.status().stored == 2
    assert_adds_up(h)


def test_exact_copies_are_marked() -> None:
    pages = {
        "http://a.test/": page("/1", "/2"),
        "http://a.test/1": page(),
        "http://a.test/2": page(),
    }
    h = crawl(pages)
    assert h.status().duplicates_exact == 1
    with h.tables.read() as txn:
        marked = [row.duplicate_of for _, row in txn.pages.scan() if row.duplicate_of]
    assert len(marked) == 1


def test_addresses_are_asked_for_without_holding_a_worker() -> None:
    class Slow(FixedResolver):
        def __init__(self) -> None:
            super().__init__(default=None)
            self.asked: list[Callable[[], None]] = []

        def request(self, host: str, on_answer: Callable[[], None]) -> None:
            self.asked.append(on_answer)
            self._answers[host] = LOOPBACK

    resolver = Slow()
    h = Harness(site({"http://a.test/": page()}), CrawlConfig(threads=1), resolver=resolver)
    h.seed("http://a.test/")
    for _ in range(5):
        h.step()
    assert not h.fetcher.requests
    assert len(resolver.asked) == 1
    resolver.asked[0]()
    assert h.run() == "finished"
    assert h.status().stored == 1
