"""A stop loses nothing and repeats nothing; a later run goes on where the last one ended."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from mercator import Crawl
from mercator.errors import ConfigError
from tests.crawl.command import END_S, local, mercator, one_line, started, summary
from tests.crawl.whole import config, judge, pages, reasons, run, served, until
from testsite.fixture import Site

SEED = "http://h0000.test/"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_crawl_in_order_and_the_next_run_completes_it(
    site_factory: Callable[..., Site], tmp_path: Path, number: int, code: int
) -> None:
    site = site_factory(hosts=3, pages=10, latency_s=0.02)
    store = tmp_path / "store"
    flags = local(site, "--scope", "any", "--json")
    with started("crawl", SEED, "--store", store, *flags) as process:
        until(lambda: len(served(site)) >= 5)
        process.send_signal(number)
        out, err = process.communicate(timeout=END_S)
    assert process.returncode == code, err
    assert summary(out)["stop_reason"] == "interrupted"
    assert summary(out)["in_flight"] == 0
    stopped = Crawl(store)
    judge(stopped, site)
    assert sorted(pages(stopped)) == sorted(served(site)), "what was served is committed"
    assert stopped.status().pending > 0

    again = mercator("crawl", "--store", store, "--json")
    assert again.returncode == 0, again.stderr
    assert summary(again.stdout)["stop_reason"] == "finished"
    assert sorted(served(site)) == sorted(site.web.reachable(SEED).pages), "nothing twice"
    robots = [entry["host"] for entry in site.entries() if entry["path"] == "/robots.txt"]
    assert len(robots) == len(set(robots)), "robots.txt is kept as well"
    judge(Crawl(store), site)


def test_a_second_signal_exits_at_once_and_the_store_is_whole(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=4)
    store = tmp_path / "store"
    seeds = ("http://h0000.test/page/1", "http://h0000.test/hang/1")
    with started("crawl", *seeds, "--store", store, *local(site, "--threads", "4")) as process:
        until(lambda: site.status()["in_flight"] == 1 and len(served(site)) >= 1)
        process.send_signal(signal.SIGINT)
        with pytest.raises(Exception, match="timed out"):
            process.wait(0.6)  # the first one waits for the request that hangs
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
    assert process.returncode == 130
    judge(Crawl(store), site)
    assert "http://h0000.test/page/1" in pages(Crawl(store))


def test_a_finished_store_that_is_continued_makes_no_request_and_exits_as_it_ended(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=3)
    store = tmp_path / "store"
    run(site, store, [SEED])
    site.clear()
    again = mercator("crawl", "--store", store, "--json")
    assert again.returncode == 0, again.stderr
    assert summary(again.stdout)["stop_reason"] == "finished"
    assert site.entries() == []

    gone = tmp_path / "gone"
    run(site, gone, ["http://h0000.test/gone/1"])
    site.clear()
    again = mercator("crawl", "--store", gone, "--json")
    assert (again.returncode, site.entries()) == (4, [])


def test_a_seed_that_is_known_makes_no_request(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=3)
    store = tmp_path / "store"
    run(site, store, [SEED])
    site.clear()
    again = run(site, store, [SEED, "http://H0000.test:80/#again"])
    assert (site.entries(), again.status().stop_reason) == ([], "finished")


def test_new_seeds_are_added_and_extend_the_scope(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=3, pages=6)
    store = tmp_path / "store"
    run(site, store, [SEED])
    before = served(site)
    both = run(site, store, ["http://h0001.test/"])
    reach = site.web.reachable([SEED, "http://h0001.test/"], within={"h0000.test", "h0001.test"})
    assert set(pages(both)) == set(reach.pages)
    assert sorted(served(site)) == sorted(reach.pages)
    assert served(site)[: len(before)] == before


def test_settings_that_are_not_given_are_the_last_ones(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=2, pages=8)
    store = tmp_path / "store"
    run(site, store, [SEED], max_depth=1, exclude=("/page/1$",))
    site.clear()
    line = mercator("crawl", "http://h0001.test/", "--store", store, "--json")
    assert line.returncode == 0, line.stderr
    stored = pages(Crawl(store))
    assert max(page.depth for page in stored.values()) == 1
    assert "http://h0001.test/page/1" not in stored
    assert site.audit(delay_s=0.05) == [], "and with the same delay"


def test_the_url_policy_cannot_change(site_factory: Callable[..., Site], tmp_path: Path) -> None:
    site = site_factory(hosts=1, pages=2)
    store = tmp_path / "store"
    run(site, store, [SEED])
    with pytest.raises(ConfigError, match="url_policy is 'standard'"):
        Crawl(store, config=config(site, url_policy="aggressive")).start()
    line = mercator("crawl", "--store", store, "--url-policy", "conservative")
    assert line.returncode == 2
    assert "--url-policy is 'standard'" in one_line(line.stderr)
    run(site, store, url_policy="standard")  # given, and the same


def test_a_wider_scope_readmits_what_was_refused(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=3, pages=8)
    store = tmp_path / "store"
    first = run(site, store, [SEED])
    assert first.status().reasons["out_of_scope"] > 0
    wide = run(site, store, scope="any")
    reach = site.web.reachable(SEED)
    assert set(pages(wide)) == set(reach.pages)
    assert set(reasons(wide).values()) == {"robots_refused"}
    assert sorted(served(site)) == sorted(reach.pages)


def test_a_narrower_scope_refuses_what_is_pending(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=2, pages=8)
    store = tmp_path / "store"
    run(site, store, [SEED], scope="any", max_pages=2)
    narrow = run(site, store, scope="host", max_pages=None)
    reach = site.web.reachable(SEED, within={"h0000.test"})
    assert {url for url in served(site) if "h0000" in url} == set(reach.pages)
    assert len(site.pages("h0001.test")) <= 1
    assert narrow.status().stop_reason == "finished"


def test_retry_gives_one_kind_of_failure_another_chance(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=2)
    store = tmp_path / "store"
    seeds = [f"http://h0000.test/{path}" for path in ("flaky/1", "error/1", "gone/1")]
    first = run(site, store, seeds, retries=0)
    assert reasons(first) == dict(zip(seeds, ("http_error", "http_error", "gone"), strict=True))
    site.clear()
    line = mercator("retry", store, "--reason", "http_error")
    assert line.returncode == 0
    assert line.stdout.startswith("2 URLs are pending again")
    judge(Crawl(store))
    assert Crawl(store).status().pending == 2
    second = run(site, store)
    assert "http://h0000.test/flaky/1" in pages(second)
    assert reasons(second)["http://h0000.test/error/1"] == "http_error"
    assert "http://h0000.test/gone/1" not in site.pages()
    assert mercator("retry", store, "--reason", "gone").stdout.startswith("1 URLs")
    judge(Crawl(store))


def test_hosts_that_were_paused_are_asked_again_after_a_stop_by_patience(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=2)
    store = tmp_path / "store"
    seeds = [SEED, "http://robots503.test/"]
    first = run(site, store, seeds, patience_s=0.3)
    assert (first.status().stop_reason, first.status().pending) == ("patience", 1)
    site.clear()
    second = run(site, store, patience_s=0.3)
    assert (second.status().stop_reason, second.status().pending) == ("patience", 1)
    assert site.pages() == []


def test_a_wait_that_a_server_asked_for_is_kept_over_a_restart(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=2)
    store = tmp_path / "store"
    first = run(site, store, ["http://h0000.test/retry-after/2"], patience_s=0.3, max_depth=0)
    assert (first.status().stop_reason, first.status().pending) == ("patience", 1)
    second = run(site, store, ["http://h0000.test/page/1"], patience_s=10.0)
    assert second.status().stored == 2
    answered = [entry for entry in site.entries() if entry["path"] != "/robots.txt"]
    assert answered[1]["t"] - answered[0]["t_end"] >= 2.0 - 0.002


def test_a_stop_while_the_rate_makes_everybody_wait(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=4, pages=5)
    store = tmp_path / "store"
    seeds = [f"http://h{n:04d}.test/" for n in range(4)]
    crawl = Crawl(store, seeds=seeds, config=config(site, rate_per_s=0.2))
    with crawl:
        until(lambda: len(site.entries()) == 1)
    assert crawl.status().elapsed_s < 5
    assert len(site.entries()) == 1
    judge(crawl, site)
    whole = run(site, store, rate_per_s=None)
    assert set(pages(whole)) == set(site.web.reachable(seeds).pages)


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_stop_while_one_host_asks_for_the_robots_of_another(
    site_factory: Callable[..., Site], tmp_path: Path, after: int
) -> None:
    """The redirect of robots.txt is asked under the other host's clock, which a stop interrupts."""
    site = site_factory(hosts=1, pages=3)
    store = tmp_path / "store"
    seeds = ["http://h0000.test/page/1", "http://robotsredirect.test/page/1"]
    with Crawl(store, seeds=seeds, config=config(site, max_depth=0, delay_s=0.1)) as crawl:
        until(lambda: len(site.entries()) >= after)
    judge(crawl, site, 0.1)
    whole = run(site, store)
    assert sorted(pages(whole)) == seeds
    assert sorted(served(site)) == seeds


def test_stops_at_any_moment_lose_nothing_and_repeat_nothing(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=4, pages=10)
    store = tmp_path / "store"
    seeds = [SEED, "http://h0001.test/redirect/1", "http://h0001.test/flaky/1"]
    for stop_after in range(4, 60, 7):
        with Crawl(store, seeds=seeds, config=config(site, scope="any", delay_s=0.02)) as crawl:
            until(lambda wanted=stop_after: len(served(site)) >= wanted or crawl.wait(0))
        judge(crawl, site, 0.02)
    whole = run(site, store, delay_s=0.02)
    assert set(site.web.reachable([SEED]).pages) < set(pages(whole))
    assert sorted(served(site)) == sorted(pages(whole))
