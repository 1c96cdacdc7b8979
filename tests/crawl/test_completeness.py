"""A crawl finds all there is, and says of every URL what became of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mercator import Crawl
from tests.crawl.command import mercator
from tests.crawl.whole import pages, reasons, run
from testsite.fixture import Site


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Crawl]]:
    """Three hosts, crawled to the end from one of them with scope any."""
    with Site(hosts=3, pages=12) as site:
        yield (
            site,
            run(site, tmp_path_factory.mktemp("s") / "store", [site.web.url(0)], scope="any"),
        )


def test_what_is_stored_is_what_can_be_reached(whole: tuple[Site, Crawl]) -> None:
    site, crawl = whole
    reach = site.web.reachable(site.web.url(0))
    assert {url: page.depth for url, page in pages(crawl).items()} == reach.pages
    assert crawl.status().stop_reason == "finished"
    assert crawl.status().pending == 0


def test_what_robots_refuses_has_that_reason_and_nothing_else_has_one(
    whole: tuple[Site, Crawl],
) -> None:
    site, crawl = whole
    reach = site.web.reachable(site.web.url(0))
    assert reasons(crawl) == dict.fromkeys(reach.refused, "robots_refused")


def test_every_page_was_asked_once(whole: tuple[Site, Crawl]) -> None:
    site, crawl = whole
    assert sorted(site.pages()) == sorted(pages(crawl))
    assert crawl.status().fetched == crawl.status().stored


def test_the_links_table_holds_every_link_of_every_page(whole: tuple[Site, Crawl]) -> None:
    site, crawl = whole
    found: dict[str, set[str]] = {}
    for link in crawl.links():
        assert link.kind == "a"
        assert link.target is not None
        found.setdefault(link.source, set()).add(link.target)
    wanted = {}
    for url in pages(crawl):
        parts = urlsplit(url)
        host, page = site.web.index(parts.netloc), site.web.page_of(parts.path)
        assert host is not None
        assert page is not None
        wanted[url] = {link.url for link in site.web.links(host, page)}
    assert found == wanted


def test_references_between_tables_resolve(whole: tuple[Site, Crawl]) -> None:
    _, crawl = whole
    stored = pages(crawl)
    known = set(stored) | {row.key_url for row in crawl.failures() if row.key_url}
    assert {link.target for link in crawl.links()} <= known
    assert {link.source for link in crawl.links()} <= set(stored)
    parents = {page.discovered_from for page in stored.values()}
    assert parents - {None} <= set(stored)
    assert {row.discovered_from for row in crawl.failures()} <= set(stored)


COLUMNS = {
    "pages": "url key_url status depth discovered_from fetched_at elapsed_ms address content_type "
    "encoding encoding_from bytes truncated sha256 simhash title duplicate_of near_duplicate_of "
    "near_distance canonical noindex nofollow signals etag last_modified attempts warc_file "
    "warc_offset",
    "links": "source target kind rel anchor",
    "failures": "url key_url reason status error attempts first_at last_at discovered_from",
    "hosts": "host stored failed pending gap_s gap_reason due_at blocked_until robots robots_at "
    "addresses bytes",
    "visits": "host url kind address started_at ended_at status error bytes gap_s gap_reason "
    "robots_at",
}


@pytest.mark.parametrize("table", COLUMNS)
def test_an_exported_table_has_every_row_with_the_columns_in_order(
    whole: tuple[Site, Crawl], table: str, tmp_path: Path
) -> None:
    _, crawl = whole
    path = tmp_path / "rows.jsonl"
    line = mercator("export", crawl._path, table, "--output", path)
    assert (line.returncode, line.stdout, line.stderr) == (0, "", "")
    rows = [json.loads(row) for row in path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len(list(getattr(crawl, table)())) > 0
    assert {" ".join(row) for row in rows} == {COLUMNS[table]}


def test_a_url_outside_the_scope_is_refused_with_its_row(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=3, pages=8)
    seed = site.web.url(1)
    crawl = run(site, tmp_path / "store", [seed])
    reach = site.web.reachable(seed, within={site.web.name(1)})
    assert set(pages(crawl)) == set(reach.pages)
    assert reasons(crawl) == {
        **dict.fromkeys(reach.refused, "robots_refused"),
        **dict.fromkeys(reach.outside, "out_of_scope"),
    }
    assert {urlsplit(url).netloc for url in site.pages()} == {site.web.name(1)}


def test_explain_answers_for_every_kind_of_url(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=2, pages=4, specials=True, slow_s=0.05)
    crawl = run(site, tmp_path / "store", ["http://h0000.test/"], max_depth=3)
    told = {
        "http://H0000.test:80/page/1#part": ("stored", None),
        "http://h0000.test/redirect/0": ("redirected", None),
        "http://h0000.test/gone/1": ("gone", "gone"),
        "http://h0000.test/private/home": ("robots_refused", "robots_refused"),
        "http://h0001.test/page/0": ("refused", "out_of_scope"),
        "http://h0000.test/calendar/3": ("refused", "too_deep"),
        "http://h0000.test/never-seen": ("unknown", None),
        "http://other.test/never-seen": ("unknown", "out_of_scope"),
        "ftp://h0000.test/": ("unknown", "unsupported_scheme"),
    }
    for url, (state, reason) in told.items():
        explanation = crawl.explain(url)
        assert (explanation.state, explanation.reason) == (state, reason), url
        assert 1 <= len(explanation.story) <= 10
    with_copy = pages(crawl)["http://h0000.test/dup/1"]
    assert with_copy.duplicate_of is not None


def test_specials_end_as_they_should(site_factory: Callable[..., Site], tmp_path: Path) -> None:
    site = site_factory(hosts=1, pages=4, specials=True, slow_s=0.05)
    crawl = run(site, tmp_path / "store", ["http://h0000.test/"], max_depth=4)
    stored, host = pages(crawl), "http://h0000.test"
    assert stored[f"{host}/flaky/0"].attempts == 2
    assert {f"{host}/calendar/{n}" for n in range(4)} <= set(stored)
    assert reasons(crawl)[f"{host}/calendar/4"] == "too_deep"
    first = {page.duplicate_of for url, page in stored.items() if "/dup/" in url}
    assert len(first - {None}) == 2, "two groups of five copies, each with one original"
    status = crawl.status()
    assert status.duplicates_exact == 8
    assert (status.redirects, status.gone, status.reasons["gone"]) == (3, 3, 3)
