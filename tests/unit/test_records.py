"""The public result values: columns, order and JSON forms of the interface, sections 2 and 3."""

from __future__ import annotations

import dataclasses
import json
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from mercator import records
from mercator.errors import StateError
from mercator.records import (
    Explanation,
    FailureRecord,
    HostRecord,
    LinkRecord,
    PageRecord,
    Status,
    VisitRecord,
    rfc3339,
    utc,
)
from mercator.values import Reason

STATUS_FIELDS = (
    "stored fetched redirects not_modified duplicates_exact duplicates_near robots_refused refused "
    "failed gone seen known_again pending in_flight hosts bytes elapsed_s pages_per_s fetch_ms_p50 "
    "fetch_ms_p95 bucket_wait_s stop_reason reasons"
)
PAGE = (
    "url key_url status depth discovered_from fetched_at elapsed_ms address content_type encoding "
    "encoding_from bytes truncated sha256 simhash title duplicate_of near_duplicate_of "
    "near_distance canonical noindex nofollow signals etag last_modified attempts warc_file "
    "warc_offset"
)
COLUMNS = {
    PageRecord: PAGE,
    LinkRecord: "source target kind rel anchor",
    FailureRecord: "url key_url reason status error attempts first_at last_at discovered_from",
    HostRecord: "host stored failed pending gap_s gap_reason due_at blocked_until robots robots_at "
    "addresses bytes",
    VisitRecord: "host url kind address started_at ended_at status error bytes gap_s gap_reason "
    "robots_at",
}
MOMENT = datetime(2027, 1, 15, 8, 0, 0, 250_000, UTC)


def page(**changes: Any) -> PageRecord:
    values: dict[str, Any] = dict.fromkeys(PAGE.split())
    values.update(url="http://h.test/", key_url="http://h.test/", status=200, encoding="utf-8")
    return PageRecord(**(values | changes))


@pytest.mark.parametrize("record", COLUMNS, ids=lambda record: str(record.__name__))
def test_a_record_has_the_columns_of_the_interface_in_their_order(record: Any) -> None:
    columns = COLUMNS[record].split()
    row = record(**dict.fromkeys(columns))
    assert list(row.as_dict()) == columns
    assert [f.name for f in dataclasses.fields(record) if not f.name.startswith("_")] == columns


@pytest.mark.parametrize("record", [*COLUMNS, Status, Explanation])
def test_values_are_frozen_and_slotted(record: Any) -> None:
    assert record.__dataclass_params__.frozen
    assert "__slots__" in vars(record)


def test_status_has_the_fields_of_the_interface_in_their_order() -> None:
    assert list(Status().as_dict()) == STATUS_FIELDS.split()


def test_status_keeps_its_own_copy_of_the_reasons() -> None:
    reasons = {"gone": 1}
    status = Status(reasons=reasons)
    reasons["gone"] = 2
    status.as_dict()["reasons"]["gone"] = 3
    assert status.reasons == {"gone": 1}
    assert hash(status) == hash(Status())
    assert pickle.loads(pickle.dumps(status)) == status


def test_the_names_of_reasons_are_plain_texts() -> None:
    (name,) = Status(reasons={Reason.GONE: 1}).reasons
    assert type(name) is str


def test_status_tells_every_group_on_a_line_of_its_own() -> None:
    status = Status(
        stored=3,
        bytes=5 * 1024 * 1024,
        refused=7,
        gone=2,
        reasons={"gone": 2, "out_of_scope": 7},
        stop_reason="max_pages",
    )
    lines = repr(status).splitlines()
    assert len(lines) == 1 + len(status.groups())
    assert "max_pages" in lines[1]
    assert "3 stored (5.0 MiB)" in lines[2]
    assert "out_of_scope 7, gone 2" in repr(status)


def test_status_in_html_is_escaped() -> None:
    text = Status(reasons={"<b>": 1})._repr_html_()
    assert "&lt;b&gt; 1" in text
    assert "<b>" not in text


@pytest.mark.parametrize(
    ("unix_s", "text"),
    [
        (1_800_000_000.0, "2027-01-15T08:00:00.000000Z"),
        (1_800_000_000.000001, "2027-01-15T08:00:00.000001Z"),
        (1.5, "1970-01-01T00:00:01.500000Z"),
        (1e18, "9999-12-31T23:59:59.000000Z"),
    ],
)
def test_times_are_rfc_3339_in_utc_with_six_digits(unix_s: float, text: str) -> None:
    moment = utc(unix_s)
    assert moment is not None
    assert rfc3339(moment) == text


def test_zero_stands_for_never() -> None:
    assert utc(0.0) is None


def test_a_page_as_a_dict_is_json_ready() -> None:
    row = page(fetched_at=MOMENT).as_dict()
    assert row["fetched_at"] == "2027-01-15T08:00:00.250000Z"
    assert row["title"] is None
    assert json.loads(json.dumps(row)) == row


def test_a_visit_keeps_unix_seconds() -> None:
    columns: dict[str, Any] = dict.fromkeys(COLUMNS[VisitRecord].split())
    row = VisitRecord(**(columns | {"started_at": 1_800_000_000.123456, "robots_at": MOMENT}))
    assert row.as_dict()["started_at"] == 1_800_000_000.123456
    assert row.as_dict()["robots_at"] == "2027-01-15T08:00:00.250000Z"


def test_a_hosts_addresses_are_a_list_in_json() -> None:
    columns: dict[str, Any] = dict.fromkeys(COLUMNS[HostRecord].split())
    row = HostRecord(**(columns | {"addresses": ("127.0.0.1", "::1")}))
    assert row.as_dict()["addresses"] == ["127.0.0.1", "::1"]


def test_a_page_reads_its_body_and_soup_through_the_store() -> None:
    asked: list[object] = []

    def read_body() -> bytes:
        asked.append("body")
        return b"<p>x"

    def make_soup(body: bytes, encoding: str | None) -> Any:
        asked.append((body, encoding))
        return "tree"

    row = page(_read_body=read_body, _make_soup=make_soup)
    assert asked == []
    assert row.body() == b"<p>x"
    assert str(row.soup) == "tree"
    assert asked == ["body", "body", (b"<p>x", "utf-8")]


def test_how_a_body_is_read_is_no_part_of_the_value() -> None:
    assert page(_read_body=lambda: b"") == page()
    assert "_read_body" not in repr(page(_read_body=lambda: b""))
    assert "_read_body" not in records.PAGE_COLUMNS


def test_a_page_without_a_store_says_so() -> None:
    with pytest.raises(StateError, match="no body"):
        page().body()
    with pytest.raises(StateError, match="no body"):
        _ = page().soup


def test_an_explanation_is_its_story_for_people() -> None:
    explanation = Explanation("http://h.test/a", None, "refused", "invalid_url", ("one", "two"))
    assert str(explanation) == "one\ntwo"
    assert explanation.as_dict() == {
        "url": "http://h.test/a",
        "key_url": None,
        "state": "refused",
        "reason": "invalid_url",
        "story": ["one", "two"],
    }
