from __future__ import annotations

import pytest

from testsite.audit import audit
from testsite.hosts import HostRules
from testsite.log import Entry


def entry(
    t: float, t_end: float, path: str = "/page/1", *, host: str = "h0000.test", status: int = 200
) -> Entry:
    return Entry(t=t, t_end=t_end, host=host, path=path, status=status, peer="127.0.0.1:1")


POLITE = [entry(0.0, 0.5, "/robots.txt"), entry(1.5, 1.6), entry(2.6, 2.7)]


def test_a_polite_crawl_has_no_violations() -> None:
    assert audit(POLITE, delay_s=1.0, whole_crawl=True) == []
    assert audit(reversed(POLITE), delay_s=1.0, whole_crawl=True) == []
    assert audit([], delay_s=1.0) == []


def test_two_in_flight() -> None:
    (violation,) = audit([entry(0, 5, "/slow/1"), entry(4.9, 5.5)], delay_s=0)
    assert violation == (
        "h0000.test: /page/1 at 4.900000 began while /slow/1 was in flight, 0.100000 s before its end"
    )


def test_a_short_request_within_a_long_one_does_not_free_the_host() -> None:
    entries = [entry(0, 5, "/slow/1"), entry(1, 1.1, "/page/1"), entry(2, 2.1, "/page/2")]
    found = audit(entries, delay_s=0)
    assert len(found) == 2
    assert all("/slow/1 was in flight" in violation for violation in found)


def test_hosts_are_judged_apart() -> None:
    entries = [entry(0, 5), entry(1, 2, host="h0001.test")]
    assert audit(entries, delay_s=10) == []


@pytest.mark.parametrize(("t", "found"), [(1.4979, 1), (1.4981, 0), (1.5, 0)])
def test_the_gap_counts_from_the_end_with_slack(t: float, found: int) -> None:
    entries = [entry(0.0, 0.5), entry(t, t + 0.1)]
    violations = audit(entries, delay_s=1.0)
    assert len(violations) == found
    assert all("too soon" in violation for violation in violations)


def test_slack_is_a_choice_and_never_covers_an_overlap() -> None:
    assert audit([entry(0.0, 0.5), entry(1.4, 1.6)], delay_s=1.0, slack_s=0.2) == []
    assert len(audit([entry(0.0, 0.5), entry(0.499, 0.6)], delay_s=0, slack_s=0.2)) == 1


@pytest.mark.parametrize(
    ("host", "path", "found"),
    [
        ("h0000.test", "/private/1", 1),
        ("h0000.test", "/robots.txt", 0),
        ("robots404.test", "/private/1", 0),
        ("robotsclosed.test", "/", 1),
        ("robots503.test", "/page/1", 1),
        ("robots503.test", "/robots.txt", 0),
        ("robotsloop.test", "/robots-loop.txt", 0),
        ("dead-3.test", "/page/1", 1),
        ("127.0.0.1", "/private/home", 1),
    ],
)
def test_refused_paths(host: str, path: str, found: int) -> None:
    violations = audit([entry(0, 1, path, host=host)], delay_s=1)
    assert len(violations) == found
    assert all("refused by robots.txt" in violation for violation in violations)


def test_other_rules_can_be_given() -> None:
    closed = HostRules(("/page/",), crawl_delay_s=5.0)
    entries = [entry(0, 1, "/"), entry(3, 4, "/page/1")]
    found = audit(entries, delay_s=1.0, robots=lambda _: closed)
    assert len(found) == 2


def test_crawl_delay_of_its_host() -> None:
    entries = [entry(0, 1, host="robotsdelay.test"), entry(2.5, 3, host="robotsdelay.test")]
    assert len(audit(entries, delay_s=1.0)) == 1
    assert len(audit(entries, delay_s=1.6)) == 1
    assert audit([entry(0, 1), entry(2.5, 3)], delay_s=1.0) == []


def test_retry_after_holds_the_host() -> None:
    told = entry(0, 1, "/retry-after/9", status=429)
    assert len(audit([told, entry(5, 6), entry(10.5, 11)], delay_s=1.0)) == 1
    assert audit([told, entry(10, 11)], delay_s=1.0) == []
    granted = entry(0, 1, "/retry-after/9", status=200)
    assert audit([granted, entry(2, 3)], delay_s=1.0) == []


def test_a_later_short_gap_does_not_undo_retry_after() -> None:
    entries = [entry(0, 1, "/retry-after/9", status=429), entry(2, 3), entry(5, 6)]
    assert len(audit(entries, delay_s=1.0)) == 2


def test_pages_before_robots() -> None:
    entries = [entry(0, 1), entry(2, 3, "/robots.txt")]
    assert audit(entries, delay_s=1.0) == []
    assert audit(entries, delay_s=1.0, whole_crawl=True) == [
        "h0000.test: /page/1 was asked before robots.txt"
    ]


def test_whoever_watches_is_not_judged() -> None:
    watching = [entry(0, 1, "/status", host="status.test")] * 3
    assert audit(watching, delay_s=1.0, whole_crawl=True) == []
