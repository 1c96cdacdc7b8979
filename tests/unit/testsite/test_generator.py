from __future__ import annotations

import hashlib
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import urldefrag, urljoin

import pytest

from testsite.generator import HOME, SIZES, SPECIAL_LINKS, Web, page_path
from testsite.hosts import KINDS


class Anchors(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.scripts = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs.append(dict(attrs)["href"] or "")
        self.scripts += tag == "script"


def test_pages_are_the_same_bytes_everywhere() -> None:
    # Pinned: a change here makes every earlier measurement and every stored store incomparable.
    web = Web(hosts=5, pages=30, size_kb=8, seed=42)
    pages = (web.page(host, page) for host in (0, 4, 7) for page in (HOME, 0, 29))
    digest = hashlib.sha256("".join(pages).encode()).hexdigest()
    assert digest == "146419a20c8cac4417e883bea6dc105b677c44559130f13b603697e8ac5295d6"


def test_the_seed_and_nothing_else_decides() -> None:
    web, twin = Web(3, 10, 8, 1), Web(3, 10, 8, 1)
    backwards = [twin.page(2, page) for page in reversed(range(10))]
    assert [web.page(2, page) for page in range(10)] == backwards[::-1]
    assert Web(3, 10, 8, 2).page(2, 0) != web.page(2, 0)


def test_no_two_pages_are_the_same() -> None:
    web = Web(4, 25)
    pages = [web.page(host, page) for host in range(4 + len(KINDS)) for page in range(HOME, 25)]
    assert len(set(pages)) == len(pages)


@pytest.mark.parametrize("size_kb", SIZES)
def test_sizes_and_numbers_of_links(size_kb: int) -> None:
    web = Web(5, 40, size_kb)
    wanted_bytes, wanted_links = SIZES[size_kb]
    sizes = []
    for page in range(HOME, 40):
        links = web.links(1, page)
        assert len(links) == wanted_links
        leaving = [link for link in links if not link.url.startswith("http://h0001.test/")]
        assert abs(len(leaving) - wanted_links // 10) <= 2
        sizes.append(len(web.page(1, page).encode()))
    assert abs(sum(sizes) / len(sizes) - wanted_bytes) < wanted_bytes * 0.03
    assert max(abs(size - wanted_bytes) for size in sizes) < wanted_bytes * 0.15


@pytest.mark.parametrize("specials", [False, True])
@pytest.mark.parametrize("page", [HOME, 0, 1, 9])
def test_a_page_holds_the_links_that_are_known_of_it(page: int, specials: bool) -> None:
    web = Web(3, 10, specials=specials)
    base = web.url(1, page)
    anchors = Anchors(web.page(1, page))
    links = web.links(1, page)
    assert sorted(anchors.hrefs) == sorted(link.href for link in links)
    for link in links:
        assert urldefrag(urljoin(base, link.href)).url == link.url


def test_a_script_holds_what_looks_like_a_link() -> None:
    html = Web(3, 10).page(0, 4)
    anchors = Anchors(html)
    assert anchors.scripts == 1
    assert '<a href=\\"/script-only/0-4\\">' in html
    assert not [href for href in anchors.hrefs if "script-only" in href]


def test_links_come_in_all_spellings() -> None:
    web = Web(3, 100)
    hrefs = [link.href for page in range(20) for link in web.links(0, page)]
    for start in ("../page/", "./", "/page/", "/private/", "http://h0001.test/page/", "#top"):
        assert any(href.startswith(start) for href in hrefs), start
    assert any(href.isdigit() for href in hrefs)
    assert any("#part-" in href for href in hrefs)
    assert not [href for href in hrefs if "?" in href]
    for page in range(20):
        urls = [link.url for link in web.links(0, page)]
        assert len(set(urls)) < len(urls)


@pytest.mark.parametrize(("hosts", "pages"), [(1, 1), (1, 50), (2, 9), (7, 30)])
def test_every_page_of_every_host_is_reachable_from_any(hosts: int, pages: int) -> None:
    web = Web(hosts, pages)
    everything = {web.url(host, page) for host in range(hosts) for page in range(HOME, pages)}
    for start in (web.url(0), web.url(hosts - 1, pages - 1)):
        reach = web.reachable(start)
        assert set(reach.pages) == everything
        assert reach.outside == reach.specials == frozenset()


def test_private_pages_are_found_and_refused() -> None:
    web = Web(2, 5)
    reach = web.reachable(web.url(0))
    paths = ["/private/home", *(f"/private/{page}" for page in range(5))]
    assert reach.refused == {f"http://{web.name(host)}{path}" for host in (0, 1) for path in paths}


def test_within_keeps_to_the_hosts() -> None:
    web = Web(3, 20)
    reach = web.reachable(web.url(0), within={"h0000.test"})
    assert set(reach.pages) == {web.url(0, page) for page in range(HOME, 20)}
    assert reach.outside
    assert all(not url.startswith("http://h0000.test/") for url in reach.outside)


def test_depths_are_the_fewest_links() -> None:
    web = Web(1, 400)
    depths = web.reachable(web.url(0)).pages
    assert depths[web.url(0)] == 0
    assert sorted(set(depths.values())) == list(range(max(depths.values()) + 1))
    for page in range(HOME, 400):
        for link in web.links(0, page):
            if link.url in depths:
                assert depths[link.url] <= depths[web.url(0, page)] + 1


def test_several_seeds_are_all_at_depth_nought() -> None:
    web = Web(3, 10)
    reach = web.reachable([web.url(0), web.url(2, 7)])
    assert (reach.pages[web.url(0)], reach.pages[web.url(2, 7)]) == (0, 0)


def test_special_paths_are_linked_from_home_only_and_only_when_asked_for() -> None:
    web = Web(2, 10, specials=True)
    home = [link.href for link in web.links(0, HOME)]
    assert set(SPECIAL_LINKS) <= set(home)
    assert 40 <= len(home) <= 60
    assert not set(SPECIAL_LINKS) & {link.href for link in web.links(0, 0)}
    assert not set(SPECIAL_LINKS) & {link.href for link in Web(2, 10).links(0, HOME)}
    names = [link.url for link in web.links(0, HOME) if link.href in SPECIAL_LINKS]
    assert web.reachable(web.url(0), within={"h0000.test"}).specials == set(names)


def test_a_host_without_rules_gives_its_private_pages_too() -> None:
    web = Web(2, 3)
    reach = web.reachable("http://robots404.test/", within={"robots404.test"})
    assert reach.refused == frozenset()
    assert "http://robots404.test/private/home" in reach.pages
    assert len(reach.pages) == 2 * 4


@pytest.mark.parametrize("name", ["robotsclosed.test", "robots503.test", "dead.test"])
def test_nothing_is_reachable_where_nothing_may_be_asked(name: str) -> None:
    reach = Web(2, 3).reachable(f"http://{name}/")
    assert not reach.pages
    assert reach.refused == {f"http://{name}/"}


def test_the_way_from_home_is_a_tree_of_eight_branches() -> None:
    web = Web(1, 1000)
    for parent, first in ((HOME, 0), (0, 1), (1, 9), (7, 57), (100, 801)):
        urls = {link.url for link in web.links(0, parent)}
        assert web.url(0, first) in urls
    assert max(web.reachable(web.url(0)).pages.values()) <= 5


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/", HOME),
        ("/page/0", 0),
        ("/page/9", 9),
        ("/page/10", None),
        ("/page/", None),
        ("/page/01", None),
        ("/page/-1", None),
        ("/page/²", None),
        ("/page/1/", None),
        ("/page/" + "9" * 5000, None),
        ("", None),
    ],
)
def test_paths_of_pages(path: str, page: int | None) -> None:
    assert Web(1, 10).page_of(path) == page
    if page is not None:
        assert page_path(page) == path


@pytest.mark.parametrize(("hosts", "pages", "size_kb"), [(1, 1, 9), (0, 1, 8), (1, 0, 8)])
def test_a_web_that_cannot_be_is_refused(hosts: int, pages: int, size_kb: int) -> None:
    with pytest.raises(ValueError, match=r"size must be|at least one"):
        Web(hosts, pages, size_kb)


def test_page_numbers_are_in_document_order_of_text() -> None:
    html = Web(1, 10).page(0, 0)
    parts = [html.index(f'id="part-{number}"') for number in range(1, 20)]
    assert all(before < after for before, after in pairwise(parts))
