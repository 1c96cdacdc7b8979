"""The bytes of the rows: they lie on the disks of users, so they are pinned."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from typing import Any

import pytest

from mercator import ports
from mercator.errors import StoreDamagedError, StoreVersionError
from mercator.ports import KeyTaken
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
from mercator.store.codec import CODECS, DECODE_ERRORS, pack, unpack
from mercator.store.memory_tables import MemoryTables
from mercator.store.tables import FORMAT_VERSION, READABLE_WITH, REASON_NUMBERS, TABLES
from mercator.store.url_codec import decode_url_row, encode_url_row, glance_url_row
from mercator.values import FailureKind, Kind, Reason, State, UrlKey

VECTORS = Path(__file__).parents[2] / "vectors" / "store_rows.json"
ONE = UrlKey(b"hosthost-page-01")
TWO = UrlKey(b"hosthost-page-02")

GOLDEN_ROWS: dict[str, Any] = {
    "urls fresh": UrlRow(
        State.PENDING,
        "https://h.test/a",
        "https://h.test/a",
        level=2,
        depth=3,
        parent=ONE,
        found_at=1.5,
    ),
    "urls full": UrlRow(
        state=State.REDIRECTED,
        url="https://h.test/a?",
        key_url="https://h.test/a",
        reason=Reason.POISON,
        level=255,
        depth=4,
        attempts=5,
        hops=6,
        is_seed=True,
        seed_began=True,
        poisoned=7,
        status=301,
        parent=ONE,
        target=TWO,
        found_at=1.5,
        due_at=2.5,
        first_at=3.5,
        last_at=4.5,
    ),
    "front": TWO,
    "back": TWO,
    "delayed": TWO,
    "pins": b"",
    "hosts": HostRow(
        host="h.test",
        due_at=1.5,
        gap_s=2.0,
        gap_reason="delay",
        strikes=1,
        unreachable=2,
        unreachable_since=3.5,
        unreachable_kind=FailureKind.READ_TIMEOUT,
        stored=4,
        failed=5,
        pending=6,
        body_bytes=7,
        addresses=("127.0.0.1", "::1"),
    ),
    "pages": PageRow(
        status=200,
        depth=1,
        parent=ONE,
        fetched_at=1.5,
        elapsed_ms=12.25,
        address="127.0.0.1",
        content_type="text/html",
        encoding="utf-8",
        encoding_from="header",
        body_bytes=5,
        truncated=False,
        sha256=bytes(32),
        simhash=bytes(8),
        title="Title",
        duplicate_of=UrlKey(b""),
        near_duplicate_of=TWO,
        near_distance=3,
        canonical=None,
        noindex=False,
        nofollow=True,
        signals=None,
        etag='"e"',
        last_modified=None,
        attempts=1,
        warc_file="a.warc.gz",
        warc_offset=300,
    ),
    "content": ContentRow(ONE, "a.warc.gz", 300),
    "links": (
        LinkRow(TWO, "", "a", "nofollow", "next"),
        LinkRow(UrlKey(b""), "https://h.test/i.png", "img", "", ""),
    ),
    "robots": RobotsRow(
        verdict="rules",
        body=b"User-agent: *\n",
        body_at=1.5,
        asked_at=2.5,
        ask_again_at=3.5,
        tries=1,
        status=200,
        etag='"e"',
    ),
    "visits": VisitRow(
        host="h.test",
        url="https://h.test/a",
        kind=Kind.PAGE,
        address="127.0.0.1",
        started_at=1.5,
        ended_at=2.5,
        status=200,
        error="",
        body_bytes=5,
        gap_s=1.0,
        gap_reason="delay",
        robots_at=0.5,
    ),
    "dead": DeadRow(Reason.TIMEOUT, 3, "no answer"),
    "meta": {"a": [1, None, True, 2.5, b"x"]},
}


def golden(name: str) -> bytes:
    return bytes.fromhex(json.loads(VECTORS.read_text("utf-8"))["rows"][name])


@pytest.mark.parametrize("name", GOLDEN_ROWS)
def test_the_bytes_of_a_row_never_change(name: str) -> None:
    codec = CODECS[name.partition(" ")[0]]
    assert codec.encode(GOLDEN_ROWS[name]) == golden(name)
    assert codec.decode(golden(name)) == GOLDEN_ROWS[name]


def test_every_table_has_a_golden_row() -> None:
    assert {name.partition(" ")[0] for name in GOLDEN_ROWS} == CODECS.keys()
    assert json.loads(VECTORS.read_text("utf-8"))["rows"].keys() == GOLDEN_ROWS.keys()


@pytest.mark.parametrize(
    ("table", "key", "raw"),
    [
        ("front", QueueKey(b"\x03", 258), "030000000000000102"),
        ("back", QueueKey(b"host00", 258), "686f737430300000000000000102"),
        ("delayed", QueueKey(bytes(7) + b"\x09", 258), "00000000000000090000000000000102"),
        ("visits", 258, "0000000000000102"),
        ("robots", "https://h.test", "68747470733a2f2f682e74657374"),
        ("meta", "hosts", "686f737473"),
        ("urls", ONE, ONE.hex()),
    ],
)
def test_the_bytes_of_a_key_never_change(table: str, key: Any, raw: str) -> None:
    assert CODECS[table].encode_key(key) == bytes.fromhex(raw)
    assert CODECS[table].decode_key(bytes.fromhex(raw)) == key


def test_the_map_the_port_and_the_codecs_name_the_same_tables() -> None:
    port = typing.get_type_hints(ports.Txn).keys()
    assert [table.name for table in TABLES] == list(CODECS)
    assert set(CODECS) == set(port)


def test_numbers_on_the_disk_are_frozen() -> None:
    assert FORMAT_VERSION == 1
    assert READABLE_WITH[FORMAT_VERSION] == "0.1"
    assert [state.name for state in State] == [
        *("PENDING", "STORED", "REDIRECTED", "GONE", "FAILED", "ROBOTS_REFUSED", "REFUSED")
    ]
    assert [state.value for state in State] == [1, 2, 3, 4, 5, 6, 7]
    assert {str(reason): number for reason, number in REASON_NUMBERS.items()} == {
        "invalid_url": 1,
        "unsupported_scheme": 2,
        "out_of_scope": 3,
        "url_too_long": 4,
        "too_deep": 5,
        "path_trap": 6,
        "query_trap": 7,
        "template_parked": 8,
        "host_budget": 9,
        "domain_budget": 10,
        "prefix_budget": 11,
        "nofollow": 12,
        "robots_refused": 13,
        "gone": 14,
        "dns_failed": 15,
        "address_refused": 16,
        "connect_failed": 17,
        "tls_failed": 18,
        "timeout": 19,
        "protocol_error": 20,
        "body_broken": 21,
        "decode_failed": 22,
        "too_many_redirects": 23,
        "redirect_loop": 24,
        "http_error": 25,
        "blocked_by_host": 26,
        "type_not_wanted": 27,
        "robots_unknown": 28,
        "poison": 29,
    }
    assert REASON_NUMBERS.keys() == set(Reason), "a new reason takes the next number"


# -- rows of earlier and later versions -------------------------------------------------------------


def test_a_shorter_row_gets_the_defaults() -> None:
    host = HostRow("h.test", 1.5, 2.0)
    assert CODECS["hosts"].decode(pack(host[:3])) == host
    robots = RobotsRow("none", b"", 1.0, 2.0, 3.0)
    assert CODECS["robots"].decode(pack(robots[:5])) == robots


@pytest.mark.parametrize(
    "table", ["hosts", "pages", "content", "links", "robots", "visits", "dead"]
)
def test_a_longer_row_is_of_a_later_version(table: str) -> None:
    fields = unpack(golden(table))
    (fields[0] if table == "links" else fields).append("of a later version")
    with pytest.raises(StoreVersionError, match="this version knows"):
        CODECS[table].decode(pack(fields))


@pytest.mark.parametrize(
    "table", ["hosts", "pages", "content", "links", "robots", "visits", "dead"]
)
@pytest.mark.parametrize("damage", [b"", b"\xc1", b"\x93\x01", b"\x00" * 50, b"\xc0"])
def test_damaged_bytes_are_named(table: str, damage: bytes) -> None:
    with pytest.raises(DECODE_ERRORS):
        CODECS[table].decode(damage)


def test_a_damaged_row_names_its_table_and_key() -> None:
    tables = MemoryTables()
    with tables.write() as txn:
        txn.pins.put(ONE[:6], b"")  # type: ignore[arg-type]
    tables._tables["urls"][ONE] = b"\x01\x00\x00"
    tables._tables["dead"][ONE] = pack([99, 1, ""])
    with tables.read() as txn:
        for look in (
            lambda: txn.urls.get(ONE),
            lambda: txn.urls.glance(ONE, "https://h.test/"),
            lambda: list(txn.urls.scan()),
        ):
            with pytest.raises(StoreDamagedError, match=f"row {ONE.hex()} of table urls .*repair"):
                look()
        with pytest.raises(StoreDamagedError, match="table dead"):
            txn.dead.get(ONE)


# -- urls -------------------------------------------------------------------------------------------


def test_a_url_spelled_as_its_key_is_stored_once() -> None:
    same = GOLDEN_ROWS["urls fresh"]
    assert len(encode_url_row(same)) == 36 + len(same.key_url)
    assert encode_url_row(same).count(b"h.test") == 1


@pytest.mark.parametrize("name", ["urls fresh", "urls full", "respelled"])
def test_no_part_of_a_url_row_can_be_missing(name: str) -> None:
    row = GOLDEN_ROWS.get(name) or GOLDEN_ROWS["urls fresh"]._replace(url="https://h.test/a?")
    value = encode_url_row(row)
    fixed_bytes = len(value) - (len(row.url) if row.url != row.key_url else 0)
    for length in range(fixed_bytes):
        with pytest.raises(DECODE_ERRORS):
            decode_url_row(value[:length])


def test_a_url_row_with_bytes_behind_it_is_damaged() -> None:
    with pytest.raises(ValueError, match="longer"):
        decode_url_row(golden("urls fresh") + b"x")


def test_a_url_row_with_an_unknown_flag_is_of_a_later_version() -> None:
    value = bytearray(golden("urls fresh"))
    value[2] |= 64
    with pytest.raises(StoreVersionError):
        decode_url_row(bytes(value))


def test_a_parent_is_a_whole_key() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        encode_url_row(GOLDEN_ROWS["urls fresh"]._replace(parent=UrlKey(b"short")))


def test_a_glance_reads_the_head_only() -> None:
    value = golden("urls full")
    cut = value[: 20 + len("https://h.test/a")]
    assert glance_url_row(cut, "https://h.test/a") == Glance(State.REDIRECTED, Reason.POISON, 4)
    with pytest.raises(KeyTaken):
        glance_url_row(cut, "https://h.test/A")


def test_no_text_breaks_a_url_row() -> None:
    text = "https://h.test/\ud800\x00" + "\U0001f600" * 20_000
    row = GOLDEN_ROWS["urls full"]._replace(url=text, key_url=text + "k")
    assert decode_url_row(encode_url_row(row)) == row
    assert glance_url_row(encode_url_row(row), text + "k").state is State.REDIRECTED
