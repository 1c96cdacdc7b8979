"""What only LMDB can do or suffer: a full map, a full disk, kills, damage, other processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb
import pytest

from mercator import errors
from mercator.errors import (
    StateError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StorePermissionError,
    StoreVersionError,
)
from mercator.rows import DeadRow, RobotsRow
from mercator.store import lmdb_tables, transaction_gate
from mercator.store.lmdb_errors import opening_error, transaction_error
from mercator.store.lmdb_tables import LmdbTables
from mercator.store.tables import TABLES
from mercator.values import Reason, UrlKey
from tests.unit.store.conftest import ROOT, StartChild, WithoutRights

MAP_BYTES = 64 << 20
SMALL_MAP = 1 << 20

Open = Callable[..., LmdbTables]


@pytest.fixture
def open_tables(tmp_path: Path) -> Iterator[Open]:
    """Opens tables in `tmp_path/0000`; all are closed with the test."""
    opened: list[LmdbTables] = []

    def open_(
        *, map_bytes: int = MAP_BYTES, read_only: bool = False, create: bool = True
    ) -> LmdbTables:
        opened.append(
            LmdbTables.open(
                tmp_path / "0000", map_bytes=map_bytes, read_only=read_only, create=create
            )
        )
        return opened[-1]

    yield open_
    for tables in opened:
        tables.close()
    assert not lmdb_tables._registry


def key(number: int) -> UrlKey:
    return UrlKey(b"host00" + number.to_bytes(10, "big"))


def fill(tables: LmdbTables, first: int, count: int, row_bytes: int = 1000) -> None:
    with tables.write() as txn:
        for number in range(first, first + count):
            txn.dead.put(key(number), DeadRow(Reason.TIMEOUT, number, "x" * row_bytes))


def count(tables: LmdbTables) -> int:
    with tables.read() as txn:
        assert all(row.attempts == int.from_bytes(k[6:], "big") for k, row in txn.dead.scan())
        return txn.dead.count()


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# -- full ------------------------------------------------------------------------------------------


def test_a_full_map_keeps_the_last_commit(open_tables: Open) -> None:
    tables = open_tables(map_bytes=SMALL_MAP)
    fill(tables, 0, 100)
    with pytest.raises(StoreFullError, match="larger map_bytes"):
        fill(tables, 100, 5000)
    assert count(tables) == 100
    with tables.write() as txn:
        txn.dead.delete(key(0))
    assert count(tables) == 99


def test_a_full_map_can_be_grown(open_tables: Open) -> None:
    tables = open_tables(map_bytes=SMALL_MAP)
    assert tables.map_bytes == SMALL_MAP
    with pytest.raises(StoreFullError):
        fill(tables, 0, 5000)
    tables.grow(MAP_BYTES)
    fill(tables, 0, 5000)
    assert count(tables) == 5000
    assert tables.map_bytes == MAP_BYTES
    assert SMALL_MAP < tables.used_bytes < MAP_BYTES


def test_a_map_that_is_full_is_opened_with_a_larger_one(open_tables: Open) -> None:
    first = open_tables(map_bytes=SMALL_MAP)
    fill(first, 0, 100)
    first.close()
    second = open_tables(map_bytes=MAP_BYTES)
    fill(second, 100, 5000)
    assert count(second) == 5100


def test_the_map_is_not_grown_under_a_transaction(
    open_tables: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_gate, "PATIENCE_S", 0.01)
    tables = open_tables(map_bytes=SMALL_MAP)
    with tables.read(), pytest.raises(StateError, match="leave its with block"):
        tables.grow(MAP_BYTES)
    tables.grow(MAP_BYTES)


def test_a_map_that_another_process_has_grown_is_taken_over(
    open_tables: Open, tmp_path: Path
) -> None:
    tables = open_tables(map_bytes=SMALL_MAP)
    grown = run(
        "import sys; from mercator.store.lmdb_tables import LmdbTables\n"
        "from mercator.rows import RobotsRow\n"
        "tables = LmdbTables.open(sys.argv[1], map_bytes=64 << 20)\n"
        "with tables.write() as txn:\n"
        "    txn.robots.put('o', RobotsRow('rules', bytes(8 << 20), 0.0, 0.0, 0.0))\n",
        tmp_path / "0000",
    )
    assert grown.returncode == 0, grown.stderr
    with tables.read() as txn:
        row = txn.robots.get("o")
        assert row is not None
        assert len(row.body) == 8 << 20
    assert tables.map_bytes > SMALL_MAP


def test_a_file_size_limit_is_a_full_disk(tmp_path: Path) -> None:
    """The system refuses to write on in the middle of a commit: nothing of it remains."""
    limited = run(
        """
