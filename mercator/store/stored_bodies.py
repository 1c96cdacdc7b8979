"""The one door through which stored bodies are read, whichever setting they were written under.

DIR/warc/FILE at OFFSET           a response record          BodyPlace(FILE, OFFSET)
DIR/bodies/ab/abcdef...[.gz]      a body, named by SHA-256   BodyPlace("", 0)
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from mercator.config import Compress
from mercator.errors import StoreDamagedError
from mercator.store.disk import disk_error
from mercator.store.warc_files import is_packed, is_warc_name
from mercator.store.warc_reader import RecordDamagedError, response_body
from mercator.values import BodyPlace

BODY_SUFFIXES: dict[Compress, str] = {"gzip": ".gz", "none": ""}
PART_FOLDER = "part"
DAMAGED = ".damaged"

_MEND = "; `mercator check DIR --repair` lets it be fetched again"


def body_path(bodies: Path, sha256: bytes, compress: Compress) -> Path:
    """Where a body lies in `DIR/bodies`."""
    name = sha256.hex()
    return bodies / name[:2] / (name + BODY_SUFFIXES[compress])


class StoredBodies:
    """The bodies of a store, read only. Threads: safe from any thread (no state but the path)."""

    def __init__(self, folder: Path) -> None:
        self.warc = folder / "warc"
        self.bodies = folder / "bodies"

    def read(self, place: BodyPlace, sha256: bytes) -> bytes:
        """The decompressed body at `place`, its digest checked.

        Raises StoreDamagedError when it is not there, not whole or another one. Reads and unpacks
        that record or file only.
        """
        body = self._read_warc(place) if place.warc_file else self._read_file(sha256)
        if hashlib.sha256(body).digest() != sha256:
            raise StoreDamagedError(
                f"the body at {self._name(place, sha256)} is not the one that was stored: "
                f"its SHA-256 is another{_MEND}"
            )
        return body

    def why_absent(self, place: BodyPlace, sha256: bytes) -> str | None:
        """A quick look, without reading the body: what is wrong with the place, or None."""
        if not place.warc_file:
            if self._body_file(sha256) is None:
                return f"{body_path(self.bodies, sha256, 'none')}[.gz] is missing"
            return None
        if not is_warc_name(place.warc_file):
            return f"{place.warc_file!r} is no name of a WARC file"
        try:
            size = os.stat(self.warc / place.warc_file).st_size
        except OSError as error:
            return f"{self.warc / place.warc_file}: {error.strerror}"
        if not 0 <= place.warc_offset < size:
            return f"{self.warc / place.warc_file} ends before {place.warc_offset}"
        return None

    def body_files(self) -> Iterator[tuple[str, bytes | None]]:
        """Files in `bodies/` as (path below it, SHA-256 of the name; None for other names).

        In no order, 256 folders one after another; `part/` (files being written) is left out.
        """
        for folder in _listed(self.bodies):
            if folder == PART_FOLDER:
                continue
            if not (self.bodies / folder).is_dir():
                yield folder, None
                continue
            for name in _listed(self.bodies / folder):
                yield f"{folder}/{name}", _digest_of(folder, name)

    def warc_names(self) -> list[str]:
        """All names in `warc/`, sorted."""
        return _listed(self.warc)

    def set_aside(self, sha256: bytes) -> None:
        """Renames a body file whose content is wrong, so that the next fetch may write it anew."""
        while (path := self._body_file(sha256)) is not None:
            try:
                os.replace(path, path.with_name(path.name + DAMAGED))
            except OSError as error:
                raise disk_error(error, path) from error

    def _read_warc(self, place: BodyPlace) -> bytes:
        path = self.warc / place.warc_file
        if not is_warc_name(place.warc_file):
            raise StoreDamagedError(f"{place.warc_file!r} is no name of a WARC file{_MEND}")
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise StoreDamagedError(f"{path} is missing: put it back from a copy{_MEND}") from error
        except OSError as error:
            raise disk_error(error, path) from error
        try:
            return response_body(fd, place.warc_offset, packed=is_packed(place.warc_file))
        except RecordDamagedError as error:
            raise StoreDamagedError(
                f"the record in {path} at {place.warc_offset} is damaged: {error}{_MEND}"
            ) from error
        except OSError as error:
            raise disk_error(error, path) from error
        finally:
            os.close(fd)

    def _read_file(self, sha256: bytes) -> bytes:
        path = self._body_file(sha256)
        if path is None:
            name = body_path(self.bodies, sha256, "none")
            raise StoreDamagedError(f"{name}[.gz] is missing: put it back from a copy{_MEND}")
        try:
            content = path.read_bytes()
            return gzip.decompress(content) if path.suffix == ".gz" else content
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise StoreDamagedError(f"{path} is damaged: {error}{_MEND}") from error
        except OSError as error:
            raise disk_error(error, path) from error

    def _body_file(self, sha256: bytes) -> Path | None:
        """The body's file, compressed or not, or None."""
        for compress in BODY_SUFFIXES:
            path = body_path(self.bodies, sha256, compress)
            if path.exists():
                return path
        return None

    def _name(self, place: BodyPlace, sha256: bytes) -> str:
        if place.warc_file:
            return f"{self.warc / place.warc_file} at {place.warc_offset}"
        return str(self._body_file(sha256))


def _listed(folder: Path) -> list[str]:
    """The names in a folder, sorted; none when it is not there."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise disk_error(error, folder) from error


def _digest_of(folder: str, name: str) -> bytes | None:
    digits = name.removesuffix(".gz")
    if len(digits) != 64 or not digits.startswith(folder) or digits.lower() != digits:
        return None
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return None
