"""Every adapter of `Documents` keeps what it was given, whole, and only what was committed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from mercator.config import Compress
from mercator.errors import StateError, StoreDamagedError, StoreFullError
from mercator.ports import Documents
from mercator.store.bodies import FolderDocuments
from mercator.store.documents import WarcDocuments
from mercator.store.prepared import SPOOL_BYTES
from mercator.store.warc import WarcInfo
from mercator.testing import ManualClock
from mercator.values import BodyPlace
from tests.unit.store.disk_faults import DiskFaults
from tests.unit.store.results import fetch_result

BODIES = (b"", b"<p>hello</p>", bytes(range(256)) * 40, b"large " * (SPOOL_BYTES // 6 + 100))


class Open(Protocol):
    """Opens the adapter under test in a store's folder."""

    def __call__(self, position: Mapping[str, object] | None = None) -> Documents:
        """`position` is what the tables hold under "warc"."""


def _warc(folder: Path, compress: Compress, position: Mapping[str, object] | None) -> Documents:
    return WarcDocuments(
        folder,
        shard=0,
        compress=compress,
        info=WarcInfo(software="mercator/0", user_agent="mercator/0"),
        clock=ManualClock(),
        file_bytes=1_000_000,
        position=position,
    )


def _folder(folder: Path, compress: Compress, position: Mapping[str, object] | None) -> Documents:
    return FolderDocuments(folder, shard=0, compress=compress, position=position)