import resource, sys
from mercator.errors import StoreFullError
from mercator.rows import RobotsRow
from mercator.store.lmdb_tables import LmdbTables
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
tables = LmdbTables.open(sys.argv[1], map_bytes=1 << 30)
with tables.write() as txn:
    txn.robots.put("kept", RobotsRow("rules", b"kept", 0.0, 0.0, 0.0))
try:
    with tables.write() as txn:
        txn.robots.put("kept", RobotsRow("none", b"", 0.0, 0.0, 0.0))
        txn.robots.put("big", RobotsRow("rules", bytes(4 << 20), 0.0, 0.0, 0.0))
except StoreFullError as error:
    print(error)
with tables.write() as txn:
    txn.meta.put("after", 1)
with tables.read() as txn:
    print(txn.robots.get("kept").body, txn.robots.get("big"), txn.meta.get("after"))
""",
        tmp_path / "0000",
    )
    assert limited.returncode == 0, limited.stderr
    text, rows = limited.stdout.splitlines()
    assert "free some space" in text
    assert rows == "b'kept' None 1"


# -- kills and other processes ---------------------------------------------------------------------

WRITE_UNTIL_KILLED = """
import itertools, os, sys
from mercator.rows import DeadRow
from mercator.store.lmdb_tables import LmdbTables
from mercator.values import Reason
tables = LmdbTables.open(sys.argv[1], map_bytes=64 << 20)
for group in itertools.count():
    with tables.write() as txn:
        for number in range(group * 10, group * 10 + 10):
            txn.dead.put(b"host00" + number.to_bytes(10, "big"), DeadRow(Reason.TIMEOUT, number, ""))
        txn.meta.put("groups", group + 1)
        if group == int(sys.argv[2]):
            print("ready", flush=True)
            sys.stdin.readline()  # killed here, in the middle of a transaction
    os.write(int(sys.argv[3]), b"%d\\n" % (group + 1))
"""


def test_a_kill_within_a_transaction_leaves_the_last_commit(
    open_tables: Open, tmp_path: Path, start_child: StartChild
) -> None:
    child = start_child(WRITE_UNTIL_KILLED, tmp_path / "0000", 3, 2)
    child.send_signal(signal.SIGKILL)
    child.wait()
    tables = open_tables(create=False)
    assert count(tables) == 30
    with tables.write() as txn:  # the lock of the killed writer is given back
        assert txn.meta.get("groups") == 3


def test_a_kill_at_any_moment_leaves_a_whole_commit(open_tables: Open, tmp_path: Path) -> None:
    """Killed after the n-th commit was reported, at wherever it has come to by then."""
    for kills in range(1, 6):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITE_UNTIL_KILLED, tmp_path / "0000", "-1", "1"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        reported = 0
        for _ in range(kills * 3):
            reported = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        child.communicate()
        tables = open_tables(create=False)
        with tables.read() as txn:
            groups = txn.meta.get("groups")
            assert isinstance(groups, int)
            assert groups >= reported, "a commit that was reported is gone"
            assert txn.dead.count() == groups * 10
        tables.close()
        shutil.rmtree(tmp_path / "0000")


def test_a_reader_of_another_process_sees_each_commit_and_no_more(
    open_tables: Open, tmp_path: Path, start_child: StartChild
) -> None:
    tables = open_tables()
    fill(tables, 0, 10)
    child = start_child(
        """
