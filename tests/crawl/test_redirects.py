"""Each hop of a redirect is a decision of the frontier, and has a row of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mercator import Crawl
from tests.crawl.whole import failures, pages, reasons, run
from testsite.fixture import Site

HOST = "http://h0000.test"


def redirects(crawl: Crawl) -> dict[str, str | None]:
    return {link.source: link.target for link in crawl.links() if link.kind == "redirect"}


def test_a_chain_of_five_is_followed_to_its_end(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=2)
    crawl = run(site, tmp_path / "store", [f"{HOST}/hops/5"], max_depth=0)
    assert set(pages(crawl)) == {f"{HOST}/hops/0"}
    assert crawl.status().redirects == 5
    assert redirects(crawl) == {f"{HOST}/hops/{n}": f"{HOST}/hops/{n - 1}" for n in range(1, 6)}
    page = pages(crawl)[f"{HOST}/hops/0"]
    assert (page.depth, page.discovered_from) == (0, f"{HOST}/hops/1")


def test_the_sixth_hop_is_too_many_and_the_url_that_gave_it_says_so(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=2)
    crawl = run(site, tmp_path / "store", [f"{HOST}/hops/6"])
    assert pages(crawl) == {}
    assert reasons(crawl) == {f"{HOST}/hops/1": "too_many_redirects"}
    assert f"{HOST}/hops/0" not in site.pages()
    site.clear()  # a store knows nothing of another one's last request
    shorter = run(site, tmp_path / "short", [f"{HOST}/hops/2"], max_redirects=1)
    assert reasons(shorter) == {f"{HOST}/hops/1": "too_many_redirects"}


@pytest.mark.parametrize(
    ("path", "named", "requests"), [("/loop/a", "/loop/b", 2), ("/self", "/self", 1)]
)
def test_a_loop_is_named_at_the_url_that_closes_it(
    site_factory: Callable[..., Site], tmp_path: Path, path: str, named: str, requests: int
) -> None:
    site = site_factory(hosts=1, pages=2)
    crawl = run(site, tmp_path / "store", [HOST + path])
    assert reasons(crawl) == {HOST + named: "redirect_loop"}
    assert len(site.pages()) == requests
    assert crawl.explain(HOST + named).reason == "redirect_loop"


def test_what_a_redirect_can_point_to(site_factory: Callable[..., Site], tmp_path: Path) -> None:
    site = site_factory(hosts=1, pages=2)
    seeds = [f"{HOST}/{path}" for path in ("mailto", "badlocation", "nolocation")]
    crawl = run(site, tmp_path / "store", seeds)
    mail = "mailto:someone@example.test"
    assert reasons(crawl) == {
        mail: "unsupported_scheme",
        f"{HOST}/badlocation": "http_error",
        f"{HOST}/nolocation": "http_error",
    }
    assert crawl.explain(f"{HOST}/mailto").state == "redirected"
    assert crawl.status().redirects == 1
    assert failures(crawl)[mail].discovered_from == f"{HOST}/mailto"
    assert failures(crawl)[mail].key_url is None
    assert failures(crawl)[f"{HOST}/badlocation"].status == 302


@pytest.mark.parametrize("scope", ["host", "prefix", "domain"])
def test_a_seed_that_redirects_extends_the_scope_to_where_it_ends(
    site_factory: Callable[..., Site], tmp_path: Path, scope: str
) -> None:
    site = site_factory(hosts=3, pages=6)
    seed = f"{HOST}/offhost/2"
    crawl = run(site, tmp_path / "store", [seed], scope=scope)
    stored = set(pages(crawl))
    end = "http://h0001.test/page/2"
    assert end in stored
    assert crawl.status().redirects == 1
    reach = site.web.reachable(end, within={"h0000.test", "h0001.test"})
    if scope == "prefix":
        assert stored == {url for url in reach.pages if url.startswith("http://h0001.test/page/")}
    else:
        # the host of the seed itself stays in scope as well
        assert stored == set(reach.pages)
    assert not any("h0002" in url for url in stored)
    assert reasons(crawl)["http://h0002.test/page/0"] == "out_of_scope"


def test_an_extended_scope_is_kept_for_later_runs(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=2, pages=6)
    store = tmp_path / "store"
    first = run(site, store, [f"{HOST}/offhost/2"], max_pages=1)
    assert first.status().stop_reason == "max_pages"
    second = run(site, store, max_pages=None)
    reach = site.web.reachable("http://h0001.test/page/2", within={"h0000.test", "h0001.test"})
    assert set(pages(second)) == set(reach.pages)


def test_a_hop_is_asked_after_robots_and_each_url_once(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=3)
    crawl = run(site, tmp_path / "store", ["http://robots404.test/redirect/1"], max_depth=0)
    assert set(pages(crawl)) == {"http://robots404.test/page/1"}
    assert [e["path"] for e in site.entries()] == ["/robots.txt", "/redirect/1", "/page/1"]


def test_a_redirect_to_a_known_page_stores_it_once(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=3)
    seeds = [f"{HOST}/page/1", f"{HOST}/redirect/1", f"{HOST}/redirect/2"]
    crawl = run(site, tmp_path / "store", seeds, max_depth=0)
    assert sorted(pages(crawl)) == [f"{HOST}/page/1", f"{HOST}/page/2"]
    assert len(site.pages()) == 4
