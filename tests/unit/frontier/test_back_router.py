"""The back-queue router: a pin is a row, and there is room for so many hosts."""

from __future__ import annotations

import pytest

from mercator.frontier.back_router import PAUSED_ROOM, BackRouter
from mercator.ports import Txn
from mercator.store.memory_tables import MemoryTables
from mercator.values import HostId


def host(n: int) -> HostId:
    return HostId(n.to_bytes(6, "big"))


def pins(txn: Txn) -> list[HostId]:
    return [host_id for host_id, _ in txn.pins.scan()]


def pinned(router: BackRouter, txn: Txn, count: int) -> BackRouter:
    for n in range(count):
        router.pin(txn, host(n))
    return router


def test_a_host_that_is_pinned_has_a_row() -> None:
    router = BackRouter(3, 10)
    with MemoryTables().write() as txn:
        router.pin(txn, host(1))
        assert pins(txn) == [host(1)]
        assert host(1) in router
        assert host(2) not in router
        assert (len(router), list(router)) == (1, [host(1)])


def test_a_host_that_is_unpinned_has_none() -> None:
    router = BackRouter(3, 10)
    with MemoryTables().write() as txn:
        pinned(router, txn, 2)
        router.unpin(txn, host(0))
        assert pins(txn) == list(router) == [host(1)]
        assert router.free == 2


def test_a_pinned_host_takes_room_once() -> None:
    router = BackRouter(3, 10)
    with MemoryTables().write() as txn:
        router.pin(txn, host(1))
        router.pin(txn, host(1))
        assert (len(router), router.free, pins(txn)) == (1, 2, [host(1)])


def test_there_is_room_for_as_many_hosts_as_there_is_a_base() -> None:
    with MemoryTables().write() as txn:
        assert [pinned(BackRouter(3, 10), txn, n).free for n in range(5)] == [3, 2, 1, 0, 0]


def test_the_base_is_no_more_than_the_most() -> None:
    router = BackRouter(96, 4)
    assert router.free == 4
    assert not router.can_grow()


def test_room_doubles_up_to_the_most() -> None:
    router = BackRouter(3, 10)
    room = []
    for _ in range(3):
        assert router.can_grow() == (router.free < 10)
        router.grow()
        room.append(router.free)
    assert room == [6, 10, 10]
    assert not router.can_grow()


def test_room_that_is_not_used_is_given_up_down_to_the_base() -> None:
    router = BackRouter(3, 100)
    with MemoryTables().write() as txn:
        for _ in range(4):
            router.grow()
        pinned(router, txn, 20)
        router.shrink()
        assert router.free == 0
        for n in range(20):
            router.unpin(txn, host(n))
        router.shrink()
        assert router.free == 3


def test_shrinking_takes_no_back_queue_away() -> None:
    router = BackRouter(1, 100)
    with MemoryTables().write() as txn:
        for _ in range(4):
            router.grow()
        pinned(router, txn, 10)
        router.shrink()
        assert (len(router), router.free) == (10, 0)
        router.unpin(txn, host(0))
        assert router.free == 1


def test_hosts_that_pause_take_no_room_from_the_others() -> None:
    router = BackRouter(3, 10)
    with MemoryTables().write() as txn:
        pinned(router, txn, 3)
        assert router.free == 0
        router.note_paused(2)
        assert router.free == 2
        router.note_paused(0)
        assert router.free == 0


def test_only_so_many_paused_hosts_have_a_back_queue_besides() -> None:
    router = BackRouter(3, 10)
    with MemoryTables().write() as txn:
        pinned(router, txn, 3)
        router.note_paused(1000)
        assert router.free == PAUSED_ROOM * 10


@pytest.mark.parametrize(("count", "free"), [(2, 1), (3, 0), (8, 0)])
def test_the_hosts_of_the_last_run_are_pinned_again(count: int, free: int) -> None:
    tables = MemoryTables()
    with tables.write() as txn:
        pinned(BackRouter(3, 10), txn, count)
    router = BackRouter(3, 10)
    with tables.write() as txn:
        assert router.load(txn) == [host(n) for n in range(count)]
    assert sorted(router) == [host(n) for n in range(count)]
    assert router.free == free


def test_more_hosts_of_the_last_run_than_may_be_are_kept_until_they_are_done() -> None:
    tables = MemoryTables()
    with tables.write() as txn:
        pinned(BackRouter(50, 50), txn, 30)
    router = BackRouter(3, 10)
    with tables.write() as txn:
        assert len(router.load(txn)) == 30
        assert not router.can_grow()
        for n in range(25):
            router.unpin(txn, host(n))
        router.shrink()
        assert (len(router), router.free) == (5, 0)
