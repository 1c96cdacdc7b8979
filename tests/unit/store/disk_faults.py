"""A disk that fills up: the calls that the store writes with fail when they are told to."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from mercator.store import bodies, disk, documents

T = TypeVar("T")


class DiskFaults:
    """Replaces one call at a time by one that says that the disk is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def during(self, fault: str, call: Callable[[], T], code: int = errno.ENOSPC) -> T:
        """Makes the call while the fault is there. `fault` is one of pwrite, short pwrite,
        fdatasync, fsync of a folder, temporary file."""

        def refuse(*_args: Any, **_kwargs: Any) -> Any:
            raise OSError(code, os.strerror(code))

        whole_write = os.pwrite

        def write_a_part(fd: int, content: bytes, offset: int) -> int:
            if len(content) < 3:
                raise OSError(code, os.strerror(code))
            return whole_write(fd, content[: len(content) // 2], offset)

        with self._monkeypatch.context() as patch:
            if fault == "pwrite":
                patch.setattr(os, "pwrite", refuse)
            elif fault == "short pwrite":
                patch.setattr(os, "pwrite", write_a_part)
            elif fault == "fdatasync":
                patch.setattr(documents, "sync_data", refuse)
                patch.setattr(bodies, "sync_data", refuse)
            elif fault == "fsync of a folder":
                patch.setattr(documents, "sync_folder", refuse)
                patch.setattr(bodies, "sync_folder", refuse)
                patch.setattr(disk, "sync_folder", refuse)
            else:
                patch.setattr(tempfile, "TemporaryFile", refuse)
            return call()
