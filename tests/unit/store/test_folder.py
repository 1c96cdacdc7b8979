"""The store's folder: made whole or not at all, and every refusal in one line with its mend."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from mercator.errors import (
    StateError,
    StoreDamagedError,
    StoreError,
    StoreFilesystemError,
    StoreFullError,
    StoreInUseError,
    StoreMissingError,
    StorePermissionError,
    StoreVersionError,
)
from mercator.store.folder import StoreFolder, StoreInfo
from mercator.store.folder_lock import LockHolder
from mercator.store.lmdb_tables import LmdbTables
from tests.unit.store.conftest import StartChild, WithoutRights

NOW = 1_800_000_000.0
VERSIONS = {"mercator": "0.1.0", "url_lists": "1"}

HOLD = """
import sys
from mercator.store.folder import StoreFolder
folder = StoreFolder(sys.argv[1])
folder.lock(1_800_000_000.0)
print("ready", flush=True)
sys.stdin.read()
folder.unlock()
"""


def make(path: Path, shards: int = 1) -> StoreFolder:
    folder = StoreFolder(path)
    folder.lock(NOW)
    folder.create(shards=shards, url_policy="standard", versions=VERSIONS)
    return folder


def contents(path: Path) -> dict[str, bytes | None]:
    return {
        str(part.relative_to(path)): part.read_bytes() if part.is_file() else None
        for part in sorted(path.rglob("*"))
    }


def one_line(error: pytest.ExceptionInfo[StoreError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert ";" in text or ":" in text, "what happened, and how to mend it"
    return text


# -- making and opening -----------------------------------------------------------------------------


def test_a_store_is_opened_as_it_was_made(tmp_path: Path) -> None:
    folder = make(tmp_path / "new" / "store", shards=2)
    folder.unlock()
    again = StoreFolder(str(tmp_path / "new" / "store"))
    assert again.exists()
    assert again.open() == StoreInfo(
        shards=2, url_policy="standard", versions=VERSIONS, format_version=1
    )
    assert sorted(os.listdir(again.path)) == ["bodies", "lock", "shards", "store.json", "warc"]
    assert again.shard_path(0) == again.path / "shards" / "0000"
    assert again.shard_path(1).is_dir()
    assert again.warc_path.is_dir()
    assert again.bodies_path.is_dir()


def test_the_description_is_a_small_json_object(tmp_path: Path) -> None:
    make(tmp_path / "store")
    assert json.loads((tmp_path / "store" / "store.json").read_text()) == {
        "format_version": 1,
        "shards": 1,
        "url_policy": "standard",
        "versions": VERSIONS,
        "made": True,
    }


def test_a_store_is_made_in_an_empty_folder(tmp_path: Path) -> None:
    assert not StoreFolder(tmp_path).exists()
    assert make(tmp_path).exists()


def test_making_needs_the_lock_and_happens_once(tmp_path: Path) -> None:
    folder = StoreFolder(tmp_path / "store")
    with pytest.raises(StateError, match="lock"):
        folder.create(shards=1, url_policy="standard", versions={})
    assert not folder.path.exists()
    folder.lock(NOW)
    folder.create(shards=1, url_policy="standard", versions={})
    with pytest.raises(StateError, match="holds a store already"):
        folder.create(shards=1, url_policy="standard", versions={})


def test_shards_are_made_before_the_store_is_called_made(tmp_path: Path) -> None:
    folder = StoreFolder(tmp_path / "store")
    folder.lock(NOW)
    seen: list[tuple[str, bool]] = []

    def make_shard(path: Path) -> None:
        seen.append((path.name, folder.exists()))
        LmdbTables.open(path, map_bytes=1 << 20).close()

    folder.create(shards=2, url_policy="standard", versions={}, make_shard=make_shard)
    assert seen == [("0000", False), ("0001", False)]
    for shard in range(2):
        LmdbTables.open(folder.shard_path(shard), map_bytes=1 << 20, create=False).close()


@pytest.mark.parametrize("broken_off_at", ["shard 0", "shard 1", "the end"])
def test_a_making_that_was_broken_off_is_done_anew(
    tmp_path: Path, broken_off_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(BaseException):
        pass

    def make_shard(path: Path) -> None:
        if broken_off_at == f"shard {int(path.name)}":
            raise Crash
        LmdbTables.open(path, map_bytes=1 << 20).close()

    folder = StoreFolder(tmp_path / "store")
    folder.lock(NOW)
    with monkeypatch.context() as patch:
        if broken_off_at == "the end":
            write = StoreFolder._write_json

            def crash_when_made(self: StoreFolder, info: StoreInfo, *, made: bool) -> None:
                if made:
                    raise Crash
                write(self, info, made=made)

            patch.setattr(StoreFolder, "_write_json", crash_when_made)
        with pytest.raises(Crash):
            folder.create(shards=2, url_policy="standard", versions={}, make_shard=make_shard)
    folder.unlock()

    again = StoreFolder(tmp_path / "store")
    assert not again.exists()
    with pytest.raises(StoreMissingError):
        again.open()
    again.lock(NOW)
    again.create(
        shards=1,
        url_policy="aggressive",
        versions={},
        make_shard=lambda path: LmdbTables.open(path, map_bytes=1 << 20).close(),
    )
    assert again.open().url_policy == "aggressive"


@pytest.mark.parametrize("parts", [["lock"], ["lock", "store.json.new"], ["shards/0000/", "warc/"]])
def test_empty_parts_of_a_store_are_no_hindrance(tmp_path: Path, parts: list[str]) -> None:
    for part in parts:
        if part.endswith("/"):
            (tmp_path / part).mkdir(parents=True)
        else:
            (tmp_path / part).write_bytes(b"")
    assert make(tmp_path).exists()


# -- refusals ---------------------------------------------------------------------------------------


def test_no_store(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(StoreMissingError) as error:
            StoreFolder(path).open()
        assert f"mercator crawl SEED --store {path}" in one_line(error)
    assert contents(tmp_path) == {}


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "warc").mkdir()
    before = contents(tmp_path)
    folder = StoreFolder(tmp_path)
    for look in (folder.exists, folder.open, lambda: folder.lock(NOW)):
        with pytest.raises(StoreMissingError) as error:
            look()
        assert "thesis.tex is in it" in one_line(error)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("below", [False, True])
def test_a_path_that_is_a_file(tmp_path: Path, below: bool) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "store" if below else tmp_path / "file"
    for look in (StoreFolder(path).open, lambda: StoreFolder(path).lock(NOW)):
        with pytest.raises(StoreFilesystemError) as error:
            look()
        assert "is a file" in one_line(error)


def test_a_network_file_system(tmp_path: Path) -> None:
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(f"40 22 0:50 / {tmp_path}/net rw - nfs4 server:/export rw\n")
    folder = StoreFolder(tmp_path / "net" / "store", mountinfo=mountinfo)
    for look in (folder.open, lambda: folder.lock(NOW)):
        with pytest.raises(StoreFilesystemError) as error:
            look()
        assert "(nfs4)" in one_line(error)
    assert not (tmp_path / "net").exists()
    StoreFolder(tmp_path / "local", mountinfo=mountinfo).lock(NOW)


def test_a_network_file_system_behind_a_link(tmp_path: Path) -> None:
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(f"40 22 0:50 / {tmp_path}/net rw - nfs4 server:/export rw\n")
    (tmp_path / "net").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "net")
    with pytest.raises(StoreFilesystemError):
        StoreFolder(tmp_path / "link" / "store", mountinfo=mountinfo).lock(NOW)


def test_without_a_table_of_mounts_nothing_is_refused(tmp_path: Path) -> None:
    folder = StoreFolder(tmp_path / "store", mountinfo=tmp_path / "not-linux")
    assert not folder.exists()


def test_another_format_version(tmp_path: Path) -> None:
    path = make(tmp_path / "store").path / "store.json"
    path.write_text(json.dumps({"format_version": 7, "of": "the future"}))
    before = contents(tmp_path)
    again = StoreFolder(tmp_path / "store")
    for look in (again.open, lambda: again.lock(NOW)):
        with pytest.raises(StoreVersionError) as error:
            look()
        assert "format version 7 and this program reads 1" in one_line(error)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "\x00\x00",
        "{}",
        '{"format_version": 1}',
        '{"format_version": 1, "shards": "1", "url_policy": "x", "versions": {}, "made": true}',
        '{"format_version": 1, "shards": true, "url_policy": "x", "versions": {}, "made": true}',
    ],
)
def test_an_illegible_description_is_not_overwritten(tmp_path: Path, text: str) -> None:
    folder = make(tmp_path / "store")
    folder.unlock()
    (folder.path / "store.json").write_text(text)
    before = contents(tmp_path)
    for look in (folder.exists, folder.open, lambda: folder.lock(NOW)):
        with pytest.raises(StoreDamagedError) as error:
            look()
        assert "nothing was overwritten" in one_line(error)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("kept", ["shards/0000/data.mdb", "warc/a.warc.gz", "manifest.json"])
def test_a_description_that_was_lost_is_not_made_anew(tmp_path: Path, kept: str) -> None:
    folder = make(tmp_path / "store")
    folder.unlock()
    (folder.path / kept).write_bytes(b"x")
    (folder.path / "store.json").unlink()
    before = contents(tmp_path)
    for look in (folder.exists, folder.open, lambda: folder.lock(NOW)):
        with pytest.raises(StoreDamagedError) as error:
            look()
        assert "no store.json" in one_line(error)
    assert contents(tmp_path) == before


def test_no_permission(tmp_path: Path, without_rights: WithoutRights) -> None:
    folder = make(tmp_path / "store")
    folder.unlock()
    folder.path.chmod(0)
    try:
        for look in (folder.exists, folder.open, lambda: folder.lock(NOW)):
            with without_rights(), pytest.raises(StorePermissionError) as error:
                look()
            assert "right to read and write" in one_line(error)
    finally:
        folder.path.chmod(0o755)


def test_a_place_that_may_not_be_written(without_rights: WithoutRights) -> None:
    with without_rights(), pytest.raises(StorePermissionError):
        StoreFolder("/only-root-may-make-this").lock(NOW)


def test_a_full_disk_leaves_no_half_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StoreFolder(tmp_path / "store")
    folder.lock(NOW)

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreFullError) as error:
            folder.create(shards=1, url_policy="standard", versions={})
    assert "free some space" in one_line(error)
    assert not folder.exists()
    folder.create(shards=1, url_policy="standard", versions={})
    assert folder.exists()


# -- the lock ---------------------------------------------------------------------------------------


def test_a_store_in_use_by_another_process(tmp_path: Path, start_child: StartChild) -> None:
    make(tmp_path / "store").unlock()
    child = start_child(HOLD, tmp_path / "store")
    folder = StoreFolder(tmp_path / "store")
    with pytest.raises(StoreInUseError) as error:
        folder.lock(NOW)
    text = one_line(error)
    assert error.value.pid == child.pid
    assert f"process {child.pid} on {os.uname().nodename} since 2027-01-15 08:00:00" in text
    assert folder.open().shards == 1  # a reader takes no lock
    child.communicate("")
    assert folder.lock(NOW) is None  # and it was given up


def test_a_store_in_use_by_this_process(tmp_path: Path) -> None:
    first, second = make(tmp_path / "store"), StoreFolder(tmp_path / "store")
    with pytest.raises(StoreInUseError) as error:
        second.lock(NOW)
    assert error.value.pid == os.getpid()
    assert "another Crawl of this process" in one_line(error)
    with pytest.raises(StateError):
        first.lock(NOW)
    first.unlock()
    first.unlock()
    assert second.lock(NOW) is None


def test_a_killed_holder_keeps_nobody_out_and_is_named(
    tmp_path: Path, start_child: StartChild
) -> None:
    make(tmp_path / "store").unlock()
    child = start_child(HOLD, tmp_path / "store")
    child.send_signal(signal.SIGKILL)
    child.wait()
    folder = StoreFolder(tmp_path / "store")
    assert folder.lock(NOW) == LockHolder(child.pid, os.uname().nodename, NOW)
    folder.unlock()
    assert folder.lock(NOW) is None


@pytest.mark.parametrize("text", ["", "4711", "null", '{"pid": "x"}', '{"pid": 1}', "\x00"])
def test_a_lock_file_that_names_nobody(tmp_path: Path, text: str) -> None:
    first = make(tmp_path / "store")
    (first.path / "lock").write_text(text)
    with pytest.raises(StoreInUseError) as error:
        StoreFolder(first.path).lock(NOW)
    assert error.value.pid == 0
    assert "another process" in one_line(error)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of CPython 3.12 on
def test_a_forked_child_cannot_give_the_parents_lock_up(tmp_path: Path) -> None:
    folder = make(tmp_path / "store")
    child = os.fork()
    if child == 0:
        folder.unlock()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(StoreInUseError):
        StoreFolder(tmp_path / "store").lock(NOW)
