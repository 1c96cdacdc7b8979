"""What the owner of a site can prove from its log: a server in a process of its own is the judge."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from mercator import Crawl, CrawlConfig
from tests.crawl.whole import END_S, judge, pages, reasons, run
from testsite.audit import audit
from testsite.fixture import Site
from testsite.hosts import CRAWL_DELAY_S
from testsite.log import Entry, read_log
from testsite.process import running

DELAY_S = 0.06
PAGES = 6
ODD = ("robots404", "robotsdelay", "robotsredirect", "robotsclosed", "robotsloop", "dead")
UNKNOWN = ("robots503", "robotshang", "robotsreset")


class Told:
    """A crawl that is over, and the server's log of it."""

    def __init__(self, crawl: Crawl, entries: list[Entry]) -> None:
        self.crawl = crawl
        self.entries = entries

    def asked(self, host: str) -> list[str]:
        return [entry["path"] for entry in self.entries if entry["host"] == host]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One crawl of every kind of host at once."""
    folder = tmp_path_factory.mktemp("politeness")
    seeds = [
        *(f"http://h{n:04d}.test/" for n in range(3)),
        "http://h0001.test/retry-after/1",
        *(f"http://{kind}.test/" for kind in (*ODD, *UNKNOWN)),
    ]
    settings: dict[str, Any] = {
        "allow_net": ("127.0.0.0/8",),
        "delay_s": DELAY_S,
        "delay_factor": 0.0,
        "patience_s": 1.0,
        "retry_base_s": 0.05,
        "retry_cap_s": 0.5,
        "retries": 1,
        "timeout_s": 0.8,
        "threads": 16,
        "map_bytes": 1 << 28,
        "max_pages_per_host": PAGES,
    }
    with running(folder, "--hosts", "3", "--pages", "10") as site:
        config = CrawlConfig(resolve=(site.resolve,), **settings)
        with Crawl(folder / "store", seeds=seeds, config=config) as crawl:
            assert crawl.wait(timeout_s=END_S)
    judge(crawl)
    return Told(crawl, read_log(site.log_path))


def test_no_violation_is_in_the_log(told: Told) -> None:
    """One in flight per host, no gap under the delay less 2 ms, nothing that robots refuses."""
    assert audit(told.entries, delay_s=DELAY_S, slack_s=0.002, whole_crawl=True) == []
    assert len(told.entries) > 50


def test_the_ledger_shows_the_same_requests_as_the_log(told: Told) -> None:
    def key(url: str) -> str:
        return url.removeprefix("http://")

    ledger = sorted(key(visit.url or "") for visit in told.crawl.visits())
    logged = sorted(entry["host"] + entry["path"] for entry in told.entries)
    assert ledger == logged


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_host_whose_robots_are_unknown_gets_no_page_request(told: Told, kind: str) -> None:
    assert set(told.asked(f"{kind}.test")) == {"/robots.txt"}
    explanation = told.crawl.explain(f"http://{kind}.test/")
    assert explanation.state == "pending"
    assert told.crawl.status().stop_reason == "patience"


def test_a_host_that_refuses_everything_gets_no_page_request(told: Told) -> None:
    assert told.asked("robotsclosed.test") == ["/robots.txt"]
    assert reasons(told.crawl)["http://robotsclosed.test/"] == "robots_refused"


def test_a_host_without_robots_has_no_rules(told: Told) -> None:
    assert any(path.startswith("/private/") for path in told.asked("robots404.test"))
    assert "http://robotsloop.test/" in pages(told.crawl)


def test_crawl_delay_holds_between_all_requests_of_its_host(told: Told) -> None:
    times = [(e["t"], e["t_end"]) for e in told.entries if e["host"] == "robotsdelay.test"]
    assert len(times) >= 2
    for (_, ended), (began, _) in pairwise(times):
        assert began - ended >= CRAWL_DELAY_S - 0.002
    reasons_of_gap = {v.gap_reason for v in told.crawl.visits() if v.host == "robotsdelay.test"}
    assert "crawl_delay" in reasons_of_gap


def test_retry_after_is_obeyed_by_the_whole_host(told: Told) -> None:
    asked = [entry for entry in told.entries if entry["host"] == "h0001.test"]
    refused = next(n for n, entry in enumerate(asked) if entry["status"] == 429)
    assert asked[refused + 1]["t"] - asked[refused]["t_end"] >= 1.0 - 0.002
    assert pages(told.crawl)["http://h0001.test/retry-after/1"].attempts == 2


def test_a_redirect_of_robots_is_asked_under_the_other_hosts_clock(told: Told) -> None:
    """The audit above proves the gaps; here that h0000.test's file was asked once more for it, and
    that its rules hold."""
    assert told.asked("h0000.test").count("/robots.txt") == 2
    assert "http://robotsredirect.test/" in pages(told.crawl)
    assert not any(path.startswith("/private/") for path in told.asked("robotsredirect.test"))


def test_the_global_rate_counts_every_request(tmp_path: Path) -> None:
    rate = 50.0
    with running(tmp_path, "--hosts", "6", "--pages", "20") as site:
        config = CrawlConfig(
            resolve=(site.resolve,),
            allow_net=("127.0.0.0/8",),
            rate_per_s=rate,
            delay_s=0.0,
            delay_factor=0.0,
            scope="any",
            max_pages=60,
            map_bytes=1 << 28,
        )
        with Crawl(tmp_path / "store", seeds=["http://h0000.test/"], config=config) as crawl:
            assert crawl.wait(timeout_s=END_S)
    judge(crawl)
    times = sorted(entry["t"] for entry in read_log(site.log_path))
    assert len(times) == 60 + 6, "pages and robots.txt files"
    # A thread that the system wakes late, after its release, brings two requests close together on
    # the server's clock; it cannot bring more of them into a window, nor shorten the whole.
    late_s = 0.04
    for first, began in enumerate(times):
        within = sum(1 for t in times[first:] if t < began + 0.5)
        assert within <= 1 + rate * (0.5 + late_s)
    assert times[-1] - times[0] >= (len(times) - 1) / rate - late_s
    assert median(after - before for before, after in pairwise(times)) >= 1 / rate - 0.002
    # A busy machine may only be slower; how exact the mean is, the bucket's own tests measure.
    assert (len(times) - 1) / (times[-1] - times[0]) > 0.5 * rate
    assert crawl.status().bucket_wait_s > 0


def test_two_ports_of_a_host_share_its_clock(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=4)
    seeds = ["http://h0000.test/", "http://h0000.test:8081/"]
    crawl = run(site, tmp_path / "store", seeds, delay_s=0.1)
    asked = [entry["path"] for entry in site.entries() if entry["path"] == "/robots.txt"]
    assert len(asked) == 2, "robots.txt goes by origin"
    assert {"http://h0000.test/", "http://h0000.test:8081/"} <= set(pages(crawl))


def test_the_request_names_who_asks(site_factory: Callable[..., Site], tmp_path: Path) -> None:
    site = site_factory(hosts=1, pages=2)
    crawl = run(
        site,
        tmp_path / "store",
        ["http://h0000.test/echo"],
        user_agent="Tester",
        contact="me@example.org",
    )
    head = crawl.body("http://h0000.test/echo").decode()
    assert head.startswith("GET /echo HTTP/1.1\r\n")
    assert "\r\nHost: h0000.test\r\n" in head
    fields = [line for line in head.split("\r\n") if line.lower().startswith("user-agent:")]
    assert len(fields) == 1
    assert fields[0].partition(": ")[2].startswith("Tester/")
    assert fields[0].endswith("(+me@example.org)")
    assert "cookie" not in head.lower()
