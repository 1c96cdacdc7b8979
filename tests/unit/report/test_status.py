"""The summary as the store tells it."""

from __future__ import annotations

from mercator.records import COUNTERS, Status
from mercator.report.status import stored_status, summary
from tests.unit.report.conftest import WatchedTables, put_host

RUN = {
    "elapsed_s": 2.5,
    "pages_per_s": 4.0,
    "fetch_ms_p50": 10.0,
    "fetch_ms_p95": 30.0,
    "bucket_wait_s": 0.5,
    "stop_reason": "finished",
}


def test_a_store_without_a_commit_has_zeros(tables: WatchedTables) -> None:
    assert stored_status([tables]) == Status()


def test_every_counter_is_read(tables: WatchedTables) -> None:
    counters = {name: number for number, name in enumerate(COUNTERS, start=1)}
    with tables.write() as txn:
        txn.meta.put("counters", counters)
        txn.meta.put("reasons", {"gone": 2, "timeout": 0, "dns_failed": 1})
        txn.meta.put("run", RUN)
        put_host(txn, "a.test")
        put_host(txn, "b.test")
    expected = counters | RUN | {"hosts": 2, "in_flight": 0}
    status = stored_status([tables])
    assert status.as_dict() == {
        **{name: expected[name] for name in status.as_dict() if name != "reasons"},
        "reasons": {"dns_failed": 1, "gone": 2},
    }


def test_stores_add_up(tables: WatchedTables) -> None:
    other = WatchedTables()
    for part, run in ((tables, RUN), (other, RUN | {"elapsed_s": 9.0, "stop_reason": None})):
        with part.write() as txn:
            txn.meta.put("counters", {"stored": 3})
            txn.meta.put("reasons", {"gone": 1})
            txn.meta.put("run", run)
            put_host(txn, "a.test")
    status = stored_status([tables, other])
    assert (status.stored, status.hosts, status.reasons) == (6, 2, {"gone": 2})
    assert (status.elapsed_s, status.pages_per_s) == (9.0, 8.0)
    assert (status.fetch_ms_p50, status.fetch_ms_p95, status.bucket_wait_s) == (10.0, 30.0, 1.0)
    assert status.stop_reason == "finished"


def test_the_summary_shows_where_the_pages_are_and_how_to_go_on() -> None:
    text = summary(Status(stored=1, pending=1, stop_reason="max_pages"), "it's here")
    assert "export 'it'\"'\"'s here' pages" in text
    assert "go on with" in text
    assert "go on with" not in summary(Status(stored=1, stop_reason="finished"), "d")
