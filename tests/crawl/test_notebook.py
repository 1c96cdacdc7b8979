"""`Crawl` as a notebook uses it: any cell twice, any thread, beside itself, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mercator import Crawl, CrawlConfig
from mercator.errors import (
    StateError,
    StoreFullError,
    StoreInUseError,
    StoreMissingError,
    UsageError,
)
from tests.crawl.command import mercator
from tests.crawl.whole import adds_up, config, judge, pages, run, served, until
from testsite.fixture import Site

SEED = "http://h0000.test/"


def mercator_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("mercator")]


def test_the_same_cell_twice(site: Site, tmp_path: Path) -> None:
    for _ in range(2):
        with Crawl(tmp_path / "store", seeds=[SEED], config=config(site)) as crawl:
            assert crawl.wait(timeout_s=30)
    judge(crawl, site)
    assert sorted(served(site)) == sorted(pages(crawl))


def test_the_same_crawl_started_again_goes_on(site: Site, tmp_path: Path) -> None:
    crawl = Crawl(tmp_path / "store", seeds=[SEED], config=config(site, max_pages=2))
    for _ in range(2):
        with crawl:
            assert crawl.wait(timeout_s=30)
        assert crawl.status().stored == 2
    judge(crawl, site)


def test_a_stopped_crawl_shows_what_has_become_of_its_store_since(
    site: Site, tmp_path: Path
) -> None:
    crawl = run(site, tmp_path / "store", ["http://h0000.test/error/1"], retries=0)
    assert crawl.status().failed == 1
    assert crawl.retry() == 1
    assert (crawl.status().failed, crawl.status().pending) == (0, 1)
    run(site, tmp_path / "store", [SEED], max_pages=3)
    assert crawl.status().stored == 3
    assert crawl.status() == Crawl(tmp_path / "store").status()


def test_a_second_start_while_running_is_refused(site: Site, tmp_path: Path) -> None:
    with Crawl(tmp_path / "store", seeds=[SEED], config=config(site, delay_s=0.3)) as crawl:
        with pytest.raises(StateError, match="is running; stop it first"):
            crawl.start()
        other = Crawl(tmp_path / "store", config=config(site))
        with pytest.raises(StoreInUseError, match="another Crawl of this process") as failure:
            other.start()
        assert failure.value.exit_code == 3
        with pytest.raises(StoreInUseError):
            other.check()
        with pytest.raises(StoreInUseError):
            other.retry()
        until(lambda: crawl.status().stored >= 1)
    judge(crawl, site)


def test_in_a_thread_and_inside_a_running_loop(site: Site, tmp_path: Path) -> None:
    async def cell() -> int:
        with Crawl(tmp_path / "loop", seeds=[SEED], config=config(site, max_pages=3)) as crawl:
            while not crawl.wait(timeout_s=0):
                await asyncio.sleep(0.01)
        return crawl.status().stored

    assert asyncio.run(cell()) == 3
    site.clear()  # a store knows nothing of another one's last request
    got: list[int] = []
    thread = threading.Thread(
        target=lambda: got.append(
            run(site, tmp_path / "thread", [SEED], max_pages=2).status().stored
        )
    )
    thread.start()
    thread.join(30)
    assert got == [2]


def test_everything_can_be_read_before_beside_and_after(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=100)
    store = tmp_path / "store"
    crawl = Crawl(store, seeds=[SEED], config=config(site, delay_s=0.1))
    assert crawl.status().seen == 0
    for rows in (crawl.pages, crawl.links, crawl.failures, crawl.hosts, crawl.visits):
        assert list(rows()) == [], "before the start there is nothing to read, and that is no error"
    assert (crawl.explain(SEED).state, crawl.explain(SEED).reason) == ("unknown", None)
    assert crawl.explain("http://elsewhere.test/").reason == "out_of_scope"
    with pytest.raises(UsageError, match="no page is stored"):
        crawl.body(SEED)
    with pytest.raises(StoreMissingError):
        list(Crawl(store).pages())
    with crawl:
        until(lambda: crawl.status().stored >= 3)
        beside = Crawl(store)
        assert len(list(crawl.pages())) >= 3
        assert len(list(beside.pages())) >= 3
        adds_up(crawl.status())
        adds_up(beside.status())
        assert crawl.explain(SEED).state == "stored"
        assert crawl.body(SEED) == beside.body(SEED)
        for rows in (beside.links, beside.failures, beside.hosts, beside.visits):
            assert list(rows())
        for command, *argv in (("status",), ("explain", SEED)):
            line = mercator(command, store, *argv, "--json")
            assert line.returncode == 0, line.stderr
            json.loads(line.stdout)
        line = mercator("export", store, "pages")
        assert line.returncode == 0, line.stderr
        assert len(line.stdout.splitlines()) >= 3
        assert not crawl.wait(timeout_s=0), "all that was read beside the running crawl"
    judge(crawl, site)
    assert len(list(crawl.pages())) == crawl.status().stored


def test_a_reader_may_be_left_half_way(site: Site, tmp_path: Path) -> None:
    crawl = run(site, tmp_path / "store", [SEED])
    rows = crawl.pages()
    next(rows)
    more = [next(crawl.pages()).url for _ in range(200)]
    assert len(set(more)) == 1
    del rows
    judge(crawl, site)


def test_pause_and_resume(site_factory: Callable[..., Site], tmp_path: Path) -> None:
    site = site_factory(hosts=1, pages=20)
    with Crawl(tmp_path / "store", seeds=[SEED], config=config(site)) as crawl:
        until(lambda: crawl.status().stored >= 2)
        crawl.pause()
        until(lambda: crawl.status().in_flight == 0)
        asked = len(site.entries())
        assert not crawl.wait(timeout_s=0.3)
        assert len(site.entries()) == asked
        crawl.resume()
        assert crawl.wait(timeout_s=30)
        assert crawl.status().stop_reason == "finished"
    assert sorted(served(site)) == sorted(site.web.reachable(SEED).pages)
    judge(crawl, site)


def test_a_paused_crawl_can_be_stopped(site: Site, tmp_path: Path) -> None:
    with Crawl(tmp_path / "store", seeds=[SEED], config=config(site, delay_s=0.2)) as crawl:
        crawl.pause()
    assert crawl.status().stop_reason == "interrupted"
    judge(crawl, site)


def test_seeds_are_added_to_a_running_crawl_durably(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=3, pages=3)
    store = tmp_path / "store"
    with Crawl(store, seeds=[SEED], config=config(site)) as crawl:
        crawl.add(["http://h0001.test/", "http://h0001.test/"])
        assert Crawl(store).explain("http://h0001.test/").state in ("pending", "stored")
        with pytest.raises(UsageError, match="is no URL"):
            crawl.add(["nonsense"])
        with pytest.raises(UsageError, match="contact"):
            crawl.add(["http://real.example.org/"])
        assert crawl.wait(timeout_s=30)
        with pytest.raises(StateError, match="has ended"):
            crawl.add(["http://h0002.test/"])
    hosts = {"h0000.test", "h0001.test"}
    assert set(pages(crawl)) == set(
        site.web.reachable([SEED, "http://h0001.test/"], within=hosts).pages
    )
    judge(crawl, site)


def test_seeds_can_be_added_before_the_start(site: Site, tmp_path: Path) -> None:
    crawl = Crawl(tmp_path / "store", config=config(site))
    crawl.add([SEED])
    with crawl:
        assert crawl.wait(timeout_s=30)
    assert crawl.status().stored > 1


def test_added_seeds_are_read_under_the_stores_own_policy(site: Site, tmp_path: Path) -> None:
    store = tmp_path / "store"
    run(site, store, ["http://h0000.test/page/1"], url_policy="aggressive", max_depth=0)
    given = {name: value for name, value in config(site).as_dict().items() if name == "delay_s"}
    with Crawl(store, seeds=["http://h0000.test/page/2"], config=CrawlConfig(**given)) as crawl:
        crawl.add(["http://h0000.test/page/1/"])
        assert crawl.wait(timeout_s=30)
    assert sorted(pages(crawl)) == ["http://h0000.test/page/1", "http://h0000.test/page/2"]
    assert not any(url.endswith("/page/1/") for url in site.pages())
    judge(crawl, site)


def test_stop_leaves_nothing_behind(
    site: Site, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    loggers = (list(logging.getLogger().handlers), list(logging.getLogger("mercator").handlers))
    with Crawl(tmp_path / "store", seeds=[SEED], config=config(site)) as crawl:
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
        until(lambda: crawl.status().stored >= 2)
        assert mercator_threads()
    assert mercator_threads() == []
    crawl.stop()
    crawl.stop()
    assert capfd.readouterr() == ("", "")
    assert loggers == (
        list(logging.getLogger().handlers),
        list(logging.getLogger("mercator").handlers),
    )
    judge(crawl, site)


def test_a_full_store_raises_at_the_wait_and_leaves_no_thread(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=10, pages=60)
    store = tmp_path / "store"
    settings = config(site, map_bytes=1 << 20, delay_s=0.001, scope="any")
    crawl = Crawl(store, seeds=[SEED], config=settings)
    with crawl, pytest.raises(StoreFullError, match="map_bytes"):
        crawl.wait(timeout_s=30)
    assert mercator_threads() == []
    adds_up(crawl.status())
    assert crawl.status().stop_reason == "disk_full"
    judge(Crawl(store), site, 0.001)
    assert len(list(crawl.pages())) == crawl.status().stored > 0


def test_an_error_inside_the_block_stops_the_crawl(site: Site, tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        Crawl(tmp_path / "store", seeds=[SEED], config=config(site)) as crawl,
    ):
        raise ZeroDivisionError
    assert mercator_threads() == []
    judge(crawl, site)


def test_a_crawl_that_cannot_start_leaves_nothing(site: Site, tmp_path: Path) -> None:
    for fields, seeds in (
        ({"resolve": ()}, ["http://real.example.org/"]),
        ({}, []),
        ({"resolve": ("*.test=nonsense:1",)}, [SEED]),
    ):
        store = tmp_path / "store"
        with pytest.raises((UsageError, StoreMissingError)):
            Crawl(store, seeds=seeds, config=config(site, **fields)).start()
        assert not store.exists()
    assert mercator_threads() == []


def test_a_process_that_forgets_to_stop_still_ends(site: Site, tmp_path: Path) -> None:
    script = (
        "import sys, mercator\n"
        "c = mercator.Crawl(sys.argv[1], seeds=['http://h0000.test/'], config=mercator.CrawlConfig("
        "resolve=(sys.argv[2],), allow_net=('127.0.0.0/8',), delay_s=5.0))\n"
        "c.start()\n"
        "while not c.status().seen: pass\n"
    )
    argv = [sys.executable, "-c", script, str(tmp_path / "store"), site.resolve]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    judge(Crawl(tmp_path / "store"))