import sys
from mercator.store.lmdb_tables import LmdbTables
tables = LmdbTables.open(sys.argv[1], map_bytes=64 << 20, read_only=True)
print("ready", flush=True)
with tables.read() as txn:
    print(txn.dead.count(), flush=True)
    sys.stdin.readline()
    print(txn.dead.count(), flush=True)
with tables.read() as txn:
    print(txn.dead.count(), flush=True)
""",
        tmp_path / "0000",
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == "10\n"
    fill(tables, 10, 5)
    child.stdin.write("go on\n")
    child.stdin.flush()
    assert child.stdout.read() == "10\n15\n"


def test_the_slots_of_killed_readers_are_cleared(
    open_tables: Open, tmp_path: Path, start_child: StartChild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lmdb_tables, "COMMITS_BETWEEN_CHECKS", 3)
    tables = open_tables()
    child = start_child(
        """
import sys
from mercator.store.lmdb_tables import LmdbTables
tables = LmdbTables.open(sys.argv[1], map_bytes=64 << 20, read_only=True)
with tables.read() as txn:
    txn.dead.count()
    print("ready", flush=True)
    sys.stdin.readline()
""",
        tmp_path / "0000",
    )
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert str(child.pid) in tables._shared.env.readers()
    for number in range(3):
        fill(tables, number, 1)
    assert str(child.pid) not in tables._shared.env.readers()


# -- one process -----------------------------------------------------------------------------------


def test_a_crawl_and_a_notebook_share_the_environment(open_tables: Open) -> None:
    crawl = open_tables()
    notebook = open_tables(read_only=True)
    fill(crawl, 0, 7)
    assert count(notebook) == 7
    with pytest.raises(StateError, match="reading only"):
        notebook.write()
    crawl.close()
    assert count(notebook) == 7
    notebook.close()
    assert count(open_tables(create=False)) == 7


def test_a_writer_may_come_after_a_reader(open_tables: Open) -> None:
    open_tables().close()
    notebook = open_tables(read_only=True)
    crawl = open_tables()
    fill(crawl, 0, 7)
    assert count(notebook) == 7
    with pytest.raises(StateError, match="reading only"):
        notebook.write()


def test_a_writer_that_cannot_come_leaves_the_reader_alone(
    open_tables: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_tables()
    fill(first, 0, 7)
    first.close()
    notebook = open_tables(read_only=True)

    def full(self: object) -> None:
        raise lmdb.DiskError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(lmdb_tables._Environment, "_make_tables", full)
        with pytest.raises(StoreFullError):
            open_tables()
    assert count(notebook) == 7


def test_closing_waits_for_readers(open_tables: Open) -> None:
    tables = open_tables()
    inside, finished = threading.Event(), threading.Event()
    kept: list[int] = []

    def read() -> None:
        with tables.read() as txn:
            inside.set()
            finished.wait(10)
            kept.append(txn.dead.count())

    reader = threading.Thread(target=read)
    reader.start()
    inside.wait(10)
    closer = threading.Thread(target=tables.close)
    closer.start()
    finished.set()
    closer.join()
    reader.join()
    assert kept == [0]


def test_tables_are_not_closed_under_a_transaction(
    open_tables: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_gate, "PATIENCE_S", 0.01)
    tables = open_tables()
    with tables.write() as txn:
        with pytest.raises(StateError, match="leave its with block"):
            tables.close()
        txn.meta.put("kept", 1)
    with tables.read() as txn:
        assert txn.meta.get("kept") == 1


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of CPython 3.12 on
def test_a_forked_child_is_refused(open_tables: Open, tmp_path: Path) -> None:
    tables = open_tables()
    refused: list[str] = []
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        for use in (
            lambda: tables.read().__enter__(),
            lambda: tables.write().__enter__(),
            lambda: LmdbTables.open(tmp_path / "0000", map_bytes=MAP_BYTES),
        ):
            try:
                use()
            except StateError as error:
                refused.append("spawn" if "spawn" in str(error) else str(error))
        tables.close()
        os.write(write_end, " ".join(refused).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read_end, 1000) == b"spawn spawn spawn"
    fill(tables, 0, 3)
    assert count(tables) == 3


# -- damage, versions, permissions -----------------------------------------------------------------


def test_tables_that_are_missing_are_not_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "0000"
    for options in ({"read_only": True}, {"create": False}):
        with pytest.raises(StoreDamagedError, match=r"missing \(no data\.mdb\)"):
            LmdbTables.open(folder, map_bytes=MAP_BYTES, **options)
        assert not folder.exists()
    folder.mkdir()
    (folder / "data.mdb").touch()
    with pytest.raises(StoreDamagedError, match="missing"):
        LmdbTables.open(folder, map_bytes=MAP_BYTES, create=False)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_not_lmdbs(tmp_path: Path, read_only: bool) -> None:
    (tmp_path / "data.mdb").write_bytes(b"not a database " * 1000)
    with pytest.raises(StoreDamagedError, match="nothing was overwritten"):
        LmdbTables.open(tmp_path, map_bytes=MAP_BYTES, read_only=read_only)
    assert (tmp_path / "data.mdb").read_bytes() == b"not a database " * 1000
    assert not lmdb_tables._registry


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("pages", [1, 2, 3, 10, 60, 200, -3, -1])
def test_a_file_that_was_cut_off_is_an_error_and_no_bus_error(
    open_tables: Open, tmp_path: Path, pages: int, read_only: bool
) -> None:
    tables = open_tables()
    fill(tables, 0, 1000)
    tables.close()
    data = tmp_path / "0000" / "data.mdb"
    page_bytes = 4096
    whole = data.stat().st_size // page_bytes
    os.truncate(data, (pages if pages > 0 else whole + pages) * page_bytes)
    opened = run(
        "import sys; from mercator.store.lmdb_tables import LmdbTables\n"
        "from mercator.errors import StoreDamagedError\n"
        "try:\n"
        f"    LmdbTables.open(sys.argv[1], map_bytes=64 << 20, read_only={read_only})\n"
        "except StoreDamagedError as error:\n"
        "    print(error)\n",
        tmp_path / "0000",
    )
    assert opened.returncode == 0, opened.stderr
    assert "damaged" in opened.stdout or "cut off" in opened.stdout


def test_a_file_that_is_short_of_free_pages_only_is_whole(
    open_tables: Open, tmp_path: Path
) -> None:
    """A page that one transaction takes at the file's end and gives back need never be written."""
    tables = open_tables()
    fill(tables, 0, 100)
    with tables.write() as txn:
        txn.robots.put("o", RobotsRow("rules", bytes(1 << 20), 0.0, 0.0, 0.0))
    with tables.write() as txn:
        txn.robots.delete("o")
    for number in range(5):  # moves what is in use off the end, into the free pages
        fill(tables, number, 1)
    used = tables.used_bytes
    tables.close()
    os.truncate(tmp_path / "0000" / "data.mdb", used - (1 << 16))
    tables = open_tables(create=False)
    assert tables.used_bytes == used
    assert count(tables) == 100
    fill(tables, 100, 1000)
    assert count(tables) == 1100


