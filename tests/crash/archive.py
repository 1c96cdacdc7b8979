"""The WARC files of a store as an outsider reads them."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from tests.crash.evidence import Asked, asked

Place = tuple[str, int]
"""File and offset of a record."""


class Archive(NamedTuple):
    """All response records: the URL and SHA-256 at each place, how often each was asked for, and what
    could not be read. Threads: immutable."""

    records: dict[Place, tuple[str, str]]
    answers: Counter[Asked]
    faults: tuple[str, ...]


def read_archive(store: Path) -> Archive:
    """Reads every record of every file with warcio."""
    records: dict[Place, tuple[str, str]] = {}
    faults: list[str] = []
    for path in sorted((store / "warc").iterdir()):
        try:
            with path.open("rb") as file:
                reader = ArchiveIterator(file)
                for record in reader:
                    body = record.content_stream().read()
                    if record.rec_type == "response":
                        url = record.rec_headers.get_header("WARC-Target-URI")
                        place = (path.name, reader.get_record_offset())
                        records[place] = (url, hashlib.sha256(body).hexdigest())
        except (ArchiveLoadFailed, EOFError, ValueError) as error:
            faults.append(f"{path.name}: {error}")
    answers = Counter(asked(url) for url, _ in records.values())
    return Archive(records, answers, tuple(faults))
