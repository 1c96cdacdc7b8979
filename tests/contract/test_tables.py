"""What every adapter of `ports.Tables` does, in LMDB and in memory alike."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercator.errors import StateError
from mercator.ports import KeyTaken, Tables, Txn
from mercator.rows import (
    ContentRow,
    DeadRow,
    Glance,
    HostRow,
    LinkRow,
    PageRow,
    QueueKey,
    RobotsRow,
    UrlRow,
    VisitRow,
)
from mercator.store.lmdb_tables import LmdbTables
from mercator.store.memory_tables import MemoryTables
from mercator.values import FailureKind, HostId, Kind, Reason, State, UrlKey

MAP_BYTES = 64 << 20


@pytest.fixture(params=["lmdb", "memory"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tables]:
    opened: Tables
    if request.param == "lmdb":
        opened = LmdbTables.open(tmp_path / "0000", map_bytes=MAP_BYTES)
    else:
        opened = MemoryTables()
    yield opened
    opened.close()


def key(number: int) -> UrlKey:
    return UrlKey(b"host00" + number.to_bytes(10, "big"))


def url_row(name: str = "a", state: State = State.PENDING) -> UrlRow:
    return UrlRow(state, f"https://h.test/{name}", f"https://h.test/{name}", depth=3)


def dead(error: str) -> DeadRow:
    return DeadRow(Reason.TIMEOUT, 3, error)


# -- one table --------------------------------------------------------------------------------------


def test_a_missing_row_is_none(tables: Tables) -> None:
    with tables.read() as txn:
        assert txn.dead.get(key(1)) is None
        assert txn.urls.get(key(1)) is None


def test_put_writes_and_replaces(tables: Tables) -> None:
    with tables.write() as txn:
        txn.dead.put(key(1), dead("first"))
        txn.dead.put(key(1), dead("second"))
    with tables.read() as txn:
        assert txn.dead.get(key(1)) == dead("second")
        assert txn.dead.count() == 1


def test_put_new_leaves_an_older_row(tables: Tables) -> None:
    with tables.write() as txn:
        assert txn.dead.put_new(key(1), dead("first")) is True
        assert txn.dead.put_new(key(1), dead("second")) is False
    with tables.write() as txn:
        assert txn.dead.put_new(key(1), dead("third")) is False
        assert txn.dead.get(key(1)) == dead("first")


def test_delete_says_whether_there_was_a_row(tables: Tables) -> None:
    with tables.write() as txn:
        txn.dead.put(key(1), dead(""))
        txn.dead.put(key(2), dead(""))
        assert txn.dead.delete(key(1)) is True
        assert txn.dead.delete(key(1)) is False
    with tables.write() as txn:
        assert txn.dead.delete(key(2)) is True
        assert txn.dead.put_new(key(2), dead("again")) is True
    with tables.read() as txn:
        assert [k for k, _ in txn.dead.scan()] == [key(2)]


def test_count_follows_every_change(tables: Tables) -> None:
    with tables.write() as txn:
        assert txn.dead.count() == 0
        for number in range(5):
            txn.dead.put(key(number), dead(""))
        txn.dead.put(key(3), dead("replaced"))
        assert txn.dead.count() == 5
    with tables.write() as txn:
        txn.dead.delete(key(0))
        txn.dead.delete(key(99))
        txn.dead.put(key(7), dead(""))
        assert txn.dead.count() == 5
        txn.dead.delete(key(7))
        assert txn.dead.count() == 4
    with tables.read() as txn:
        assert txn.dead.count() == 4


def test_tables_do_not_see_each_other(tables: Tables) -> None:
    with tables.write() as txn:
        txn.dead.put(key(1), dead(""))
        assert txn.urls.get(key(1)) is None
        assert txn.urls.count() == 0


@pytest.mark.parametrize("bad", [b"", b"x" * 512])
def test_a_key_that_lmdb_cannot_hold_is_refused(tables: Tables, bad: bytes) -> None:
    with pytest.raises(ValueError, match="511 bytes"), tables.write() as txn:
        txn.content.put(bad, ContentRow(key(1), "", 0))
    with tables.write() as txn:
        txn.content.put(b"x" * 511, ContentRow(key(1), "", 0))


def test_an_empty_key_is_refused_when_read(tables: Tables) -> None:
    with pytest.raises(ValueError, match="511 bytes"), tables.read() as txn:
        txn.content.get(b"")


def test_values_of_megabytes(tables: Tables) -> None:
    row = RobotsRow("rules", bytes(range(256)) * 8192, 1.0, 2.0, 3.0)
    with tables.write() as txn:
        txn.robots.put("https://h.test", row)
        assert txn.robots.get("https://h.test") == row
    with tables.read() as txn:
        assert txn.robots.get("https://h.test") == row


# -- order and scans --------------------------------------------------------------------------------


def fill_queues(txn: Txn) -> None:
    for host in (b"host02", b"host00", b"host01"):
        for sequence in (256, 1, 255, 2**40):
            txn.back.put(QueueKey(host, sequence), key(sequence))


def test_a_scan_is_in_key_order(tables: Tables) -> None:
    with tables.write() as txn:
        fill_queues(txn)
    with tables.read() as txn:
        places = [place for place, _ in txn.back.scan()]
    hosts = [b"host00", b"host01", b"host02"]
    assert places == [QueueKey(h, s) for h in hosts for s in (1, 255, 256, 2**40)]


def test_a_scan_with_prefix_stays_within_it(tables: Tables) -> None:
    with tables.write() as txn:
        fill_queues(txn)
        inside = [place for place, _ in txn.back.scan(prefix=b"host01")]
    with tables.read() as txn:
        committed = list(txn.back.scan(prefix=b"host01"))
        assert list(txn.back.scan(prefix=b"host03")) == []
        assert list(txn.back.scan(prefix=b"aaaa")) == []
    assert committed == [(QueueKey(b"host01", s), key(s)) for s in (1, 255, 256, 2**40)]
    assert inside == [place for place, _ in committed]


def test_a_scan_goes_on_behind_a_key(tables: Tables) -> None:
    with tables.write() as txn:
        fill_queues(txn)
    with tables.read() as txn:
        behind = [
            place for place, _ in txn.back.scan(prefix=b"host01", after=QueueKey(b"host01", 255))
        ]
        between = [
            place for place, _ in txn.back.scan(prefix=b"host01", after=QueueKey(b"host01", 9))
        ]
        before = [
            place for place, _ in txn.back.scan(prefix=b"host01", after=QueueKey(b"host00", 9))
        ]
        past = list(txn.back.scan(prefix=b"host01", after=QueueKey(b"host02", 0)))
        without_prefix = list(txn.back.scan(after=QueueKey(b"host02", 256)))
    assert behind == [QueueKey(b"host01", 256), QueueKey(b"host01", 2**40)]
    assert between == [QueueKey(b"host01", s) for s in (255, 256, 2**40)]
    assert before == [QueueKey(b"host01", s) for s in (1, 255, 256, 2**40)]
    assert past == []
    assert without_prefix == [(QueueKey(b"host02", 2**40), key(2**40))]


def test_a_scan_can_be_left_early_and_begun_again(tables: Tables) -> None:
    with tables.write() as txn:
        fill_queues(txn)
        place, _ = next(iter(txn.back.scan()))
        txn.back.delete(place)
        assert place not in [p for p, _ in txn.back.scan()]


def test_a_scan_of_nothing(tables: Tables) -> None:
    with tables.write() as txn:
        assert list(txn.visits.scan()) == []
    with tables.read() as txn:
        assert list(txn.visits.scan(after=3)) == []


def test_numbers_sort_as_numbers(tables: Tables) -> None:
    visit = VisitRow("h", "u", Kind.PAGE, "", 0.0, 0.0, 200, "", 0, 0.0, "", 0.0)
    with tables.write() as txn:
        for number in (256, 0, 70000, 255, 2**63):
            txn.visits.put(number, visit)
    with tables.read() as txn:
        assert [n for n, _ in txn.visits.scan()] == [0, 255, 256, 70000, 2**63]
        assert [n for n, _ in txn.visits.scan(after=256)] == [70000, 2**63]


def test_the_front_queues_sort_by_level_then_sequence(tables: Tables) -> None:
    places = [QueueKey(bytes([level]), s) for level in (2, 1, 255) for s in (300, 2)]
    with tables.write() as txn:
        for place in places:
            txn.front.put(place, key(1))
        assert [p for p, _ in txn.front.scan()] == sorted(places)


@pytest.mark.parametrize("table", ["front", "back", "delayed"])
def test_a_queue_prefix_of_another_length_is_refused(tables: Tables, table: str) -> None:
    with pytest.raises(ValueError, match="prefix has 3 bytes"), tables.write() as txn:
        getattr(txn, table).put(QueueKey(b"abc", 1), key(1))


# -- transactions -----------------------------------------------------------------------------------


def test_a_write_transaction_sees_its_own_writes(tables: Tables) -> None:
    with tables.write() as txn:
        txn.dead.put(key(1), dead("old"))
        txn.dead.put(key(3), dead("old"))
    with tables.write() as txn:
        txn.dead.put(key(1), dead("new"))
        txn.dead.put(key(2), dead("new"))
        txn.dead.delete(key(3))
        assert txn.dead.get(key(1)) == dead("new")
        assert txn.dead.get(key(3)) is None
        assert list(txn.dead.scan()) == [(key(1), dead("new")), (key(2), dead("new"))]
        assert list(txn.dead.scan(after=key(1))) == [(key(2), dead("new"))]


def test_an_exception_rolls_everything_back(tables: Tables) -> None:
    with tables.write() as txn:
        txn.dead.put(key(1), dead("kept"))
        txn.urls.put(key(1), url_row())

    def change_and_fail(txn: Txn) -> None:
        txn.dead.put(key(1), dead("lost"))
        txn.dead.put(key(2), dead("lost"))
        txn.urls.delete(key(1))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), tables.write() as txn:
        change_and_fail(txn)
    with tables.write() as txn:  # and the next writer is let in
        assert list(txn.dead.scan()) == [(key(1), dead("kept"))]
        assert txn.urls.get(key(1)) == url_row()
        assert txn.dead.count() == 1


def test_a_reader_sees_one_commit(tables: Tables) -> None:
    with tables.write() as txn:
        txn.dead.put(key(1), dead("before"))
        txn.dead.put(key(2), dead("before"))
    with tables.read() as old:
        rows = old.dead.scan()
        assert next(rows) == (key(1), dead("before"))
        with tables.write() as txn:
            txn.dead.put(key(1), dead("after"))
            txn.dead.delete(key(2))
            txn.dead.put(key(3), dead("after"))
            assert old.dead.get(key(1)) == dead("before")
            with tables.read() as beside:
                assert beside.dead.get(key(1)) == dead("before")
        assert old.dead.get(key(1)) == dead("before")
        assert old.dead.count() == 2
        assert list(rows) == [(key(2), dead("before"))]
        with tables.read() as new:
            assert [k for k, _ in new.dead.scan()] == [key(1), key(3)]


def test_two_readers_in_two_threads_beside_a_writer(tables: Tables) -> None:
    with tables.write() as txn:
        txn.meta.put("a", 0)
        txn.meta.put("b", 0)
    both_read = threading.Barrier(3)
    seen: list[tuple[object, object]] = []

    def read() -> None:
        with tables.read() as txn:
            first = txn.meta.get("a")
            both_read.wait(10)  # now the writer commits
            both_read.wait(10)
            seen.append((first, txn.meta.get("b")))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    both_read.wait(10)
    with tables.write() as txn:
        txn.meta.put("a", 1)
        txn.meta.put("b", 1)
    both_read.wait(10)
    for reader in readers:
        reader.join()
    assert seen == [(0, 0), (0, 0)]


def test_a_second_write_transaction_is_refused(tables: Tables) -> None:
    with tables.write() as txn:
        with pytest.raises(StateError, match="one thread writes at a time"), tables.write():
            pass
        txn.meta.put("a", 1)
    with tables.write() as txn:
        assert txn.meta.get("a") == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda txn: txn.dead.put(key(1), dead("")),
        lambda txn: txn.dead.put_new(key(1), dead("")),
        lambda txn: txn.dead.delete(key(1)),
    ],
)
def test_a_read_transaction_cannot_write(tables: Tables, write: Callable[[Txn], object]) -> None:
    with tables.write() as txn:
        txn.dead.put(key(1), dead("kept"))
    with pytest.raises(StateError, match="cannot write"), tables.read() as txn:
        write(txn)
    with tables.read() as txn:
        assert txn.dead.get(key(1)) == dead("kept")


def test_closed_tables_say_so(tables: Tables) -> None:
    tables.close()
    with pytest.raises(StateError, match="closed"), tables.read():
        pass
    with pytest.raises(StateError, match="closed"), tables.write():
        pass
    tables.close()


def test_an_unknown_table_is_an_attribute_error(tables: Tables) -> None:
    with tables.read() as txn, pytest.raises(AttributeError, match="no table 'bogus'"):
        txn.bogus  # type: ignore[attr-defined]  # noqa: B018


# -- urls, pins, robots, meta -----------------------------------------------------------------------


def test_a_glance_shows_state_reason_and_depth(tables: Tables) -> None:
    refused = url_row("b")._replace(state=State.REFUSED, reason=Reason.TOO_DEEP, depth=70_000)
    with tables.write() as txn:
        txn.urls.put(key(1), url_row("a"))
        txn.urls.put(key(2), refused)
        assert txn.urls.glance(key(1), "https://h.test/a") == Glance(State.PENDING, None, 3)
    with tables.read() as txn:
        expected = Glance(State.REFUSED, Reason.TOO_DEEP, 70_000)
        assert txn.urls.glance(key(2), "https://h.test/b") == expected
        assert txn.urls.glance(key(3), "https://h.test/c") is None


@pytest.mark.parametrize("other", ["https://h.test/", "https://h.test/ab", "https://h.test/b", ""])
def test_a_glance_at_another_urls_row_is_key_taken(tables: Tables, other: str) -> None:
    with tables.write() as txn:
        txn.urls.put(key(1), url_row("a")._replace(url="https://h.test/ab"))
        with pytest.raises(KeyTaken):
            txn.urls.glance(key(1), other)


def test_a_row_without_key_url_is_met_with_none(tables: Tables) -> None:
    row = UrlRow(State.REFUSED, "ftp://h.test/", "", Reason.UNSUPPORTED_SCHEME)
    with tables.write() as txn:
        txn.urls.put(key(1), row)
        expected = Glance(State.REFUSED, Reason.UNSUPPORTED_SCHEME, 0)
        assert txn.urls.glance(key(1), "") == expected
        with pytest.raises(KeyTaken):
            txn.urls.glance(key(1), "ftp://h.test/")


def test_pins_have_no_value(tables: Tables) -> None:
    with tables.write() as txn:
        txn.pins.put(HostId(b"host00"), b"")
        assert txn.pins.get(HostId(b"host00")) == b""
    with tables.read() as txn:
        assert list(txn.pins.scan()) == [(b"host00", b"")]


def test_an_origin_without_end_has_a_key_too(tables: Tables) -> None:
    row = RobotsRow("none", b"", 1.0, 2.0, 3.0)
    short, long, longer = "https://h.test:8443", "https://" + "a." * 400, "https://" + "a." * 500
    with tables.write() as txn:
        txn.robots.put(short, row)
        txn.robots.put(long, row._replace(status=1))
        txn.robots.put(longer, row._replace(status=2))
    with tables.write() as txn:
        assert txn.robots.get(long) == row._replace(status=1)
        assert txn.robots.get(longer) == row._replace(status=2)
        origins = [origin for origin, _ in txn.robots.scan()]
        assert origins[0] == short
        assert all(origin.startswith("sha256:") for origin in origins[1:])
        assert [txn.robots.get(origin) is not None for origin in origins] == [True] * 3
        assert len(list(txn.robots.scan(after=short))) == 2
        assert txn.robots.delete(long) is True


def test_meta_keeps_plain_values(tables: Tables) -> None:
    value = {"a": [1, 2.5, None, True, "x\udc80", b"\xff"], "nested": {"7": {}}, "big": 2**63}
    with tables.write() as txn:
        txn.meta.put("value", value)
        txn.meta.put("tuple", (1, 2))
        value["a"] = "changed after the put"
    with tables.read() as txn:
        kept = txn.meta.get("value")
        assert isinstance(kept, dict)
        assert kept["a"] == [1, 2.5, None, True, "x\udc80", b"\xff"]
        assert kept["nested"] == {"7": {}}
        assert kept["big"] == 2**63
        assert txn.meta.get("tuple") == [1, 2]


def test_new_tables_hold_their_format_version_and_nothing_else(tables: Tables) -> None:
    with tables.read() as txn:
        assert list(txn.meta.scan()) == [("format_version", 1)]
        names = ["urls", "front", "back", "delayed", "pins", "hosts", "pages", "content"]
        names += ["links", "robots", "visits", "dead"]
        assert [getattr(txn, name).count() for name in names] == [0] * 12


# -- every row comes back as it went in -------------------------------------------------------------

TEXT = st.text(
    st.characters(codec=None, exclude_categories=()), max_size=20
)  # lone surrogates too: what a page says goes in
LONG_TEXT = st.one_of(TEXT, TEXT.map(lambda text: (text + "~") * 400))
TIME = st.floats(0, 2e10, allow_nan=False)
NUMBER = st.integers(0, 2**31)
SMALL = st.integers(0, 65_535)
KEY = st.one_of(st.just(b""), st.binary(min_size=16, max_size=16)).map(UrlKey)
MAYBE = st.none()

ROWS: dict[str, tuple[st.SearchStrategy[object], st.SearchStrategy[object]]] = {
    "urls": (
        st.just(key(1)),
        st.builds(
            UrlRow,
            state=st.sampled_from(State),
            url=LONG_TEXT,
            key_url=LONG_TEXT,
            reason=MAYBE | st.sampled_from(Reason),
            level=st.integers(0, 255),
            depth=NUMBER,
            attempts=NUMBER,
            hops=SMALL,
            is_seed=st.booleans(),
            seed_began=st.booleans(),
            poisoned=SMALL,
            status=SMALL,
            parent=KEY,
            target=KEY,
            found_at=TIME,
            due_at=TIME,
            first_at=TIME,
            last_at=TIME,
        ),
    ),
    "hosts": (
        st.just(HostId(b"host00")),
        st.builds(
            HostRow,
            host=TEXT,
            due_at=TIME,
            gap_s=TIME,
            gap_reason=TEXT,
            blocked_until=TIME,
            block_reason=TEXT,
            strikes=NUMBER,
            unreachable=NUMBER,
            unreachable_since=TIME,
            unreachable_kind=MAYBE | st.sampled_from(FailureKind),
            stored=NUMBER,
            failed=NUMBER,
            pending=NUMBER,
            body_bytes=st.integers(0, 2**63),
            addresses=st.lists(TEXT, max_size=3).map(tuple),
        ),
    ),
    "pages": (
        st.just(key(1)),
        st.builds(
            PageRow,
            status=SMALL,
            depth=NUMBER,
            parent=KEY,
            fetched_at=TIME,
            elapsed_ms=TIME,
            address=TEXT,
            content_type=MAYBE | TEXT,
            encoding=MAYBE | TEXT,
            encoding_from=MAYBE | TEXT,
            body_bytes=NUMBER,
            truncated=st.booleans(),
            sha256=st.binary(min_size=32, max_size=32),
            simhash=MAYBE | st.binary(min_size=8, max_size=8),
            title=MAYBE | LONG_TEXT,
            duplicate_of=KEY,
            near_duplicate_of=KEY,
            near_distance=MAYBE | st.integers(0, 64),
            canonical=MAYBE | TEXT,
            noindex=st.booleans(),
            nofollow=st.booleans(),
            signals=MAYBE | TEXT,
            etag=MAYBE | TEXT,
            last_modified=MAYBE | TEXT,
            attempts=NUMBER,
            warc_file=TEXT,
            warc_offset=st.integers(0, 2**63),
        ),
    ),
    "content": (
        st.binary(min_size=32, max_size=32),
        st.builds(ContentRow, first=KEY, warc_file=TEXT, warc_offset=NUMBER),
    ),
    "links": (
        st.just(key(1)),
        st.lists(
            st.builds(LinkRow, target=KEY, target_url=TEXT, kind=TEXT, rel=TEXT, anchor=TEXT),
            max_size=4,
        ).map(tuple),
    ),
    "robots": (
        TEXT.map(lambda host: f"https://{host}"),
        st.builds(
            RobotsRow,
            verdict=TEXT,
            body=st.binary(max_size=50),
            body_at=TIME,
            asked_at=TIME,
            ask_again_at=TIME,
            unknown_since=TIME,
            tries=NUMBER,
            status=SMALL,
            error=TEXT,
            etag=TEXT,
            last_modified=TEXT,
        ),
    ),
    "visits": (
        st.integers(0, 2**64 - 1),
        st.builds(
            VisitRow,
            host=TEXT,
            url=LONG_TEXT,
            kind=st.sampled_from(Kind),
            address=TEXT,
            started_at=TIME,
            ended_at=TIME,
            status=SMALL,
            error=TEXT,
            body_bytes=NUMBER,
            gap_s=TIME,
            gap_reason=TEXT,
            robots_at=TIME,
        ),
    ),
    "dead": (
        st.just(key(1)),
        st.builds(DeadRow, reason=st.sampled_from(Reason), attempts=NUMBER, error=TEXT),
    ),
    "front": (
        st.builds(QueueKey, st.binary(min_size=1, max_size=1), st.integers(0, 2**64 - 1)),
        st.just(key(1)),
    ),
    "back": (
        st.builds(QueueKey, st.binary(min_size=6, max_size=6), st.integers(0, 2**64 - 1)),
        st.just(key(1)),
    ),
    "delayed": (
        st.builds(QueueKey, st.binary(min_size=8, max_size=8), st.integers(0, 2**64 - 1)),
        st.just(key(1)),
    ),
}


@pytest.mark.parametrize("table", sorted(ROWS))
@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_every_row_comes_back_as_it_went_in(
    tables: Tables, table: str, data: st.DataObject
) -> None:
    row_key, row = (data.draw(strategy) for strategy in ROWS[table])
    with tables.write() as txn:
        view = getattr(txn, table)
        view.put(row_key, row)
        kept = view.get(row_key)
        assert kept == row
        assert [type(value) for value in kept] == [type(value) for value in row]  # type: ignore[attr-defined]
        assert (row_key, row) in list(view.scan())
        view.delete(row_key)
