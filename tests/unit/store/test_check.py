"""Every kind of damage is found, told in a sentence, and mended; a whole store is left alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mercator.ports import Tables, Txn
from mercator.rows import ContentRow, DeadRow, HostRow, LinkRow, QueueKey
from mercator.store import checkup, findings, sorted_records
from mercator.store.check import check
from mercator.store.documents import WarcDocuments
from mercator.store.findings import Fate, Fault, Finding, Report
from mercator.store.lmdb_tables import LmdbTables
from mercator.store.memory_tables import MemoryTables
from mercator.store.warc import WarcInfo
from mercator.testing import ManualClock
from mercator.urls.url_key import host_id
from mercator.values import NO_KEY, HostId, Reason, State, UrlKey
from tests.unit.store.whole_store import (
    BODY,
    BROKEN,
    COPY,
    DUE,
    GONE,
    HOME,
    IN_BACK,
    IN_DELAYED,
    IN_FRONT,
    MOVED,
    PLACES,
    PRIVATE,
    REFUSED,
    SHA256,
    A,
    B,
    WholeStore,
    key,
    page_row,
    url_row,
)

Damage = Callable[[Txn], object]
NOBODY = key("nobody", "c.test")
C = host_id("c.test")


@pytest.fixture
def store(tmp_path: Path) -> WholeStore:
    """A whole store, for the test to damage."""
    return WholeStore(tmp_path)


def run(store: WholeStore, *, repair: bool = False, **options: Any) -> Report:
    """A check of the store."""
    return check(store.tables, store.documents, repair=repair, **options)


def damage(store: WholeStore, change: Damage) -> None:
    """Writes something that no program of ours would."""
    with store.tables.write() as txn:
        change(txn)


def contents(tables: Tables) -> dict[str, dict[Any, Any]]:
    """All rows of all tables."""
    names = ("urls", "front", "back", "delayed", "pins", "hosts", "pages", "content", "links")
    with tables.read() as txn:
        return {
            name: dict(getattr(txn, name).scan()) for name in (*names, "visits", "dead", "meta")
        }


def faults(report: Report) -> set[Fault]:
    """The kinds of what was found."""
    return {finding.fault for finding in report.findings}


def _url(url: UrlKey, **fields: Any) -> Damage:
    def change(txn: Txn) -> None:
        row = txn.urls.get(url)
        assert row is not None
        txn.urls.put(url, row._replace(**fields))

    return change


def _page(url: UrlKey, **fields: Any) -> Damage:
    def change(txn: Txn) -> None:
        row = txn.pages.get(url)
        assert row is not None
        txn.pages.put(url, row._replace(**fields))

    return change


def _both(one: Damage, other: Damage) -> Damage:
    def change(txn: Txn) -> None:
        one(txn)
        other(txn)

    return change


def _meta(name: str, value: object) -> Damage:
    return lambda txn: txn.meta.put(name, value)


def _counter(name: str, value: int) -> Damage:
    def change(txn: Txn) -> None:
        counters = txn.meta.get("counters")
        assert isinstance(counters, dict)
        txn.meta.put("counters", {**counters, name: value})

    return change


def _host(host: HostId, **fields: Any) -> Damage:
    def change(txn: Txn) -> None:
        row = txn.hosts.get(host)
        assert row is not None
        txn.hosts.put(host, row._replace(**fields))

    return change


def test_nothing_is_found_in_a_whole_store_and_nothing_changed(store: WholeStore) -> None:
    before = contents(store.tables)
    for repair in (False, True):
        for bodies in (False, True):
            report = run(store, repair=repair, bodies=bodies)
            assert report == Report(findings=(), fates={})
            assert report.ok
    assert contents(store.tables) == before


def test_an_empty_store_is_whole(tmp_path: Path) -> None:
    store = WholeStore(tmp_path)
    assert check(MemoryTables(), store.documents, repair=True).ok


MENDED: list[tuple[str, Damage, set[Fault]]] = [
    ("front row lost", lambda t: t.front.delete(PLACES["front"]), {Fault.NOT_QUEUED}),
    ("back row lost", lambda t: t.back.delete(PLACES["back"]), {Fault.NOT_QUEUED}),
    ("delayed row lost", lambda t: t.delayed.delete(PLACES["delayed"]), {Fault.NOT_QUEUED}),
    (
        "queued twice in one queue",
        lambda t: t.back.put(QueueKey(A, 5), IN_BACK),
        {Fault.QUEUED_TWICE},
    ),
    (
        "queued in front and delayed",
        lambda t: t.delayed.put(QueueKey(DUE, 6), IN_FRONT),
        {Fault.QUEUED_TWICE},
    ),
    (
        "queued in front and back",
        lambda t: t.front.put(QueueKey(b"\x01", 6), IN_BACK),
        {Fault.QUEUED_TWICE},
    ),
    (
        "stored URL in the front",
        lambda t: t.front.put(QueueKey(b"\x03", 8), HOME),
        {Fault.QUEUED_WRONGLY},
    ),
    (
        "failed URL in a back queue",
        lambda t: t.back.put(QueueKey(A, 9), BROKEN),
        {Fault.QUEUED_WRONGLY, Fault.COUNTER_WRONG},
    ),
    (
        "queue row of no URL",
        lambda t: t.delayed.put(QueueKey(DUE, 9), NOBODY),
        {Fault.QUEUED_WRONGLY, Fault.COUNTER_WRONG},
    ),
    (
        "back row with another host",
        _both(
            lambda t: t.back.put(QueueKey(B, 7), IN_BACK),
            lambda t: t.back.delete(PLACES["back"]),
        ),
        {Fault.WRONG_PLACE, Fault.NOT_QUEUED},
    ),
    (
        "front row on level 0",
        _both(
            lambda t: t.front.put(QueueKey(b"\0", 7), IN_FRONT),
            lambda t: t.front.delete(PLACES["front"]),
        ),
        {Fault.WRONG_PLACE, Fault.NOT_QUEUED},
    ),
    (
        "queue row that is no key",
        lambda t: t.delayed.put(QueueKey(DUE, 7), UrlKey(b"short")),
        {Fault.WRONG_PLACE},
    ),
    ("pin lost", lambda t: t.pins.delete(A), {Fault.PIN_MISSING}),
    ("pin of no host", lambda t: t.pins.put(C, b""), {Fault.PIN_ORPHAN}),
    (
        "page of a failed URL",
        _url(COPY, state=State.FAILED, reason=Reason.HTTP_ERROR),
        {Fault.PAGE_UNSTORED},
    ),
    (
        "page of a pending URL",
        _both(
            _url(COPY, state=State.PENDING),
            lambda t: t.front.put(QueueKey(b"\1", 7), COPY),
        ),
        {Fault.PAGE_UNSTORED, Fault.QUEUED_WRONGLY},
    ),
    ("dead row lost", lambda t: t.dead.delete(GONE), {Fault.DEAD_WRONG}),
    (
        "dead row of a stored URL",
        lambda t: t.dead.put(HOME, DeadRow(Reason.GONE, 1, "")),
        {Fault.DEAD_WRONG},
    ),
    (
        "dead row of no URL",
        lambda t: t.dead.put(NOBODY, DeadRow(Reason.GONE, 1, "")),
        {Fault.DEAD_WRONG},
    ),
    (
        "dead row with another reason",
        lambda t: t.dead.put(BROKEN, DeadRow(Reason.TIMEOUT, 1, "")),
        {Fault.DEAD_WRONG},
    ),
    ("reason lost, dead row there", _url(BROKEN, reason=None), {Fault.REASON_WRONG}),
    ("reason of another state", _url(GONE, reason=Reason.TIMEOUT), {Fault.REASON_WRONG}),
    ("reason of a stored URL", _url(HOME, reason=Reason.TIMEOUT), {Fault.REASON_WRONG}),
    ("redirect to no URL", _url(MOVED, target=NOBODY), {Fault.REFERENCE_LOST}),
    ("host counts too many", _host(A, stored=3), {Fault.HOST_WRONG}),
    ("host counts too few", _host(A, failed=0, pending=0), {Fault.HOST_WRONG}),
    ("host's bytes", _host(A, body_bytes=1), {Fault.HOST_WRONG}),
    ("content row lost", lambda t: t.content.delete(SHA256), {Fault.CONTENT_MISSING}),
    (
        "content row of another page",
        lambda t: t.content.put(SHA256, ContentRow(GONE, "", 0)),
        {Fault.CONTENT_WRONG},
    ),
    (
        "content row of no body",
        lambda t: t.content.put(b"\1" * 32, ContentRow(HOME, "", 0)),
        {Fault.CONTENT_WRONG},
    ),
    *(
        (f"counter {name}", _counter(name, 77), {Fault.COUNTER_WRONG})
        for name in ("stored", "redirects", "gone", "failed", "robots_refused", "refused")
    ),
    *(
        (f"counter {name}", _counter(name, 77), {Fault.COUNTER_WRONG})
        for name in ("pending", "seen", "bytes", "duplicates_exact")
    ),
    ("counters lost", lambda t: t.meta.delete("counters"), {Fault.COUNTER_WRONG}),
    ("counters are no numbers", _meta("counters", "many"), {Fault.COUNTER_WRONG}),
    ("reasons wrong", _meta("reasons", {"gone": 2, "timeout": 1}), {Fault.COUNTER_WRONG}),
    ("front counts wrong", _meta("front_counts", [0, 2]), {Fault.COUNTER_WRONG}),
    ("front counts short", _meta("front_counts", [0]), {Fault.COUNTER_WRONG}),
    ("front counts lost", lambda t: t.meta.delete("front_counts"), {Fault.COUNTER_WRONG}),
    ("next number below a visit", _meta("next", 7), {Fault.COUNTER_WRONG}),
    ("next number below a queue row", _meta("next", 2), {Fault.COUNTER_WRONG}),
    ("next number lost", lambda t: t.meta.delete("next"), {Fault.COUNTER_WRONG}),
    ("position illegible", _meta("warc", "here"), {Fault.WARC_POSITION}),
]

LOST: list[tuple[str, Damage, set[Fault]]] = [
    ("page lost", lambda t: t.pages.delete(COPY), {Fault.PAGE_MISSING}),
    ("page of no URL", lambda t: t.pages.put(NOBODY, page_row("", 0)), {Fault.PAGE_ORPHAN}),
    (
        "first page lost",
        lambda t: t.pages.delete(HOME),
        {Fault.PAGE_MISSING, Fault.CONTENT_WRONG},
    ),
    (
        "page names a place of no record",
        _page(COPY, warc_offset=1),
        {Fault.BODY_LOST},
    ),
    ("page names a lost file", _page(COPY, warc_file="other.warc.gz"), {Fault.BODY_LOST}),
    ("page names a lost body file", _page(COPY, warc_file=""), {Fault.BODY_LOST}),
    (
        "page has another body",
        _page(COPY, sha256=hashlib.sha256(b"").digest()),
        {Fault.BODY_LOST},
    ),
    ("page has another length", _page(COPY, body_bytes=1), {Fault.BODY_LOST}),
    ("page's parent lost", _page(COPY, parent=NOBODY), {Fault.REFERENCE_LOST}),
    ("page's original lost", _page(COPY, duplicate_of=NOBODY), {Fault.REFERENCE_LOST}),
    ("page's near original lost", _page(COPY, near_duplicate_of=NOBODY), {Fault.REFERENCE_LOST}),
    ("URL's parent lost", _url(GONE, parent=NOBODY), {Fault.REFERENCE_LOST}),
    (
        "reason and dead row lost",
        _both(_url(BROKEN, reason=None), lambda t: t.dead.delete(BROKEN)),
        {Fault.REASON_WRONG},
    ),
    (
        "links of no URL",
        lambda t: t.links.put(NOBODY, (LinkRow(HOME, "", "a", "", ""),)),
        {Fault.LINKS_ORPHAN},
    ),
    (
        "link to no URL",
        lambda t: t.links.put(HOME, (LinkRow(NOBODY, "", "a", "", ""),)),
        {Fault.LINK_LOST},
    ),
    ("host row lost", lambda t: t.hosts.delete(A), {Fault.HOST_WRONG}),
    (
        "host without URLs counts",
        lambda t: t.hosts.put(C, HostRow("c.test", stored=1)),
        {Fault.HOST_WRONG},
    ),
    ("URL row lost", lambda t: t.urls.delete(COPY), {Fault.PAGE_ORPHAN, Fault.LINK_LOST}),
    (
        "position names no file",
        _meta("warc", {"file": "mercator-0000-00000005.warc.gz", "offset": 9, "sequence": 5}),
        {Fault.WARC_POSITION},
    ),
    (
        "position behind the file's end",
        _meta("warc", {"file": "mercator-0000-00000000.warc.gz", "offset": 10**6, "sequence": 0}),
        {Fault.WARC_POSITION},
    ),
]


def _cases(cases: list[tuple[str, Damage, set[Fault]]], loses: bool) -> list[Any]:
    return [pytest.param(change, found, loses, id=name) for name, change, found in cases]


@pytest.mark.parametrize(
    ("change", "expected", "loses"), [*_cases(MENDED, loses=False), *_cases(LOST, loses=True)]
)
def test_damage_is_found_and_mended(
    store: WholeStore, change: Damage, expected: set[Fault], loses: bool
) -> None:
    damage(store, change)
    before = contents(store.tables)
    found = run(store)
    assert not found.ok
    assert expected <= faults(found)
    assert {finding.fate for finding in found.findings} - {Fate.NOTED} == {Fate.OPEN}
    assert contents(store.tables) == before, "without repair nothing is written"

    told: list[Finding] = []
    mended = run(store, repair=True, tell=told.append)
    assert mended.ok
    assert expected <= faults(mended)
    assert tuple(told) == mended.findings
    assert bool(mended.lost) is loses
    again = run(store)
    assert not [finding for finding in again.findings if finding.fate is not Fate.NOTED]


@pytest.mark.parametrize(
    ("change", "expected"),
    [pytest.param(change, found, id=name) for name, change, found in [*MENDED, *LOST]],
)
def test_small_batches_find_the_same(
    store: WholeStore,
    monkeypatch: pytest.MonkeyPatch,
    change: Damage,
    expected: set[Fault],
) -> None:
    damage(store, change)
    whole = run(store)
    monkeypatch.setattr(checkup.Checkup.rows, "__defaults__", (1,))
    monkeypatch.setattr(checkup, "MENDS_PER_COMMIT", 1)
    monkeypatch.setattr(checkup, "KNOWN_KEYS", 1)
    monkeypatch.setattr("mercator.store.check_urls.URLS_AT_ONCE", 1)
    monkeypatch.setattr(sorted_records.SortedRecords.__init__, "__defaults__", (1,))
    assert run(store) == whole
    assert run(store, repair=True).ok
    again = run(store)
    assert not [finding for finding in again.findings if finding.fate is not Fate.NOTED]


@pytest.mark.parametrize(
    "name", ["queued twice in one queue", "dead row lost", "counters lost", "first page lost"]
)
def test_the_same_is_found_and_mended_on_disk(tmp_path: Path, name: str) -> None:
    with closing(LmdbTables.open(tmp_path / "shards" / "0000", map_bytes=1 << 24)) as tables:
        store = WholeStore(tmp_path, tables=tables)
        (change, expected) = {case[0]: case[1:] for case in [*MENDED, *LOST]}[name]
        damage(store, change)
        assert expected <= faults(run(store))
        assert run(store, repair=True).ok
        assert not run(store).findings


# -- what becomes of it ------------------------------------------------------------------------------


def test_a_pending_url_that_was_nowhere_waits_at_the_end_of_its_front_queue(
    store: WholeStore,
) -> None:
    damage(store, lambda txn: txn.back.delete(PLACES["back"]))
    run(store, repair=True)
    rows = contents(store.tables)
    assert rows["front"] == {PLACES["front"]: IN_FRONT, QueueKey(b"\x02", 9): IN_BACK}
    assert rows["meta"]["next"] == 9
    assert rows["meta"]["front_counts"] == [0, 2, 0]


def test_of_several_places_the_back_queue_stays(store: WholeStore) -> None:
    damage(store, lambda txn: txn.front.put(QueueKey(b"\x01", 6), IN_BACK))
    damage(store, lambda txn: txn.delayed.put(QueueKey(DUE, 6), IN_BACK))
    run(store, repair=True)
    rows = contents(store.tables)
    assert rows["back"] == {PLACES["back"]: IN_BACK}
    assert rows["front"] == {PLACES["front"]: IN_FRONT}
    assert rows["delayed"] == {PLACES["delayed"]: IN_DELAYED}


def test_a_page_whose_body_is_lost_is_fetched_again(store: WholeStore) -> None:
    damage(store, _both(_page(COPY, warc_offset=1), _url(COPY, attempts=3, poisoned=1)))
    report = run(store, repair=True)
    (lost,) = [finding for finding in report.findings if finding.fate is Fate.LOST]
    assert lost.subject == "http://a.test/copy"
    assert "to be fetched again" in lost.sentence
    assert str(lost).startswith("lost: page whose body cannot be read: http://a.test/copy: ")
    rows = contents(store.tables)
    assert COPY not in rows["pages"]
    assert rows["urls"][COPY].state is State.PENDING
    assert (rows["urls"][COPY].attempts, rows["urls"][COPY].poisoned) == (0, 0)
    assert rows["meta"]["counters"]["stored"] == 1
    assert rows["meta"]["counters"]["pending"] == 4
    assert rows["meta"]["counters"]["duplicates_exact"] == 0
    assert rows["meta"]["counters"]["fetched"] == 6, "what rows do not tell stays"
    assert rows["hosts"][A].stored == 1
    assert rows["hosts"][A].body_bytes == len(BODY)


def test_the_copy_becomes_the_first_when_the_first_is_lost(store: WholeStore) -> None:
    damage(store, lambda txn: txn.pages.delete(HOME))
    run(store, repair=True)
    assert contents(store.tables)["content"][SHA256].first == COPY


def test_a_page_that_can_be_read_makes_its_url_stored(store: WholeStore) -> None:
    damage(store, _url(COPY, state=State.FAILED, reason=Reason.HTTP_ERROR))
    damage(store, lambda txn: txn.dead.put(COPY, DeadRow(Reason.HTTP_ERROR, 1, "")))
    run(store, repair=True)
    rows = contents(store.tables)
    assert (rows["urls"][COPY].state, rows["urls"][COPY].reason) == (State.STORED, None)
    assert COPY not in rows["dead"]


def test_a_lost_reason_comes_back_from_the_list_of_failures(store: WholeStore) -> None:
    damage(store, lambda txn: txn.dead.put(BROKEN, DeadRow(Reason.TIMEOUT, 1, "too slow")))
    damage(store, _url(BROKEN, reason=None))
    run(store, repair=True)
    rows = contents(store.tables)
    assert rows["urls"][BROKEN].reason is Reason.TIMEOUT
    assert rows["dead"][BROKEN] == DeadRow(Reason.TIMEOUT, 1, "too slow")
    assert rows["meta"]["reasons"]["timeout"] == 1
    assert "http_error" not in rows["meta"]["reasons"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (GONE, Reason.GONE),
        (BROKEN, Reason.HTTP_ERROR),
        (PRIVATE, Reason.ROBOTS_REFUSED),
        (REFUSED, Reason.OUT_OF_SCOPE),
    ],
)
def test_a_reason_that_nobody_knows_becomes_the_mildest(
    store: WholeStore, url: UrlKey, reason: Reason
) -> None:
    damage(store, _both(_url(url, reason=None), lambda txn: txn.dead.delete(url)))
    run(store, repair=True)
    rows = contents(store.tables)
    assert rows["urls"][url].reason is reason
    assert rows["dead"][url].reason is reason


def test_a_redirect_whose_target_is_lost_is_asked_again(store: WholeStore) -> None:
    damage(store, _url(MOVED, target=NOBODY))
    run(store, repair=True)
    rows = contents(store.tables)
    assert (rows["urls"][MOVED].state, rows["urls"][MOVED].target) == (State.PENDING, NO_KEY)
    assert MOVED in rows["front"].values()


@pytest.mark.parametrize("host", ["a.test", "[::1]"])
def test_a_host_row_is_made_anew_with_its_name(store: WholeStore, host: str) -> None:
    url = key("x", host)
    damage(store, lambda txn: txn.urls.put(url, url_row("x", State.PENDING, host)))
    damage(store, lambda txn: txn.hosts.delete(host_id(host)))
    run(store, repair=True)
    row = contents(store.tables)["hosts"][host_id(host)]
    assert row.host == host
    assert row.pending == (3 if host == "a.test" else 1)


# -- files -------------------------------------------------------------------------------------------


def _the_warc(store: WholeStore) -> Path:
    (path,) = (store.folder / "warc").iterdir()
    return path


def _reopened(store: WholeStore) -> WarcDocuments:
    position = contents(store.tables)["meta"]["warc"]
    return WarcDocuments(
        store.folder,
        shard=0,
        compress="gzip",
        info=WarcInfo(software="mercator/0", user_agent="mercator/0"),
        clock=ManualClock(),
        file_bytes=1_000_000,
        position=position,
    )


def test_a_lost_warc_file_loses_its_pages_and_the_store_can_be_opened(store: WholeStore) -> None:
    _the_warc(store).unlink()
    assert {Fault.BODY_LOST, Fault.WARC_POSITION} <= faults(run(store))
    assert Fault.BODY_LOST in faults(run(store, bodies=False)), "a look is enough for that"
    report = run(store, repair=True)
    assert report.ok
    assert report.lost == 3, "two pages and the file"
    position = _reopened(store).sync()
    assert position == {"file": "", "offset": 0, "sequence": 1}
    assert not run(store).findings


def test_a_warc_file_that_was_cut_counts_to_its_last_whole_record(store: WholeStore) -> None:
    with store.tables.read() as txn:
        page = txn.pages.get(COPY)
    assert page is not None
    os.truncate(_the_warc(store), page.warc_offset + 20)
    report = run(store, repair=True)
    assert {finding.subject for finding in report.findings if finding.fate is Fate.LOST} == {
        "http://a.test/copy",
        _the_warc(store).name,
    }
    assert _reopened(store).sync()["offset"] == page.warc_offset
    assert not run(store).findings


def test_a_damaged_record_is_told_of_even_when_no_page_is_in_it(store: WholeStore) -> None:
    path = _the_warc(store)
    content = bytearray(path.read_bytes())
    content[-12] ^= 0x55  # in the last request record
    path.write_bytes(content)
    report = run(store)
    assert faults(report) == {Fault.WARC_DAMAGED}
    assert not report.ok
    assert run(store, bodies=False).ok


def test_a_damaged_body_file_is_set_aside(tmp_path: Path) -> None:
    store = WholeStore(tmp_path, warc=False)
    assert not run(store).findings
    ((name, _),) = store.documents.body_files()
    path = tmp_path / "bodies" / name
    path.write_bytes(b"damaged")
    assert run(store, bodies=False).ok
    assert Fault.BODY_LOST in faults(run(store))
    assert path.read_bytes() == b"damaged"
    report = run(store, repair=True)
    assert report.ok
    assert report.lost == 2, "the page and its copy"
    assert not path.exists()
    notes = run(store)
    assert [finding.subject for finding in notes.findings] == [f"bodies/{name}.damaged"]


def test_files_that_the_tables_do_not_name_are_noted(store: WholeStore) -> None:
    warc, bodies = store.folder / "warc", store.folder / "bodies"
    with _the_warc(store).open("ab") as stream:
        stream.write(b"tail")
    for name in ("mercator-0000-00000001.warc.gz", "mercator-0001-00000000.warc.gz", "x.tmp"):
        (warc / name).write_bytes(b"")
    (bodies / "ab").mkdir(parents=True)
    (bodies / "part").mkdir()
    (bodies / "part" / "0000-00").write_bytes(b"")
    for name in ("ab/" + "ab" * 32, "ab/" + "ba" * 32, "ab/x", "y"):
        (bodies / name).write_bytes(b"")
    report = run(store, repair=True)
    assert report.ok
    assert {finding.fate for finding in report.findings} == {Fate.NOTED}
    assert [finding.subject for finding in report.findings] == [
        "warc/mercator-0000-00000001.warc.gz",
        "warc/mercator-0000-00000000.warc.gz",
        "warc/x.tmp",
        "bodies/ab/" + "ab" * 32,
        "bodies/ab/" + "ba" * 32,
        "bodies/ab/x",
        "bodies/y",
    ]


# -- the report --------------------------------------------------------------------------------------


def test_a_report_lists_so_many_and_counts_all(
    store: WholeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "MAX_LISTED", 2)
    damage(store, _both(_counter("stored", 7), _meta("reasons", {})))
    told: list[Finding] = []
    report = run(store, tell=told.append)
    assert len(report.findings) == 2
    assert len(told) == 5
    assert report.left_out == 3
    assert report.fates == {Fate.OPEN: 5}


def test_a_repair_that_was_broken_off_is_gone_on_with(store: WholeStore) -> None:
    damage(store, lambda txn: txn.pages.delete(COPY))
    damage(store, lambda txn: txn.dead.delete(GONE))
    damage(store, lambda txn: txn.links.delete(HOME))

    def stop(_finding: Finding) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(store, repair=True, tell=stop)
    assert run(store, repair=True).ok
    assert not run(store).findings


def test_repair_writes_in_short_transactions(
    store: WholeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup, "MENDS_PER_COMMIT", 10)
    monkeypatch.setattr("mercator.store.check_urls.URLS_AT_ONCE", 10)

    def many(txn: Txn) -> None:
        for number in range(300):
            row = url_row(f"many/{number}", State.PENDING)
            txn.urls.put(key(f"many/{number}"), row)

    damage(store, many)
    commits: list[int] = []
    whole_commit = checkup.Checkup.commit

    def count(self: checkup.Checkup, *, full_only: bool = False) -> None:
        commits.append(len(self._mends))
        whole_commit(self, full_only=full_only)

    monkeypatch.setattr(checkup.Checkup, "commit", count)
    assert run(store, repair=True).ok
    assert max(commits) <= 20
    assert len(contents(store.tables)["front"]) == 301
