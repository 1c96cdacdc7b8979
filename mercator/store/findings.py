"""What `check` finds, one finding at a time, and the report that it adds up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

MAX_LISTED = 10_000
"""Findings that a report holds; all of them go to `tell`, and all are counted."""


class Fate(StrEnum):
    """What became of a finding. OPEN: nothing was done. NOTED: harmless, nothing needs to be done."""

    OPEN = "open"
    MENDED = "mended"
    LOST = "lost"
    NOTED = "noted"


class Fault(StrEnum):
    """The kinds of contradictions that `check` knows."""

    NOT_QUEUED = "pending URL in no queue"
    QUEUED_TWICE = "pending URL queued more than once"
    QUEUED_WRONGLY = "queue row that names no pending URL"
    WRONG_PLACE = "queue row in a place that cannot be"
    PAGE_MISSING = "stored URL without a page"
    PAGE_UNSTORED = "page of a URL that is not stored"
    PAGE_ORPHAN = "page without a URL"
    BODY_LOST = "page whose body cannot be read"
    REASON_WRONG = "URL whose reason does not fit its state"
    DEAD_WRONG = "URL with a reason and the table of failures"
    REFERENCE_LOST = "reference to a URL that has no row"
    LINKS_ORPHAN = "links of a page without a URL"
    LINK_LOST = "link to a URL that has no row"
    HOST_WRONG = "host's counters"
    PIN_MISSING = "host with a back queue but no pin"
    PIN_ORPHAN = "pin of a host without a row"
    CONTENT_WRONG = "content row whose first page has another body, or none"
    CONTENT_MISSING = "stored body without a content row"
    COUNTER_WRONG = "counter"
    WARC_POSITION = "note of how far the WARC files go"
    WARC_DAMAGED = "WARC file with a record that is not whole"
    FILE_UNNAMED = "file that the tables do not name"


class Finding(NamedTuple):
    """One contradiction: `subject` is a URL, a key in hex, a file or a name in `meta`.

    Threads: immutable.
    """

    fault: Fault
    subject: str
    sentence: str
    fate: Fate

    def __str__(self) -> str:
        """`lost: page whose body cannot be read: http://... : the record ... is damaged`"""
        return f"{self.fate}: {self.fault}: {self.subject}: {self.sentence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a check found. `findings` are the first `MAX_LISTED`, `fates` counts all.

    Threads: immutable (`fates` must not be written).
    """

    findings: tuple[Finding, ...]
    fates: Mapping[Fate, int]

    @property
    def ok(self) -> bool:
        """Whether the store is whole now: nothing found, or nothing left to mend."""
        return not self.fates.get(Fate.OPEN)

    @property
    def lost(self) -> int:
        """How many findings cost something that cannot be had back from the store itself."""
        return self.fates.get(Fate.LOST, 0)

    @property
    def left_out(self) -> int:
        """How many findings are counted but not listed."""
        return sum(self.fates.values()) - len(self.findings)


class Findings:
    """Collects findings; memory is bounded by `MAX_LISTED`.

    Threads: confined to the thread that checks.
    """

    def __init__(self, *, repair: bool, tell: Callable[[Finding], object] | None = None) -> None:
        self._repair = repair
        self._tell = tell
        self._listed: list[Finding] = []
        self._fates: Counter[Fate] = Counter()

    def add(self, fault: Fault, subject: str, sentence: str, *, lost: bool = False) -> None:
        """A contradiction that repair mends; `lost` when mending gives something up."""
        fate = Fate.OPEN if not self._repair else Fate.LOST if lost else Fate.MENDED
        self._take(Finding(fault, subject, sentence, fate))

    def note(self, fault: Fault, subject: str, sentence: str) -> None:
        """Something that is not as expected, but harms nothing."""
        self._take(Finding(fault, subject, sentence, Fate.NOTED))

    def report(self) -> Report:
        """What was found so far."""
        return Report(findings=tuple(self._listed), fates=dict(self._fates))

    def _take(self, finding: Finding) -> None:
        self._fates[finding.fate] += 1
        if len(self._listed) < MAX_LISTED:
            self._listed.append(finding)
        if self._tell is not None:
            self._tell(finding)
