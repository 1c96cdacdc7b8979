"""WARC files: names, rolling, the cut back at opening; bodies as single files."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from mercator.errors import (
    StoreDamagedError,
    StoreError,
    StoreFilesystemError,
    StoreFullError,
    StorePermissionError,
)
from mercator.store.bodies import MAX_OPEN_PARTS, FolderDocuments
from mercator.store.documents import WarcDocuments
from mercator.store.prepared import SPOOL_BYTES
from mercator.store.stored_bodies import StoredBodies
from mercator.store.warc import WarcInfo
from mercator.store.warc_files import WarcPosition
from mercator.testing import ManualClock
from mercator.values import BodyPlace
from tests.unit.store.disk_faults import DiskFaults
from tests.unit.store.results import fetch_result


def warc_documents(folder: Path, position: Any = None, **fields: Any) -> WarcDocuments:
    """An opened adapter with settings that a test may replace."""
    settings: dict[str, Any] = {
        "shard": 0,
        "compress": "gzip",
        "info": WarcInfo(software="mercator/0", user_agent="mercator/0"),
        "clock": ManualClock(),
        "file_bytes": 1_000_000,
    }
    return WarcDocuments(folder, position=position, **{**settings, **fields})


def folder_documents(folder: Path, position: Any = None, **fields: Any) -> FolderDocuments:
    """An opened adapter with settings that a test may replace."""
    settings: dict[str, Any] = {"shard": 0, "compress": "gzip"}
    return FolderDocuments(folder, position=position, **{**settings, **fields})


def put(documents: WarcDocuments | FolderDocuments, content: bytes) -> BodyPlace:
    """Appends an answer with that body."""
    prepared = documents.prepare(fetch_result(content))
    try:
        return documents.append(prepared)
    finally:
        prepared.close()


def sha(content: bytes) -> bytes:
    """The digest that a body is read by."""
    return hashlib.sha256(content).digest()


def noise(size: int, salt: bytes = b"") -> bytes:
    """Bytes that do not compress."""
    blocks = (hashlib.sha256(salt + b"%d" % i).digest() for i in range(size // 32 + 1))
    return b"".join(blocks)[:size]


def kinds(path: Path) -> list[str]:
    """The record types of a file, as warcio reads them; digests are checked."""
    found = []
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            record.content_stream().read()
            found.append(record.rec_type)
    return found


def sizes(folder: Path) -> dict[str, int]:
    """The files of a folder."""
    return {path.name: path.stat().st_size for path in folder.iterdir()}


# -- files ---------------------------------------------------------------------------------------


def test_every_file_begins_with_warcinfo_and_holds_whole_captures(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path, file_bytes=7_000)
    places = [put(documents, noise(2_000, b"%d" % i)) for i in range(5)]
    position = documents.sync()
    files = sorted((tmp_path / "warc").iterdir())
    assert [path.name for path in files] == [
        "mercator-0000-00000000.warc.gz",
        "mercator-0000-00000001.warc.gz",
        "mercator-0000-00000002.warc.gz",
    ]
    assert [kinds(path) for path in files] == [
        ["warcinfo", *(["response", "request"] * captures)] for captures in (2, 2, 1)
    ]
    assert all(path.stat().st_size <= 7_000 for path in files)
    assert position == {"file": files[-1].name, "offset": files[-1].stat().st_size, "sequence": 2}
    assert [int(place.warc_file[14:22]) for place in places] == [0, 0, 1, 1, 2]


def test_a_capture_larger_than_a_file_has_one_of_its_own(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path, file_bytes=2_000)
    for _ in range(2):
        put(documents, noise(4_000))
    assert [kinds(path) for path in sorted((tmp_path / "warc").iterdir())] == [
        ["warcinfo", "response", "request"]
    ] * 2


def test_a_later_run_goes_on_with_the_file_under_its_own_warcinfo(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path)
    put(documents, b"one")
    position = documents.sync()
    documents.close()
    documents = warc_documents(tmp_path, position)
    assert documents.sync() == position, "a run that stores nothing leaves nothing"
    put(documents, b"two")
    put(documents, b"three")
    (path,) = (tmp_path / "warc").iterdir()
    assert kinds(path) == [
        *("warcinfo", "response", "request"),
        *("warcinfo", "response", "request", "response", "request"),
    ]


def test_a_later_run_begins_a_new_file_when_the_last_one_is_full_or_of_another_kind(
    tmp_path: Path,
) -> None:
    documents = warc_documents(tmp_path, file_bytes=3_000)
    put(documents, noise(2_000))
    position = documents.sync()
    documents.close()
    documents = warc_documents(tmp_path, position, file_bytes=3_000)
    put(documents, noise(2_000))
    position = documents.sync()
    documents.close()
    documents = warc_documents(tmp_path, position, compress="none")
    put(documents, b"three")
    assert sorted(sizes(tmp_path / "warc")) == [
        "mercator-0000-00000000.warc.gz",
        "mercator-0000-00000001.warc.gz",
        "mercator-0000-00000002.warc",
    ]


def test_the_place_is_that_of_the_response_record(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path)
    put(documents, b"one")
    place = put(documents, b"two")
    with (tmp_path / "warc" / place.warc_file).open("rb") as stream:
        stream.seek(place.warc_offset)
        record = next(iter(ArchiveIterator(stream)))
        assert (record.rec_type, record.content_stream().read()) == ("response", b"two")


def test_warcio_check_finds_nothing(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path)
    for content in (b"", b"x", noise(SPOOL_BYTES + 1)):
        put(documents, content)
    (path,) = (tmp_path / "warc").iterdir()
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("digest pass") == 7


# -- opening -------------------------------------------------------------------------------------


def test_opening_cuts_the_last_file_and_removes_later_ones(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path, file_bytes=6_000)
    put(documents, noise(1_000))
    position = documents.sync()
    committed = sizes(tmp_path / "warc")
    for _ in range(12):
        put(documents, noise(1_000))
    documents.close()
    assert len(sizes(tmp_path / "warc")) > 2
    warc_documents(tmp_path, position)
    assert sizes(tmp_path / "warc") == committed


def test_files_of_other_shards_and_names_are_never_touched(tmp_path: Path) -> None:
    warc = tmp_path / "warc"
    warc.mkdir()
    others = [
        "mercator-0001-00000007.warc.gz",
        "mercator-0000-00000007.warc.gz.bak",
        "other-0000-00000007.warc.gz",
        "notes.txt",
    ]
    for name in others:
        (warc / name).write_bytes(b"theirs")
    put(warc_documents(tmp_path), b"lost")
    warc_documents(tmp_path, {"file": "", "offset": 0, "sequence": 0})
    assert sizes(warc) == dict.fromkeys(others, 6)


@pytest.mark.parametrize("missing", [True, False])
def test_a_file_that_does_not_reach_the_position_stops_everything(
    tmp_path: Path, missing: bool
) -> None:
    documents = warc_documents(tmp_path, file_bytes=3_000)
    put(documents, noise(2_000))
    position = documents.sync()
    put(documents, noise(2_000))
    documents.close()
    first, _ = sorted((tmp_path / "warc").iterdir())
    if missing:
        first.unlink()
    else:
        os.truncate(first, 100)
    before = sizes(tmp_path / "warc")
    for open_again in (warc_documents, folder_documents):
        with pytest.raises(StoreDamagedError) as caught:
            open_again(tmp_path, position)
        assert first.name in str(caught.value)
        assert "check DIR --repair" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert sizes(tmp_path / "warc") == before


def test_files_that_no_tables_know_are_set_aside_not_removed(tmp_path: Path) -> None:
    for number in range(3):
        documents = warc_documents(tmp_path)
        put(documents, b"%d" % number)
        documents.sync()
        documents.close()
    assert sorted(sizes(tmp_path / "warc")) == [
        "mercator-0000-00000000.warc.gz",
        "mercator-0000-00000000.warc.gz.unnamed",
        "mercator-0000-00000000.warc.gz.unnamed-2",
    ]


@pytest.mark.parametrize(
    "row",
    [
        "text",
        {},
        {"file": "mercator-0000-00000000.warc.gz", "offset": -1, "sequence": 0},
        {"file": "mercator-0000-00000000.warc.gz", "offset": 0, "sequence": 1},
        {"file": "mercator-0001-00000000.warc.gz", "offset": 0, "sequence": 0},
        {"file": "../mercator-0000-00000000.warc.gz", "offset": 0, "sequence": 0},
        {"file": "", "offset": True, "sequence": 0},
    ],
)
def test_a_position_that_cannot_be_is_refused(row: object) -> None:
    with pytest.raises(StoreDamagedError, match="cannot be read"):
        WarcPosition.from_row(row, 0)


def test_a_commit_that_failed_first_of_all_leaves_nothing(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path)
    put(documents, b"one")
    documents.sync()
    documents.rollback(None)
    assert not sizes(tmp_path / "warc")
    put(documents, b"one")
    assert documents.sync()["sequence"] == 0


def test_rollback_goes_back_over_files(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path, file_bytes=3_000)
    put(documents, noise(2_000))
    committed = documents.sync()
    whole = sizes(tmp_path / "warc")
    for _ in range(3):
        put(documents, noise(2_000))
        documents.sync()
    documents.rollback(committed)
    assert sizes(tmp_path / "warc") == whole
    put(documents, noise(2_000))
    assert documents.sync()["sequence"] == 1


# -- the disk says no ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (errno.ENOSPC, StoreFullError),
        (errno.EDQUOT, StoreFullError),
        (errno.EFBIG, StoreFullError),
        (errno.EACCES, StorePermissionError),
        (errno.EROFS, StorePermissionError),
        (errno.EIO, StoreError),
    ],
)
def test_each_word_of_the_disk_has_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, error: type[StoreError]
) -> None:
    documents = warc_documents(tmp_path)
    with pytest.raises(error) as caught:
        DiskFaults(monkeypatch).during("pwrite", lambda: put(documents, b"one"), code)
    assert type(caught.value) is error
    assert isinstance(caught.value.__cause__, OSError)
    assert "mercator-0000-00000000.warc.gz" in str(caught.value)


def test_a_file_that_could_not_be_begun_does_not_stand_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = warc_documents(tmp_path, file_bytes=3_000)
    kept = put(documents, noise(2_000))
    with pytest.raises(StoreFullError):
        DiskFaults(monkeypatch).during("short pwrite", lambda: put(documents, noise(2_000)))
    assert len(sizes(tmp_path / "warc")) == 1
    assert documents.sync() == {
        "file": kept.warc_file,
        "offset": (tmp_path / "warc" / kept.warc_file).stat().st_size,
        "sequence": 0,
    }
    place = put(documents, noise(2_000))
    assert place.warc_file == "mercator-0000-00000001.warc.gz"
    assert documents.read(place, sha(noise(2_000))) == noise(2_000)


def test_a_record_that_did_not_fit_leaves_nothing_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = warc_documents(tmp_path)
    put(documents, noise(2_000))
    whole = sizes(tmp_path / "warc")
    with pytest.raises(StoreFullError):
        DiskFaults(monkeypatch).during("short pwrite", lambda: put(documents, noise(2_000)))
    assert sizes(tmp_path / "warc") == whole
    assert documents.sync()["offset"] in whole.values()


def test_a_short_write_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: whole_write(fd, data[:100], at))
    documents = warc_documents(tmp_path)
    place = put(documents, noise(2_000))
    assert documents.read(place, sha(noise(2_000))) == noise(2_000)


def test_a_write_that_makes_no_way_is_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = warc_documents(tmp_path)
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: 0)
    with pytest.raises(StoreFullError):
        put(documents, b"one")


def test_another_program_in_the_folder_is_told_of(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path)
    (tmp_path / "warc" / "mercator-0000-00000000.warc.gz").write_bytes(b"theirs")
    with pytest.raises(StoreDamagedError, match="another program"):
        put(documents, b"one")
    assert (tmp_path / "warc" / "mercator-0000-00000000.warc.gz").read_bytes() == b"theirs"


@pytest.mark.parametrize("name", ["warc", "bodies"])
def test_a_file_where_a_folder_should_be(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    open_ = warc_documents if name == "warc" else folder_documents
    with pytest.raises(StoreFilesystemError, match="is no folder"):
        open_(tmp_path)


# -- reading -------------------------------------------------------------------------------------


def _response_end(content: bytes, offset: int) -> int:
    """Where the record at `offset` ends."""
    if not content.startswith(b"\x1f\x8b"):
        return content.index(b"WARC/1.1", offset + 1)
    unpacker = zlib.decompressobj(31)
    unpacker.decompress(content[offset:])
    return len(content) - len(unpacker.unused_data)


def _flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes((content[at] ^ 0x55,)) + content[at + 1 :]


@pytest.mark.parametrize("compress", ["gzip", "none"])
def test_no_flipped_byte_of_a_response_goes_unseen(tmp_path: Path, compress: str) -> None:
    documents = warc_documents(tmp_path, compress=compress)
    place = put(documents, b"<p>hello, hello</p>")
    path = tmp_path / "warc" / place.warc_file
    content = path.read_bytes()
    request_at = _response_end(content, place.warc_offset)
    unseen = []
    for at in range(place.warc_offset, request_at):
        path.write_bytes(_flip(content, at))
        try:
            body = documents.read(place, sha(b"<p>hello, hello</p>"))
        except StoreDamagedError:
            continue
        # What is damaged is not the body: a digit of a date, the gzip header's time.
        assert body == b"<p>hello, hello</p>"
        unseen.append(at)
    assert len(unseen) < request_at - place.warc_offset
    if compress == "gzip":
        assert all(at < place.warc_offset + 10 for at in unseen), "only gzip's own header"


@pytest.mark.parametrize("compress", ["gzip", "none"])
def test_no_cut_of_a_response_goes_unseen(tmp_path: Path, compress: str) -> None:
    documents = warc_documents(tmp_path, compress=compress)
    place = put(documents, b"hello")
    path = tmp_path / "warc" / place.warc_file
    whole = path.read_bytes()
    end = _response_end(whole, place.warc_offset)
    for size in range(place.warc_offset, end):
        path.write_bytes(whole[:size])
        with pytest.raises(StoreDamagedError, match="check DIR --repair"):
            documents.read(place, sha(b"hello"))


def test_places_that_are_no_response_are_refused(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path, compress="none")
    place = put(documents, b"hello")
    path = tmp_path / "warc" / place.warc_file
    request_at = path.read_bytes().index(b"WARC/1.1", place.warc_offset + 1)
    for offset in (0, place.warc_offset + 1, request_at, path.stat().st_size, 10**9):
        with pytest.raises(StoreDamagedError):
            documents.read(place._replace(warc_offset=offset), sha(b"hello"))


@pytest.mark.parametrize("file", ["../secret.warc", "/etc/passwd", "a/b.warc", "passwd", ".warc"])
def test_a_damaged_row_cannot_make_other_files_be_read(tmp_path: Path, file: str) -> None:
    (tmp_path / "secret.warc").write_bytes(b"")
    stored = StoredBodies(tmp_path)
    with pytest.raises(StoreDamagedError, match="no name of a WARC file"):
        stored.read(BodyPlace(file, 0), sha(b""))
    assert "no name of a WARC file" in str(stored.why_absent(BodyPlace(file, 0), sha(b"")))


def test_the_quick_look_tells_what_it_can(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path)
    place = put(documents, b"one")
    stored = documents.stored
    assert stored.why_absent(place, sha(b"one")) is None
    assert "ends before" in str(stored.why_absent(place._replace(warc_offset=10**6), b""))
    missing = BodyPlace("mercator-0000-00000009.warc", 0)
    assert "No such file" in str(stored.why_absent(missing, b""))
    assert "missing" in str(stored.why_absent(BodyPlace("", 0), sha(b"one")))


# -- bodies as files -------------------------------------------------------------------------------


@pytest.mark.parametrize("compress", ["gzip", "none"])
def test_a_body_lies_under_its_digest(tmp_path: Path, compress: str) -> None:
    documents = folder_documents(tmp_path, compress=compress)
    assert put(documents, b"hello") == BodyPlace("", 0)
    name = sha(b"hello").hex()
    path = tmp_path / "bodies" / name[:2] / (name + (".gz" if compress == "gzip" else ""))
    assert not path.exists(), "a name is given when the body is durable"
    documents.sync()
    content = path.read_bytes()
    assert (gzip.decompress(content) if compress == "gzip" else content) == b"hello"
    assert list(documents.stored.body_files()) == [
        (str(path.relative_to(tmp_path / "bodies")), sha(b"hello"))
    ]


def test_a_body_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    documents = folder_documents(tmp_path)
    put(documents, b"hello")
    put(documents, b"hello")
    documents.sync()
    (path,) = (path for path in (tmp_path / "bodies").rglob("*") if path.is_file())
    number = path.stat().st_ino
    documents.close()
    again = folder_documents(tmp_path, compress="none")
    put(again, b"hello")
    again.sync()
    (path,) = (path for path in (tmp_path / "bodies").rglob("*") if path.is_file())
    assert path.stat().st_ino == number


def test_more_bodies_than_files_may_be_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = folder_documents(tmp_path)
    count = 2 * MAX_OPEN_PARTS + 3
    open_files = _open_files()
    for number in range(count):
        put(documents, b"%d" % number)
    assert _open_files() - open_files <= MAX_OPEN_PARTS
    documents.sync()
    assert _open_files() == open_files
    assert len(list(documents.stored.body_files())) == count
    assert all(documents.read(BodyPlace("", 0), sha(b"%d" % n)) == b"%d" % n for n in range(count))


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_names_are_given_after_the_data_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    _log_calls(monkeypatch, done)
    documents = folder_documents(tmp_path)
    put(documents, b"hello")
    done.clear()
    documents.sync()
    name = sha(b"hello").hex()
    assert done == ["data", "folder bodies", f"name {name}.gz", f"folder {name[:2]}"]
    done.clear()
    put(documents, b"hello")
    documents.sync()
    assert done == [f"folder {name[:2]}"], "a name that an earlier run gave is made durable"


def test_a_new_file_s_data_is_durable_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = warc_documents(tmp_path, file_bytes=3_000)
    done: list[str] = []
    _log_calls(monkeypatch, done)
    put(documents, noise(2_000))
    assert done == []
    documents.sync()
    assert done == ["data", "folder warc"]
    put(documents, noise(2_000))
    put(documents, noise(2_000))
    assert done == ["data", "folder warc"] * 2, "a full file is durable before the next begins"
    documents.sync()
    assert done == ["data", "folder warc"] * 3
    documents.sync()
    assert done == ["data", "folder warc"] * 3


def _log_calls(monkeypatch: pytest.MonkeyPatch, done: list[str]) -> None:
    """Writes down what is made durable, and which names are given."""
    replace = os.replace

    def log_replace(source: Path, target: Path) -> None:
        done.append(f"name {target.name}")
        replace(source, target)

    def log_folder(folder: Path) -> None:
        done.append(f"folder {folder.name}")

    for module in ("bodies", "documents"):
        monkeypatch.setattr(f"mercator.store.{module}.sync_data", lambda fd: done.append("data"))
    for module in ("bodies", "documents", "disk"):
        monkeypatch.setattr(f"mercator.store.{module}.sync_folder", log_folder)
    monkeypatch.setattr(os, "replace", log_replace)


def test_parts_of_other_shards_are_never_touched(tmp_path: Path) -> None:
    put(folder_documents(tmp_path, shard=1), b"theirs")
    put(folder_documents(tmp_path, shard=0), b"ours")
    folder_documents(tmp_path, shard=0)
    assert [name[:5] for name in os.listdir(tmp_path / "bodies" / "part")] == ["0001-"]


@pytest.mark.parametrize("damage", [b"", b"\x1f\x8b", b"not gzip", None])
def test_a_damaged_body_file_is_told_of_and_can_be_set_aside(
    tmp_path: Path, damage: bytes | None
) -> None:
    documents = folder_documents(tmp_path)
    put(documents, b"hello")
    documents.sync()
    (path,) = (path for path in (tmp_path / "bodies").rglob("*") if path.is_file())
    whole = path.read_bytes()
    path.write_bytes(whole[:-3] if damage is None else damage)
    with pytest.raises(StoreDamagedError, match="check DIR --repair"):
        documents.read(BodyPlace("", 0), sha(b"hello"))
    documents.stored.set_aside(sha(b"hello"))
    put(documents, b"hello")
    documents.sync()
    assert path.read_bytes() == whole
    assert path.with_name(path.name + ".damaged").exists()


def test_a_run_without_warc_hands_the_position_on(tmp_path: Path) -> None:
    documents = warc_documents(tmp_path)
    place = put(documents, b"one")
    position: Mapping[str, object] = documents.sync()
    put(documents, b"lost")
    documents.close()
    folder = folder_documents(tmp_path, position)
    put(folder, b"two")
    assert folder.sync() == position
    assert sizes(tmp_path / "warc") == {place.warc_file: position["offset"]}
    assert folder.read(place, sha(b"one")) == b"one"