def test_pages_that_are_overwritten_are_named(open_tables: Open, tmp_path: Path) -> None:
    tables = open_tables()
    fill(tables, 0, 1000)
    tables.close()
    data = tmp_path / "0000" / "data.mdb"
    with open(data, "r+b") as file:
        file.seek(4096 * 2)
        file.write(b"\x00" * (data.stat().st_size - 4096 * 2))
    looked = run(
        "import sys; from mercator.store.lmdb_tables import LmdbTables\n"
        "from mercator.errors import StoreDamagedError\n"
        "try:\n"
        "    tables = LmdbTables.open(sys.argv[1], map_bytes=64 << 20)\n"
        "    with tables.read() as txn: list(txn.dead.scan())\n"
        "except StoreDamagedError as error:\n"
        "    print(error)\n",
        tmp_path / "0000",
    )
    assert looked.returncode == 0, looked.stderr
    assert "are damaged" in looked.stdout


def test_tables_of_another_version_are_not_touched(open_tables: Open, tmp_path: Path) -> None:
    tables = open_tables()
    with tables.write() as txn:
        txn.meta.put("format_version", 7)
    tables.close()
    before = (tmp_path / "0000" / "data.mdb").read_bytes()
    for options in ({}, {"read_only": True}, {"create": False}):
        with pytest.raises(StoreVersionError, match="format version 7"):
            open_tables(**options)
    assert (tmp_path / "0000" / "data.mdb").read_bytes() == before


