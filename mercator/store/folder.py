"""The store's folder, `DIR` of the interface, section 8: what lies where, and who may open it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercator.errors import (
    StateError,
    StoreDamagedError,
    StoreFilesystemError,
    StoreMissingError,
)
from mercator.store.disk import disk_error, make_folder, sync_folder
from mercator.store.folder_lock import FolderLock, LockHolder
from mercator.store.mount import MOUNTINFO, network_file_system
from mercator.store.tables import FORMAT_VERSION, version_error

_FOLDERS = frozenset({"shards", "warc", "bodies"})
_MANIFEST = frozenset({"manifest.json", "manifest.json.new", "manifest.json.damaged"})
_PARTS = _FOLDERS | _MANIFEST | {"lock", "store.json", "store.json.new"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """What `store.json` says: all that is fixed when a store is made.

    `versions` holds what the caller named, such as the Mercator and the URL lists that made it.
    Threads: immutable (`versions` must not be written).
    """

    shards: int
    url_policy: str
    versions: Mapping[str, str]
    format_version: int = FORMAT_VERSION


class StoreFolder:
    """One store's folder. Nothing is touched before `lock`, and nothing of another's ever.

    `store.json` is written twice when a store is made: first as "not made", last as what it is. So a
    crash in between leaves what is known to be empty, and a folder with tables and without a
    `store.json` is known to have lost it.

    Threads: confined to the thread that opens and closes the store.
    """

    def __init__(self, path: str | Path, *, mountinfo: Path = MOUNTINFO) -> None:
        self.path = Path(path)
        self.warc_path = self.path / "warc"
        self.bodies_path = self.path / "bodies"
        self._json_path = self.path / "store.json"
        self._mountinfo = mountinfo
        self._lock = FolderLock(self.path / "lock")

    def shard_path(self, shard: int) -> Path:
        """The folder of a shard's LMDB environment."""
        return self.path / "shards" / f"{shard:04d}"

    def exists(self) -> bool:
        """Whether there is a store to open; False where one can be made: nothing there, an empty
        folder, or one in which the making was broken off.

        Raises StoreFilesystemError (no folder, or on a network), StoreMissingError (a folder with
        other things in it), StoreDamagedError (parts of a store without a legible store.json),
        StorePermissionError.
        """
        self._check_place()
        try:
            names = set(os.listdir(self.path))
        except FileNotFoundError:
            return False
        except NotADirectoryError as error:
            raise StoreFilesystemError(
                f"{self.path} is a file, or lies below one; give the path of a folder"
            ) from error
        except OSError as error:
            raise disk_error(error, self.path) from error
        if "store.json" in names:
            return bool(self._read_json()["made"])
        if not names <= _PARTS:
            raise StoreMissingError(
                f"{self.path} is no store and is not empty ({min(names - _PARTS)} is in it); "
                f"give the path of a store, or of a new folder"
            )
        if "manifest.json" in names or any(self._holds_files(name) for name in names & _FOLDERS):
            raise StoreDamagedError(
                f"{self.path} has parts of a store but no store.json; restore that file from a "
                f"copy, or crawl into a new folder; nothing was overwritten"
            )
        return False

    def lock(self, unix_s: float) -> LockHolder | None:
        """Takes the store for writing, making the folder if need be. `unix_s` is the time now, for
        the error that another gets. Gives the last holder if it was killed, else None.

        Raises StoreInUseError (with the process id) and what `exists` raises.
        """
        self.exists()
        make_folder(self.path)
        return self._lock.acquire(unix_s)

    def unlock(self) -> None:
        """Gives the store up; nothing when it is not locked."""
        self._lock.release()

    def create(
        self,
        *,
        shards: int,
        url_policy: str,
        versions: Mapping[str, str],
        make_shard: Callable[[Path], object] | None = None,
    ) -> StoreInfo:
        """Makes the store in a locked folder: parts, then shards, and `store.json` last.

        `make_shard` makes the tables in a shard's folder. With it, tables that are missing later
        are known to be lost (open them with `create=False`).

        Raises StateError when the folder is not locked or holds a store, and the errors of a disk.
        """
        if not self._lock.held:
            raise StateError(f"lock {self.path} before making a store in it")
        if self.exists():
            raise StateError(f"{self.path} holds a store already")
        info = StoreInfo(shards=shards, url_policy=url_policy, versions=dict(versions))
        self._write_json(info, made=False)
        make_folder(self.warc_path)
        make_folder(self.bodies_path)
        for shard in range(shards):
            make_folder(self.shard_path(shard))
            if make_shard is not None:
                make_shard(self.shard_path(shard))
        self._write_json(info, made=True)
        return info

    def open(self) -> StoreInfo:
        """Reads `store.json`; writes nothing and needs no lock.

        Raises StoreMissingError, StoreVersionError, and what `exists` raises.
        """
        if not self.exists():
            raise StoreMissingError(
                f"there is no store at {self.path}; give the path of one, or make it with "
                f"`mercator crawl SEED --store {self.path}`"
            )
        fields = self._read_json()
        return StoreInfo(
            shards=fields["shards"],
            url_policy=fields["url_policy"],
            versions=fields["versions"],
            format_version=fields["format_version"],
        )

    def _check_place(self) -> None:
        try:
            mountinfo = self._mountinfo.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return  # not Linux, or /proc is hidden: nothing is known, so nothing is refused
        kind = network_file_system(self.path.resolve(), mountinfo)
        if kind is not None:
            raise StoreFilesystemError(
                f"{self.path} lies on a network file system ({kind}), where LMDB would be damaged; "
                f"give a path on a local disk"
            )

    def _holds_files(self, name: str) -> bool:
        try:
            return any(files for _, _, files in os.walk(self.path / name, onerror=_raise))
        except OSError as error:
            raise disk_error(error, self.path / name) from error

    def _read_json(self) -> dict[str, Any]:
        """The fields of `store.json`, of the types that `StoreInfo` names."""
        try:
            fields: dict[str, Any] = json.loads(self._json_path.read_bytes())
            version = fields["format_version"]
        except OSError as error:
            raise disk_error(error, self._json_path) from error
        except (ValueError, KeyError, TypeError) as error:
            raise self._illegible() from error
        if version != FORMAT_VERSION:
            raise version_error(self.path, version)
        types = {"shards": int, "url_policy": str, "versions": dict, "made": bool}
        if not all(type(fields.get(name)) is type_ for name, type_ in types.items()):
            raise self._illegible()
        return fields

    def _illegible(self) -> StoreDamagedError:
        return StoreDamagedError(
            f"{self._json_path} cannot be read; restore it from a copy, or crawl into a new "
            f"folder; nothing was overwritten"
        )

    def _write_json(self, info: StoreInfo, *, made: bool) -> None:
        """Whole or not at all: a new file, synced, put in the old one's place, the folder synced."""
        fields = {
            "format_version": info.format_version,
            "shards": info.shards,
            "url_policy": info.url_policy,
            "versions": dict(info.versions),
            "made": made,
        }
        new_path = self.path / "store.json.new"
        try:
            with open(new_path, "w", encoding="utf-8") as new:
                json.dump(fields, new, indent=2)
                new.write("\n")
                new.flush()
                os.fsync(new.fileno())
            os.replace(new_path, self._json_path)
            sync_folder(self.path)
        except OSError as error:
            raise disk_error(error, self._json_path) from error


def _raise(error: OSError) -> None:
    raise error
