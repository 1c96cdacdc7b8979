"""What the file system says no to, in the words of the error tree, and writes that are whole."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from mercator.errors import (
    StoreError,
    StoreFilesystemError,
    StoreFullError,
    StorePermissionError,
)

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})

sync_data = getattr(os, "fdatasync", os.fsync)
"""`fdatasync` where the system has it (macOS has not); it makes the length durable as well."""


def disk_error(error: OSError, path: Path | str) -> StoreError:
    """The error of the tree that an `OSError` on `path` stands for; raise it `from` the cause.

    ENOSPC, EDQUOT and EFBIG give StoreFullError, EACCES, EPERM and EROFS StorePermissionError.
    """
    what = error.strerror or str(error)
    if error.errno in FULL:
        return StoreFullError(
            f"cannot write {path}: {what}; what was committed before is whole: "
            f"free some space (or raise the quota) and run the same command again"
        )
    if error.errno in FORBIDDEN:
        return StorePermissionError(
            f"may not use {path}: {what}; give this user the right to read and write it"
        )
    return StoreError(f"cannot use {path}: {what}; check the disk and run the same command again")


def write_at(fd: int, content: bytes | memoryview, offset: int) -> None:
    """Writes all of `content` at `offset`: usually one `pwrite`, more after a short one.

    A short write is how a disk that fills up, a quota or a file size limit shows itself first; the
    next call then raises what it was. Raises OSError.
    """
    written = os.pwrite(fd, content, offset)
    if written == len(content):
        return
    rest = memoryview(content)
    while written < len(rest):
        step = os.pwrite(fd, rest[written:], offset + written)
        if step == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written += step


def sync_folder(folder: Path) -> None:
    """Makes created, renamed and removed names of a folder durable. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_folder(folder: Path) -> None:
    """Makes a folder, and those above it, durably; nothing when it is there.

    Raises StoreFilesystemError when something else has the name, and the errors of a disk.
    """
    if folder.is_dir():
        return
    try:
        if not folder.parent.is_dir():
            make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreFilesystemError(
            f"{folder} is no folder: move it away, or choose another store"
        ) from error
    except OSError as error:
        raise disk_error(error, folder) from error
