"""Bodies in memory and in files, and the budget that they share."""

from __future__ import annotations

import errno
import hashlib
import threading
from pathlib import Path
from typing import IO

import pytest

from mercator.errors import StoreError, StoreFullError
from mercator.net.body import BodyMemory, SpooledBody


def _written(bodies: BodyMemory, *pieces: bytes) -> SpooledBody:
    body = bodies.new()
    for piece in pieces:
        body.write(piece)
    body.finish()
    return body


@pytest.mark.parametrize("limit", [0, 5, 100_000, 100_001, 1 << 30])
@pytest.mark.parametrize(
    "pieces", [(), (b"",), (b"abc",), (b"a" * 70_000, b"b" * 30_001), (b"x",) * 1000]
)
def test_what_was_written_is_read(limit: int, pieces: tuple[bytes, ...]) -> None:
    bodies = BodyMemory(limit)
    body = _written(bodies, *pieces)
    whole = b"".join(pieces)
    assert (body.size, body.read(), body.read()) == (len(whole), whole, whole)
    assert body.sha256 == hashlib.sha256(whole).digest()
    chunks = list(body.chunks())
    assert b"".join(chunks) == whole
    assert max(map(len, chunks), default=0) <= 65536
    assert bodies.used_bytes == (len(whole) if len(whole) <= limit else 0)
    body.close()
    assert bodies.used_bytes == 0


def test_the_budget_is_shared_and_given_back() -> None:
    bodies = BodyMemory(100)
    first, second = _written(bodies, b"a" * 60), _written(bodies, b"b" * 60)
    assert bodies.used_bytes == 60
    assert (first.read(), second.read()) == (b"a" * 60, b"b" * 60)
    first.close()
    first.close()
    assert bodies.used_bytes == 0
    third = _written(bodies, b"c" * 100)
    assert bodies.used_bytes == 100
    second.close()
    third.close()
    assert bodies.used_bytes == 0


def test_a_closed_body_is_neither_read_nor_written() -> None:
    for limit in (0, 100):
        body = _written(BodyMemory(limit), b"abc")
        body.close()
        with pytest.raises(ValueError, match="closed"):
            body.read()
        with pytest.raises(ValueError, match="closed"):
            list(body.chunks())
        with pytest.raises(ValueError, match="closed"):
            body.write(b"d")


def test_the_budget_holds_for_many_threads() -> None:
    bodies = BodyMemory(10_000)
    seen: list[int] = []

    def work() -> None:
        for _ in range(50):
            body = _written(bodies, *(b"x" * 100,) * 20)
            seen.append(bodies.used_bytes)
            body.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 2000 <= max(seen) <= 10_000
    assert bodies.used_bytes == 0


def test_files_lie_in_the_folder_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot keep a body in a temporary file"):
        _written(BodyMemory(0, tmp_path / "missing"), b"abc")
    body = _written(BodyMemory(0, tmp_path), b"abc")
    assert body.read() == b"abc"
    body.close()
    assert list(tmp_path.iterdir()) == []


class _FullDisk(BodyMemory):
    """Files on a disk without room. Threads: one."""

    def temporary_file(self) -> IO[bytes]:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_this_machines_trouble() -> None:
    bodies = _FullDisk(10)
    body = bodies.new()
    body.write(b"abc")
    with pytest.raises(StoreFullError, match="free space"):
        body.write(b"d" * 10)
    body.close()
    assert bodies.used_bytes == 0
