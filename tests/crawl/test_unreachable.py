"""Hosts that cannot be reached: the crawl ends in reasonable time and says why."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mercator import Crawl
from tests.crawl.command import mercator, summary
from tests.crawl.whole import config, judge, pages, reasons, run, served
from testsite.fixture import Site

QUICK = ("--delay", "0.05", "--retry-base", "0.05", "--retry-cap", "0.2", "--retries", "2")


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of loopback at which nobody listens, kept from others while the test runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_a_host_that_refuses_connections_ends_with_exit_4(closed_port: int, tmp_path: Path) -> None:
    store = tmp_path / "store"
    line = mercator(
        "crawl",
        *("http://shut.test/", "http://shut.test/b", "http://shut.test:81/c"),
        *("--store", store, "--resolve", f"*.test=127.0.0.1:{closed_port}"),
        *("--allow-net", "127.0.0.0/8", "--json", *QUICK),
    )
    assert line.returncode == 4, line.stderr
    told = summary(line.stdout)
    assert told["stop_reason"] == "finished"
    assert told["reasons"] == {"connect_failed": 3}
    assert told["elapsed_s"] < 5
    crawl = Crawl(store)
    judge(crawl)
    tried = [visit for visit in crawl.visits() if visit.host == "shut.test"]
    assert len(tried) >= 3
    assert all(visit.error for visit in tried)
    again = mercator("crawl", "--store", store, "--json")
    assert (again.returncode, summary(again.stdout)["stop_reason"]) == (4, "finished")
    assert len(list(Crawl(store).visits())) == len(tried)


def test_an_address_that_the_guard_refuses_fails_at_once(tmp_path: Path) -> None:
    store = tmp_path / "store"
    line = mercator(
        "crawl",
        *("http://inside.test/", "--store", store, "--resolve", "inside.test=10.0.0.1"),
        *("--json", *QUICK),
    )
    assert line.returncode == 4, line.stderr
    assert summary(line.stdout)["reasons"] == {"address_refused": 1}
    judge(Crawl(store))


def test_a_host_that_is_down_does_not_hold_up_the_others(
    site: Site, closed_port: int, tmp_path: Path
) -> None:
    resolve = (site.resolve, f"shut.test=127.0.0.1:{closed_port}")
    seeds = ["http://shut.test/", "http://h0000.test/"]
    crawl = run(site, tmp_path / "store", seeds, resolve=resolve)
    reach = site.web.reachable(seeds[1], within={"h0000.test"})
    assert set(pages(crawl)) == set(reach.pages)
    assert reasons(crawl)["http://shut.test/"] == "connect_failed"


def test_a_host_that_comes_back_is_crawled(site: Site, closed_port: int, tmp_path: Path) -> None:
    store, seed = tmp_path / "store", "http://h0000.test/"
    down = config(site, resolve=(f"*.test=127.0.0.1:{closed_port}",))
    with Crawl(store, seeds=[seed], config=down) as crawl:
        assert crawl.wait(timeout_s=20)
    judge(crawl)
    assert reasons(crawl) == {seed: "connect_failed"}
    assert crawl.retry() == 1
    back = run(site, store)
    assert set(pages(back)) == set(site.web.reachable(seed, within={"h0000.test"}).pages)
    assert sorted(served(site)) == sorted(pages(back))


def test_a_host_that_closes_every_connection_stays_pending(site: Site, tmp_path: Path) -> None:
    crawl = run(site, tmp_path / "store", ["http://dead.test/"], patience_s=0.3)
    assert crawl.status().stop_reason == "patience"
    assert crawl.explain("http://dead.test/").state == "pending"
    assert site.pages() == []


def test_only_paused_hosts_are_exit_4(site: Site, tmp_path: Path) -> None:
    line = mercator(
        "crawl",
        *("http://robots503.test/", "--store", tmp_path / "store", "--resolve", site.resolve),
        *("--allow-net", "127.0.0.0/8", "--json", "--patience", "0.3", *QUICK),
    )
    assert line.returncode == 4, line.stderr
    assert summary(line.stdout)["stop_reason"] == "patience"
    assert summary(line.stdout)["pending"] == 1
