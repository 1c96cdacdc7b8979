"""Pages that do harm: the crawl goes on, and each URL has its reason or its marks."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from mercator import Crawl
from tests.crawl.command import MERCATOR, mercator
from tests.crawl.whole import failures, pages, reasons, run
from testsite.fixture import Site

HOST = "http://h0000.test"
MAX_BODY = 300_000

FAILS = {
    "drip/1": "timeout",
    "hang/1": "timeout",
    "reset/1": "body_broken",
    "short/1": "body_broken",
    "bigheader/1": "protocol_error",
    "nothead": "protocol_error",
    "badgzip/0": "decode_failed",
    "badgzip/1": "decode_failed",
    "unknowncoding/1": "decode_failed",
    "type/png": "type_not_wanted",
    "error/1": "http_error",
    "busy/1": "http_error",
    "forbidden/1": "blocked_by_host",
    "toomany/1": "blocked_by_host",
    "gone/1": "gone",
}
CUT = ("endless/0", "endless/1", "bomb/1")
ODD = (
    *(f"charset/{n}" for n in range(4)),
    *(f"dup/{n}" for n in range(6)),
    *("nested/1", "nul/1", "empty/1", "type/pdf", "type/none"),
    *("noindex/0", "noindex/1", "nofollow/0", "nofollow/1"),
)


BROKEN_OFF = (*CUT, "bigheader/1", "type/png", "drip/1", "hang/1")


def _url(path: str) -> str:
    if path in BROKEN_OFF:
        return f"http://robots404-{BROKEN_OFF.index(path)}.test/{path}"
    return f"{HOST}/{path}"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Crawl]]:
    """All of them in one crawl. What the crawler breaks off has a host of its own, since the server
    sees the break when it next looks, which may be after the gap has begun."""
    folder = tmp_path_factory.mktemp("hostile")
    with Site(hosts=1, pages=4) as site:
        seeds = [_url(path) for path in (*FAILS, *CUT, *ODD)]
        yield (
            site,
            run(
                site,
                folder / "store",
                seeds,
                max_body_bytes=MAX_BODY,
                timeout_s=0.7,
                patience_s=20.0,
                retries=1,
                delay_s=0.05,
            ),
        )


@pytest.mark.parametrize("path", FAILS)
def test_a_page_that_fails_has_its_reason(hostile: tuple[Site, Crawl], path: str) -> None:
    _, crawl = hostile
    row = failures(crawl)[_url(path)]
    assert row.reason == FAILS[path]
    assert row.error
    assert row.key_url == row.url
    assert row.attempts in (1, 2)
    assert row.first_at is not None
    assert row.last_at is not None


def test_only_what_may_pass_is_tried_again(hostile: tuple[Site, Crawl]) -> None:
    _, crawl = hostile
    attempts = {path: failures(crawl)[_url(path)].attempts for path in FAILS}
    once = ("bigheader/1", "unknowncoding/1", "type/png", "forbidden/1", "gone/1")
    twice = ("drip/1", "hang/1", "reset/1", "short/1", "nothead", "error/1", "busy/1", "toomany/1")
    assert {attempts[path] for path in once} == {1}
    assert {attempts[path] for path in twice} == {2}


def test_the_crawl_goes_on_to_the_end(hostile: tuple[Site, Crawl]) -> None:
    site, crawl = hostile
    assert crawl.status().stop_reason == "finished"
    assert crawl.status().pending == 0
    linked = {f"{HOST}/page/{n}" for n in range(4)}
    assert linked | {f"{HOST}/"} <= set(pages(crawl))
    assert "poison" not in crawl.status().reasons
    assert not any("script-only" in url for url in site.pages())


@pytest.mark.parametrize("path", CUT)
def test_a_body_that_is_too_long_is_cut_and_marked(hostile: tuple[Site, Crawl], path: str) -> None:
    _, crawl = hostile
    page = pages(crawl)[_url(path)]
    assert (page.bytes, page.truncated) == (MAX_BODY, True)
    assert len(crawl.body(page.url)) == MAX_BODY


def test_the_encoding_is_found_and_its_source_named(hostile: tuple[Site, Crawl]) -> None:
    _, crawl = hostile
    stored = pages(crawl)
    told = {
        n: (stored[f"{HOST}/charset/{n}"].encoding, stored[f"{HOST}/charset/{n}"].encoding_from)
        for n in range(4)
    }
    assert told == {
        0: ("UTF-8", "header"),
        1: ("windows-1252", "header"),
        2: ("UTF-8", "utf-8"),
        3: ("UTF-8", "meta"),
    }
    assert stored[f"{HOST}/charset/3"].title == "Café Straße 3"
    assert stored[f"{HOST}/charset/2"].title == "Café Straße 2"


def test_copies_are_marked_with_the_first_of_them(hostile: tuple[Site, Crawl]) -> None:
    _, crawl = hostile
    stored = pages(crawl)
    copies = [stored[f"{HOST}/dup/{n}"] for n in range(5)]
    first = [page for page in copies if page.duplicate_of is None]
    assert len(first) == 1
    assert {page.duplicate_of for page in copies} == {None, first[0].key_url}
    assert len({page.sha256 for page in copies}) == 1
    assert stored[f"{HOST}/dup/5"].duplicate_of is None


def test_odd_pages_are_stored_with_what_they_are(hostile: tuple[Site, Crawl]) -> None:
    _, crawl = hostile
    stored = pages(crawl)
    empty = stored[f"{HOST}/empty/1"]
    assert (empty.bytes, empty.truncated, empty.title) == (0, False, None)
    assert empty.sha256 == hashlib.sha256(b"").hexdigest()
    pdf = stored[f"{HOST}/type/pdf"]
    assert (pdf.content_type, pdf.title, pdf.encoding) == ("application/pdf", None, None)
    bare = stored[f"{HOST}/type/none"]
    assert (bare.content_type, bare.title) == (None, "No type")
    targets: dict[str, set[str | None]] = {}
    for link in crawl.links():
        targets.setdefault(link.source, set()).add(link.target)
    assert f"{HOST}/page/1" in targets[f"{HOST}/nul/1"]
    assert f"{HOST}/" in targets[f"{HOST}/nested/1"]
    assert stored[f"{HOST}/nested/1"].title == "Nested 1"


def test_the_wishes_of_pages_are_recorded_and_obeyed(hostile: tuple[Site, Crawl]) -> None:
    site, crawl = hostile
    stored = pages(crawl)
    for n in range(2):
        assert stored[f"{HOST}/noindex/{n}"].noindex
        assert stored[f"{HOST}/nofollow/{n}"].nofollow
        assert reasons(crawl)[f"{HOST}/only-nofollow/{n}"] == "nofollow"
    assert not any("only-nofollow" in url for url in site.pages())
    assert [
        page.url for page in stored.values() if page.noindex and "noindex" not in page.url
    ] == []


def test_every_body_has_its_hash_and_its_warc_record(hostile: tuple[Site, Crawl]) -> None:
    _, crawl = hostile
    for page in crawl.pages():
        body = page.body()
        assert hashlib.sha256(body).hexdigest() == page.sha256
        assert len(body) == page.bytes
        assert page.warc_file is not None
        assert page.warc_offset is not None
        with open(crawl._path / "warc" / page.warc_file, "rb") as warc:
            warc.seek(page.warc_offset)
            record = next(iter(ArchiveIterator(warc)))
            assert record.rec_type == "response"
            assert record.rec_headers.get_header("WARC-Target-URI") == page.url
            assert record.content_stream().read() == body
            assert int(record.http_headers.get_statuscode()) == page.status


def test_the_warc_files_hold_every_answer(hostile: tuple[Site, Crawl]) -> None:
    _, crawl = hostile
    told: list[str] = []
    for path in sorted((crawl._path / "warc").iterdir()):
        with open(path, "rb") as warc:
            for record in ArchiveIterator(warc, check_digests=True):
                assert record.digest_checker.passed is not False
                if record.rec_type == "response":
                    told.append(record.rec_headers.get_header("WARC-Target-URI"))
                record.content_stream().read()
    answered = [visit.url for visit in crawl.visits() if visit.status and not visit.error]
    assert sorted(told) == sorted(url or "" for url in answered)


def test_the_body_command_gives_the_same_bytes(hostile: tuple[Site, Crawl]) -> None:
    _, crawl = hostile
    for path in ("charset/0", "nul/1", "type/pdf"):
        url = f"{HOST}/{path}"
        line = subprocess.run(
            [*MERCATOR, "body", crawl._path, url], capture_output=True, timeout=30
        )
        assert (line.returncode, line.stderr) == (0, b"")
        assert line.stdout == crawl.body(url)
    missing = mercator("body", crawl._path, f"{HOST}/gone/1")
    assert (missing.returncode, missing.stdout) == (2, "")


def test_without_warc_bodies_lie_under_their_hash(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=2)
    crawl = run(
        site, tmp_path / "store", [f"{HOST}/", f"{HOST}/dup/1", f"{HOST}/dup/2"], warc=False
    )
    for page in crawl.pages():
        assert page.warc_file is None
        assert hashlib.sha256(page.body()).hexdigest() == page.sha256
    assert list((tmp_path / "store" / "warc").iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_bomb_does_not_fill_the_memory(site_factory: Callable[..., Site], tmp_path: Path) -> None:
    """200 MB unpacked, of which no more than the limit is ever held."""
    site = site_factory(hosts=1, pages=2)

    def peak_kb() -> int:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

    with open("/proc/self/clear_refs", "w", encoding="ascii") as reset:
        reset.write("5")  # the peak begins anew
    before = peak_kb()
    crawl = run(site, tmp_path / "store", [f"{HOST}/bomb/1"], max_body_bytes=1_000_000, max_depth=0)
    assert [page.truncated for page in crawl.pages()] == [True]
    # Most of it is the tree of a page of a million bytes with 83,000 elements.
    assert peak_kb() - before < 100_000