@pytest.fixture(params=["warc-gzip", "warc-none", "folder-gzip", "folder-none"])
def open_documents(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """A way to open each adapter, again and again in one folder; all are closed in the end."""
    kind, compress = request.param.split("-")
    make: Callable[..., Documents] = {"warc": _warc, "folder": _folder}[kind]
    opened: list[Documents] = []

    def open_(position: Mapping[str, object] | None = None) -> Documents:
        opened.append(make(tmp_path, compress, position))
        return opened[-1]

    yield open_
    for documents in opened:
        documents.close()


def sha(content: bytes) -> bytes:
    """The digest that a body is read by."""
    return hashlib.sha256(content).digest()


def put(documents: Documents, content: bytes, **fields: Any) -> BodyPlace:
    """Appends an answer with that body."""
    prepared = documents.prepare(fetch_result(content, **fields))
    place = documents.append(prepared)
    prepared.close()
    prepared.close()
    return place


def names(folder: Path) -> set[str]:
    """Every file in the store's folder with its size."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {f"{path.relative_to(folder)}:{path.stat().st_size}" for path in files}


def test_what_was_appended_is_read_back(open_documents: Open) -> None:
    documents = open_documents()
    places = [put(documents, content) for content in BODIES]
    position = documents.sync()
    for content, place in zip(BODIES, places, strict=True):
        assert documents.read(place, sha(content)) == content
    again = open_documents(position)
    for content, place in zip(BODIES, places, strict=True):
        assert again.read(place, sha(content)) == content


def test_what_was_synced_stays_and_what_was_not_is_gone(
    open_documents: Open, tmp_path: Path
) -> None:
    documents = open_documents()
    kept = put(documents, b"kept")
    position = documents.sync()
    whole = names(tmp_path)
    lost = put(documents, b"lost")
    assert names(tmp_path) != whole
    documents.close()
    again = open_documents(position)
    assert names(tmp_path) == whole
    assert again.read(kept, sha(b"kept")) == b"kept"
    with pytest.raises(StoreDamagedError):
        again.read(lost, sha(b"lost"))
    assert again.sync() == position


def test_a_new_store_starts_with_nothing_of_a_run_that_never_committed(
    open_documents: Open, tmp_path: Path
) -> None:
    documents = open_documents()
    put(documents, b"lost")
    documents.close()
    open_documents()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if path.name.endswith((".warc", ".warc.gz"))]
    assert not [path for path in files if path.is_relative_to(tmp_path / "bodies")]


def test_rollback_leaves_what_was_committed(open_documents: Open, tmp_path: Path) -> None:
    documents = open_documents()
    kept = put(documents, b"kept")
    committed = documents.sync()
    whole = names(tmp_path)
    put(documents, b"lost")
    documents.rollback(committed)
    assert names(tmp_path) == whole
    new = put(documents, b"new")
    documents.sync()
    assert documents.read(kept, sha(b"kept")) == b"kept"
    assert documents.read(new, sha(b"new")) == b"new"


def test_rollback_without_a_position_never_takes_what_a_later_group_shows_committed(
    open_documents: Open,
) -> None:
    documents = open_documents()
    kept = put(documents, b"kept")
    documents.sync()
    put(documents, b"lost")
    documents.rollback(None)
    assert documents.read(kept, sha(b"kept")) == b"kept"


def test_sync_without_anything_new_gives_the_same_position(open_documents: Open) -> None:
    documents = open_documents()
    assert documents.sync() == documents.sync()
    put(documents, b"one")
    assert documents.sync() == documents.sync()


def test_a_body_of_another_digest_is_refused(open_documents: Open) -> None:
    documents = open_documents()
    place = put(documents, b"one")
    documents.sync()
    with pytest.raises(StoreDamagedError, match=r"check DIR --repair"):
        documents.read(place, sha(b"two"))


@pytest.mark.parametrize("fault", ["pwrite", "short pwrite", "fdatasync", "fsync of a folder"])
def test_a_full_disk_is_told_and_rollback_mends(
    open_documents: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    documents = open_documents()
    committed = documents.sync()
    with pytest.raises(StoreFullError, match="free some space"):
        DiskFaults(monkeypatch).during(fault, lambda: _put_and_sync(documents, b"lost"))
    documents.rollback(committed)
    if not (isinstance(documents, FolderDocuments) and fault == "fsync of a folder"):
        assert not names(tmp_path), "only a body that has its name already may stay"
    new = put(documents, b"new")
    documents.sync()
    assert documents.read(new, sha(b"new")) == b"new"


@pytest.mark.parametrize("fault", ["pwrite", "short pwrite"])
def test_what_was_appended_before_the_disk_was_full_can_still_be_committed(
    open_documents: Open, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    documents = open_documents()
    kept = put(documents, b"kept")
    with pytest.raises(StoreFullError):
        DiskFaults(monkeypatch).during(fault, lambda: put(documents, b"lost"))
    more = put(documents, b"more")
    again = open_documents(documents.sync())
    assert again.read(kept, sha(b"kept")) == b"kept"
    assert again.read(more, sha(b"more")) == b"more"


def test_after_a_failed_sync_nothing_goes_on_before_rollback(
    open_documents: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = open_documents()
    committed = documents.sync()
    put(documents, b"one")
    with pytest.raises(StoreFullError):
        DiskFaults(monkeypatch).during("fdatasync", documents.sync)
    with pytest.raises(StateError):
        documents.sync()
    with pytest.raises(StateError):
        put(documents, b"two")
    documents.rollback(committed)
    put(documents, b"two")
    documents.sync()


def test_a_temporary_file_that_does_not_fit_is_a_full_store(
    open_documents: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    documents = open_documents()
    before = names(tmp_path)
    result = fetch_result(BODIES[-1])
    with pytest.raises(StoreFullError):
        DiskFaults(monkeypatch).during("temporary file", lambda: documents.prepare(result))
    assert names(tmp_path) == before


def test_bodies_written_under_the_other_settings_stay_readable(tmp_path: Path) -> None:
    """A store may be continued with --no-warc, without compression, and back."""
    position: Mapping[str, object] | None = None
    places: dict[bytes, BodyPlace] = {}
    settings: list[tuple[Callable[..., Documents], Compress]] = [
        (_warc, "gzip"),
        (_folder, "gzip"),
        (_warc, "none"),
        (_folder, "none"),
        (_warc, "gzip"),
    ]
    for number, (make, compress) in enumerate(settings):
        documents = make(tmp_path, compress, position)
        content = b"body %d" % number
        places[content] = put(documents, content)
        position = documents.sync()
        for body, place in places.items():
            assert documents.read(place, sha(body)) == body
        documents.close()
    warcs = sorted(path.name for path in (tmp_path / "warc").iterdir())
    assert warcs == [
        "mercator-0000-00000000.warc.gz",
        "mercator-0000-00000001.warc",
        "mercator-0000-00000002.warc.gz",
    ]


def _put_and_sync(documents: Documents, content: bytes) -> None:
    put(documents, content)
    documents.sync()
