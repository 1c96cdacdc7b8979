"""Check, last part: the files. Do they reach as far as the tables say, and is anything there twice?

A damaged WARC record stays where it is: its file holds records of other pages behind it. A page whose
body is in it is given up by a repair, and fetched again. A repair also keeps where the damage is, so
that later checks tell of it as known, and find what is new.
"""

from __future__ import annotations

import os
from functools import partial

from mercator.errors import StoreDamagedError
from mercator.ports import Txn
from mercator.store.checkup import Checkup
from mercator.store.disk import disk_error
from mercator.store.findings import Fault
from mercator.store.warc_files import WarcName, WarcPosition, is_packed, shard_files
from mercator.store.warc_reader import RecordDamagedError, scan

POSITION_ROW = "warc"
KNOWN_DAMAGE = "warc_damage/"
"""Prefix of the rows of `meta` that say at which byte of a WARC file a repair found damage."""


def check_files(run: Checkup, shard: int) -> None:
    """WARC files up to the position that the tables hold, then the names in `warc/` and `bodies/`.

    Cost: with bodies every record is read, unpacked and its digest checked.
    """
    files = shard_files(run.documents.warc, shard)
    position = _check_position(run, shard, files)
    if run.bodies:
        for name in files:
            if position is None or name.sequence <= position.sequence:
                _check_records(run, name, position)
    _note_unnamed_warcs(run, shard, files, position)
    _note_unnamed_bodies(run)


def _check_position(run: Checkup, shard: int, files: list[WarcName]) -> WarcPosition | None:
    """Whether the note in `meta` can be read and the files reach as far; gives the one to go by.

    A file that is too short counts up to its last whole record from now on; where there is none, the
    next record begins a new file behind all that are there.
    """
    with run.tables.read() as txn:
        row = txn.meta.get(POSITION_ROW)
    behind_all = WarcPosition("", 0, max((name.sequence + 1 for name in files), default=0))
    try:
        position = WarcPosition.from_row(row, shard)
    except StoreDamagedError as error:
        run.findings.add(
            Fault.WARC_POSITION, POSITION_ROW, f"{error}; begins anew behind all files"
        )
        return _put_position(run, behind_all)
    if position is None or not position.file:
        return position
    size = _size(run, position.file)
    if size is None:
        run.findings.add(
            Fault.WARC_POSITION, position.file, "is missing; what was in it is lost", lost=True
        )
        return _put_position(
            run, behind_all._replace(sequence=max(behind_all.sequence, position.sequence + 1))
        )
    if size >= position.offset:
        return position
    whole = _whole_bytes(run, position.file, size)
    run.findings.add(
        Fault.WARC_POSITION,
        position.file,
        f"has {size} bytes, {whole} of them whole records, but should have {position.offset}",
        lost=True,
    )
    return _put_position(run, position._replace(offset=whole))


def _check_records(run: Checkup, name: WarcName, position: WarcPosition | None) -> None:
    """Reads a file record by record, up to the position."""
    size = _size(run, name.file) or 0
    end = min(size, position.offset) if position and name.file == position.file else size
    whole = _whole_bytes(run, name.file, end)
    if whole == end:
        return
    row = KNOWN_DAMAGE + name.file
    with run.tables.read() as txn:
        known = txn.meta.get(row)
    if known == whole:
        run.findings.note(
            Fault.WARC_DAMAGED,
            name.file,
            f"the record at {whole} is not whole, as a repair has told",
        )
    else:
        run.mend(partial(_put_damage, row=row, offset=whole))
        run.commit()
        run.findings.add(
            Fault.WARC_DAMAGED,
            name.file,
            f"the record at {whole} is not whole; records behind it were not looked at, but pages "
            f"in them were",
            lost=True,
        )


def _whole_bytes(run: Checkup, file: str, end: int) -> int:
    """How far the file's records are whole, from its beginning."""
    path = run.documents.warc / file
    whole = 0
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for record in scan(fd, 0, end, packed=is_packed(file)):
                whole = record.end
        except RecordDamagedError:
            pass  # how far it came is the answer
        finally:
            os.close(fd)
    except OSError as error:
        raise disk_error(error, path) from error
    return whole


def _note_unnamed_warcs(
    run: Checkup, shard: int, files: list[WarcName], position: WarcPosition | None
) -> None:
    """Files behind the position, and such as do not belong to the set at all."""
    ours = {name.file for name in files}
    for name in files:
        if position is None or (name.sequence >= position.sequence and name.file != position.file):
            run.findings.note(
                Fault.FILE_UNNAMED, f"warc/{name.file}", "no commit names it; opening puts it away"
            )
    if position and position.file:
        tail = (_size(run, position.file) or 0) - position.offset
        if tail > 0:
            run.findings.note(
                Fault.FILE_UNNAMED,
                f"warc/{position.file}",
                f"no commit names its last {tail} bytes; opening cuts them off",
            )
    for file in run.documents.warc_names():
        other = WarcName.parse(file)
        if file not in ours and (other is None or other.shard == shard):
            run.findings.note(Fault.FILE_UNNAMED, f"warc/{file}", "is of no use to this store")


def _note_unnamed_bodies(run: Checkup) -> None:
    """Files in `bodies/` that no row of `content` stands for: harmless, and used when the same body
    comes again."""
    for path, sha256 in run.documents.body_files():
        named = False
        if sha256 is not None:
            with run.tables.read() as txn:
                named = txn.content.get(sha256) is not None
        if not named:
            run.findings.note(Fault.FILE_UNNAMED, f"bodies/{path}", "no page has this body")


def _put_position(run: Checkup, position: WarcPosition) -> WarcPosition:
    run.mend(partial(_put_meta, position=position))
    run.commit()
    return position


def _put_damage(txn: Txn, row: str, offset: int) -> None:
    txn.meta.put(row, offset)


def _put_meta(txn: Txn, position: WarcPosition) -> None:
    txn.meta.put(POSITION_ROW, position.as_row())


def _size(run: Checkup, file: str) -> int | None:
    try:
        return os.stat(run.documents.warc / file).st_size
    except FileNotFoundError:
        return None
    except OSError as error:
        raise disk_error(error, run.documents.warc / file) from error
