"""The delayed queue: URLs come out when their time has come, the earliest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercator.frontier.delayed import DelayedQueue, due_of, due_prefix
from mercator.ports import Txn
from mercator.rows import QueueKey
from mercator.store.memory_tables import MemoryTables
from mercator.values import UrlKey

NOW = 1_800_000_000.0
QUEUE = DelayedQueue()


def key(n: int) -> UrlKey:
    return UrlKey(n.to_bytes(16, "big"))


def fill(txn: Txn, *due_in_s: float) -> None:
    """One URL each, numbered in this order."""
    for n, seconds in enumerate(due_in_s):
        QUEUE.put(txn, NOW + seconds, n, key(n))


def test_nothing_is_due_in_an_empty_queue() -> None:
    with MemoryTables().write() as txn:
        assert QUEUE.pop_due(txn, NOW, 10) == []
        assert QUEUE.next_due_at(txn) is None


def test_what_is_due_comes_out_and_the_rest_stays() -> None:
    with MemoryTables().write() as txn:
        fill(txn, 5.0, -1.0, 0.0, 9.0)
        assert QUEUE.pop_due(txn, NOW, 10) == [key(1), key(2)]
        assert QUEUE.pop_due(txn, NOW, 10) == []
        assert QUEUE.pop_due(txn, NOW + 10.0, 10) == [key(0), key(3)]
        assert txn.delayed.count() == 0


def test_a_url_is_due_at_its_time_and_not_a_microsecond_earlier() -> None:
    with MemoryTables().write() as txn:
        fill(txn, 5.0)
        assert QUEUE.pop_due(txn, NOW + 5.0 - 1e-6, 10) == []
        assert QUEUE.pop_due(txn, NOW + 5.0, 10) == [key(0)]


def test_what_is_due_at_one_time_comes_out_as_it_came_in() -> None:
    with MemoryTables().write() as txn:
        fill(txn, *[1.0] * 5)
        assert QUEUE.pop_due(txn, NOW + 1.0, 10) == [key(n) for n in range(5)]


def test_a_piece_is_bounded_and_the_earliest_go_first() -> None:
    with MemoryTables().write() as txn:
        fill(txn, 3.0, 1.0, 2.0)
        assert QUEUE.pop_due(txn, NOW + 9.0, 2) == [key(1), key(2)]
        assert QUEUE.pop_due(txn, NOW + 9.0, 2) == [key(0)]


def test_the_next_time_is_the_earliest() -> None:
    with MemoryTables().write() as txn:
        fill(txn, 3.0, 1.5, 2.0)
        assert QUEUE.next_due_at(txn) == NOW + 1.5
        QUEUE.pop_due(txn, NOW + 1.5, 10)
        assert QUEUE.next_due_at(txn) == NOW + 2.0


def test_looking_for_the_next_time_takes_nothing_out() -> None:
    with MemoryTables().write() as txn:
        fill(txn, 1.0)
        QUEUE.next_due_at(txn)
        assert txn.delayed.count() == 1


@pytest.mark.parametrize("due_at", [-5.0, 0.0])
def test_a_time_before_all_times_is_due_at_once(due_at: float) -> None:
    with MemoryTables().write() as txn:
        QUEUE.put(txn, due_at, 1, key(1))
        assert QUEUE.next_due_at(txn) == 0.0
        assert QUEUE.pop_due(txn, NOW, 1) == [key(1)]


times = st.floats(0.0, NOW + 1e9)


@given(times)
def test_a_time_comes_back_to_the_microsecond(due_at: float) -> None:
    assert due_of(QueueKey(due_prefix(due_at), 1)) == pytest.approx(due_at, abs=1e-6)


@given(times, times)
def test_the_order_of_keys_is_the_order_of_times(one: float, other: float) -> None:
    if one <= other:
        assert due_prefix(one) <= due_prefix(other)
    if due_prefix(one) < due_prefix(other):
        assert one < other


@given(times)
def test_what_is_said_to_be_due_next_is_due_then(due_at: float) -> None:
    with MemoryTables().write() as txn:
        QUEUE.put(txn, due_at, 1, key(1))
        next_due_at = QUEUE.next_due_at(txn)
        assert next_due_at is not None
        assert QUEUE.pop_due(txn, next_due_at, 1) == [key(1)]
