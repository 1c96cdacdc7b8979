"""Front queues: one FIFO a level, with counts that are what is there."""

from __future__ import annotations

import pytest

from mercator.frontier.front_queues import FrontQueues
from mercator.ports import Txn
from mercator.store.memory_tables import MemoryTables
from mercator.values import UrlKey


def key(n: int) -> UrlKey:
    return UrlKey(n.to_bytes(16, "big"))


def fill(queues: FrontQueues, txn: Txn, *places: tuple[int, int]) -> None:
    """(level, number) in this order; a place's sequence is its number."""
    for level, n in places:
        queues.append(txn, level, n, key(n))


def emptied(queues: FrontQueues, txn: Txn, level: int) -> list[UrlKey]:
    found = []
    while (got := queues.pop(txn, level)) is not None:
        found.append(got)
    return found


def test_a_level_gives_its_urls_in_their_order() -> None:
    queues = FrontQueues(3)
    with MemoryTables().write() as txn:
        fill(queues, txn, (2, 1), (2, 2), (2, 300))
        assert emptied(queues, txn, 2) == [key(1), key(2), key(300)]


def test_an_empty_level_gives_nothing() -> None:
    queues = FrontQueues(3)
    with MemoryTables().write() as txn:
        fill(queues, txn, (1, 1), (3, 2))
        assert queues.pop(txn, 2) is None


def test_levels_do_not_see_each_other() -> None:
    queues = FrontQueues(3)
    with MemoryTables().write() as txn:
        fill(queues, txn, (1, 1), (2, 2), (1, 3), (3, 4))
        assert emptied(queues, txn, 1) == [key(1), key(3)]
        assert emptied(queues, txn, 3) == [key(4)]
        assert emptied(queues, txn, 2) == [key(2)]


def test_counts_follow_every_change() -> None:
    queues = FrontQueues(2)
    with MemoryTables().write() as txn:
        assert (queues.counts, queues.waiting()) == ([0, 0], 0)
        fill(queues, txn, (1, 1), (2, 2), (2, 3))
        assert (queues.counts, queues.waiting()) == ([1, 2], 3)
        queues.pop(txn, 2)
        assert (queues.counts, queues.waiting()) == ([1, 1], 2)
        queues.pop(txn, 1)
        queues.pop(txn, 2)
        assert (queues.counts, queues.waiting(), txn.front.count()) == ([0, 0], 0, 0)


def test_what_comes_after_the_level_was_empty_is_found() -> None:
    queues = FrontQueues(1)
    with MemoryTables().write() as txn:
        fill(queues, txn, (1, 1))
        assert emptied(queues, txn, 1) == [key(1)]
        fill(queues, txn, (1, 2), (1, 3))
        assert emptied(queues, txn, 1) == [key(2), key(3)]


def test_a_queue_goes_on_over_transactions() -> None:
    tables, queues = MemoryTables(), FrontQueues(1)
    with tables.write() as txn:
        fill(queues, txn, (1, 1), (1, 2))
    with tables.write() as txn:
        assert queues.pop(txn, 1) == key(1)
    with tables.write() as txn:
        assert queues.pop(txn, 1) == key(2)


def test_the_queues_of_the_last_run_are_taken_up_with_their_counts() -> None:
    tables = MemoryTables()
    with tables.write() as txn:
        before = FrontQueues(2)
        fill(before, txn, (1, 1), (2, 2), (2, 3))
    queues = FrontQueues(2, before.counts)
    with tables.write() as txn:
        assert queues.waiting() == 3
        assert emptied(queues, txn, 2) == [key(2), key(3)]


def test_the_counts_given_are_not_moved() -> None:
    counts = [1, 0]
    queues = FrontQueues(2, counts)
    with MemoryTables().write() as txn:
        fill(queues, txn, (2, 1))
    assert counts == [1, 0]


def test_a_count_for_each_level_is_needed() -> None:
    with pytest.raises(AssertionError, match="one count a level"):
        FrontQueues(3, [1, 2])


def test_a_count_that_is_not_what_is_there_is_a_fault() -> None:
    queues = FrontQueues(1, [1])
    with (
        MemoryTables().write() as txn,
        pytest.raises(AssertionError, match="must be what is there"),
    ):
        queues.pop(txn, 1)


def test_the_highest_level_that_a_byte_can_say_works() -> None:
    queues = FrontQueues(255)
    with MemoryTables().write() as txn:
        fill(queues, txn, (255, 1), (254, 2))
        assert emptied(queues, txn, 255) == [key(1)]
