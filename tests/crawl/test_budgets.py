"""Budgets are exact: what is stored, what was asked, and what the rest is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crawl.whole import pages, reasons, run, served
from testsite.fixture import Site

IN_THE_WAY = [f"http://h0000.test/{path}" for path in ("gone/5", "redirect/2", "hops/2", "flaky/7")]


@pytest.mark.parametrize("limit", [1, 7, 40])
@pytest.mark.parametrize("threads", [1, 16])
def test_max_pages_is_exact_with_refusals_404s_and_redirects_in_the_way(
    site_factory: Callable[..., Site], tmp_path: Path, limit: int, threads: int
) -> None:
    site = site_factory(hosts=4, pages=15, specials=True, slow_s=0.1)
    seeds = [*IN_THE_WAY, *(f"http://h{n:04d}.test/" for n in range(4))]
    crawl = run(
        site,
        tmp_path / "store",
        seeds,
        max_pages=limit,
        threads=threads,
        delay_s=0.02,
        map_bytes=1 << 28,
    )
    status = crawl.status()
    assert status.stored == limit
    assert status.stop_reason == "max_pages"
    assert len(served(site)) == limit
    assert set(served(site)) == set(pages(crawl))


def test_max_pages_is_over_all_runs(site_factory: Callable[..., Site], tmp_path: Path) -> None:
    site = site_factory(hosts=2, pages=10)
    store = tmp_path / "store"
    run(site, store, ["http://h0000.test/"], max_pages=3, scope="any")
    again = run(site, store)
    assert (again.status().stored, again.status().stop_reason) == (3, "max_pages")
    assert len(served(site)) == 3
    raised = run(site, store, max_pages=8)
    assert (raised.status().stored, len(served(site))) == (8, 8)
    lifted = run(site, store, max_pages=None)
    assert lifted.status().stop_reason == "finished"
    assert set(pages(lifted)) == set(site.web.reachable("http://h0000.test/").pages)
    assert sorted(served(site)) == sorted(pages(lifted)), "nothing twice"


def test_a_host_keeps_to_its_budget(site_factory: Callable[..., Site], tmp_path: Path) -> None:
    site = site_factory(hosts=3, pages=12)
    crawl = run(site, tmp_path / "store", ["http://h0000.test/"], scope="any", max_pages_per_host=4)
    stored = [host.stored for host in crawl.hosts()]
    assert stored == [4, 4, 4]
    assert {host: len(site.pages(host)) for host in ("h0000.test", "h0001.test")} == {
        "h0000.test": 4,
        "h0001.test": 4,
    }
    assert crawl.status().pending == 0
    assert set(crawl.status().reasons) <= {"host_budget", "robots_refused"}
    wider = run(site, tmp_path / "store", max_pages_per_host=6)
    assert [host.stored for host in wider.hosts()] == [6, 6, 6]
    free = run(site, tmp_path / "store", max_pages_per_host=None)
    assert set(pages(free)) == set(site.web.reachable("http://h0000.test/").pages)


def test_depth_counts_links_from_a_seed_and_no_redirects(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=40)
    seed = "http://h0000.test/hops/2"
    crawl = run(site, tmp_path / "store", [seed], max_depth=2)
    reach = site.web.reachable("http://h0000.test/page/0")
    stored = pages(crawl)
    assert stored["http://h0000.test/hops/0"].depth == 0
    assert stored["http://h0000.test/page/0"].depth == 1
    near = {url for url, depth in reach.pages.items() if depth <= 1} | {"http://h0000.test/"}
    assert set(stored) >= near
    assert max(page.depth for page in stored.values()) == 2
    assert {"too_deep", "robots_refused"} == set(reasons(crawl).values())


def test_a_deeper_limit_on_a_later_run_admits_what_was_too_deep(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=30)
    store = tmp_path / "store"
    first = run(site, store, ["http://h0000.test/"], max_depth=1)
    assert first.status().reasons["too_deep"] > 0
    second = run(site, store, max_depth=None)
    reach = site.web.reachable("http://h0000.test/")
    assert set(pages(second)) == set(reach.pages)
    assert "too_deep" not in second.status().reasons or not second.status().reasons["too_deep"]
    assert sorted(served(site)) == sorted(reach.pages)


def test_max_time_ends_a_run_with_deadline(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=30)
    crawl = run(site, tmp_path / "store", ["http://h0000.test/"], max_time_s=0.6, delay_s=0.1)
    status = crawl.status()
    assert status.stop_reason == "deadline"
    assert 0.5 <= status.elapsed_s < 3.0
    assert 0 < status.stored < 30
    assert status.pending > 0


def test_a_failed_page_gives_its_budget_back(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=4)
    failing = [f"http://h0000.test/{path}" for path in ("error/0", "reset/0", "type/png", "self")]
    crawl = run(
        site,
        tmp_path / "store",
        [*failing, *(f"http://h0000.test/page/{n}" for n in range(3))],
        max_pages=3,
        max_depth=0,
        retries=1,
        delay_s=0.02,
    )
    assert crawl.status().stored == 3
    assert len([url for url in served(site) if "/page/" in url]) == 3
