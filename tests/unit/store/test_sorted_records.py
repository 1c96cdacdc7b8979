"""Records come back in order, however small the runs are."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercator.errors import StoreFullError
from mercator.store.sorted_records import READ_RECORDS, SortedRecords
from tests.unit.store.disk_faults import DiskFaults


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(min_size=3, max_size=3), max_size=200), st.integers(1, 50))
def test_all_records_in_order(records: list[bytes], run_records: int) -> None:
    kept = SortedRecords(3, run_records)
    for record in records:
        kept.add(record)
    assert list(kept) == sorted(records)
    assert list(kept) == sorted(records), "twice"
    kept.close()
    kept.close()
    assert list(kept) == []


def test_a_run_longer_than_one_reading() -> None:
    count = 3 * READ_RECORDS + 5
    kept = SortedRecords(4, count)
    for number in reversed(range(count)):
        kept.add(number.to_bytes(4, "big"))
    assert [int.from_bytes(record, "big") for record in kept] == list(range(count))
    kept.close()


def test_only_records_of_the_width() -> None:
    with pytest.raises(AssertionError, match="one width"):
        SortedRecords(3).add(b"four")


def test_no_room_for_the_temporary_file(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = SortedRecords(1, 1)
    with pytest.raises(StoreFullError, match=tempfile.gettempdir()):
        DiskFaults(monkeypatch).during("temporary file", lambda: kept.add(b"x"))