def test_tables_that_an_earlier_version_lacks_are_made_by_a_writer(
    open_tables: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(lmdb_tables, "TABLES", TABLES[:-1])
        open_tables().close()
    with pytest.raises(StoreDamagedError, match="not complete"):
        open_tables(read_only=True)
    open_tables(create=False).close()
    assert count(open_tables(read_only=True)) == 0


def test_no_permission(open_tables: Open, tmp_path: Path, without_rights: WithoutRights) -> None:
    open_tables().close()
    (tmp_path / "0000").chmod(0)
    try:
        for read_only in (False, True):
            with without_rights(), pytest.raises(StorePermissionError, match="may not use"):
                open_tables(read_only=read_only)
    finally:
        (tmp_path / "0000").chmod(0o755)


# -- the words of the errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (lmdb.MapFullError("x"), errors.StoreFullError),
        (lmdb.DiskError("mdb_txn_commit: No space left on device"), errors.StoreFullError),
        (lmdb.Error("mdb_txn_commit: Disk quota exceeded"), errors.StoreFullError),
        (lmdb.Error("mdb_txn_commit: File too large"), errors.StoreFullError),
        (lmdb.Error("mdb_txn_commit: Input/output error"), errors.StoreError),
        (lmdb.CorruptedError("x"), errors.StoreDamagedError),
        (lmdb.PageNotFoundError("x"), errors.StoreDamagedError),
        (lmdb.InvalidError("x"), errors.StoreDamagedError),
        (lmdb.PanicError("x"), errors.StoreError),
        (lmdb.VersionMismatchError("x"), errors.StoreVersionError),
        (lmdb.LockError("x"), errors.StoreInUseError),
        (lmdb.MemoryError("x"), errors.StoreError),
        (lmdb.ReadersFullError("x"), errors.StoreError),
        (lmdb.TxnFullError("x"), errors.StoreError),
        (lmdb.BadTxnError("x"), errors.StoreError),
        (lmdb.BadValsizeError("x"), ValueError),
        (lmdb.ReadonlyError("data.mdb: Permission denied"), errors.StorePermissionError),
        (lmdb.Error("data.mdb: Read-only file system"), errors.StorePermissionError),
    ],
)
def test_what_lmdb_says_in_our_words(raised: lmdb.Error, kind: type[Exception]) -> None:
    error = opening_error(raised, Path("/store/shards/0000"))
    assert type(error) is kind
    if isinstance(error, StoreError):
        assert "/store/shards/0000" in str(error)
        assert "\n" not in str(error)
        assert "{" not in str(error)


def test_permission_denied_in_a_transaction_is_a_misuse() -> None:
    denied = lmdb.ReadonlyError("mdb_put: Permission denied")
    assert type(transaction_error(denied, Path("/store"))) is StateError
