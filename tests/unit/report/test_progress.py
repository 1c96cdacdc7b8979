"""The line of a running crawl."""

from __future__ import annotations

import io

from mercator.records import Status
from mercator.report.progress import CLEAR_LINE, Progress
from mercator.testing import ManualClock

STATUS = Status(stored=5, pending=7, hosts=2, elapsed_s=61.0, failed=1, gone=2)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def lines_of(out: io.StringIO, seconds: int, *, quiet: bool = False) -> str:
    clock = ManualClock()
    progress = Progress(out, clock, quiet=quiet)
    for _ in range(seconds * 4):
        clock.advance_s(0.25)
        progress.tick(lambda: STATUS)
    progress.close()
    return out.getvalue()


def test_a_line_every_ten_seconds() -> None:
    text = lines_of(io.StringIO(), 30)
    assert text.count("\n") == 3
    assert text.startswith("61 s: 5 stored (0.0/s), 7 pending, 0 in flight, 3 failed or gone, 2 h")


def test_on_a_terminal_the_line_is_rewritten_every_second_and_taken_away() -> None:
    text = lines_of(Terminal(), 3)
    assert text.count(CLEAR_LINE + "61 s") == 3
    assert text.endswith(CLEAR_LINE)
    assert "\n" not in text


def test_quiet_shows_nothing_and_asks_for_nothing() -> None:
    assert lines_of(io.StringIO(), 30, quiet=True) == ""
    assert lines_of(Terminal(), 30, quiet=True) == ""


def test_a_reader_that_has_gone_is_no_error() -> None:
    assert lines_of(Gone(), 30) == ""
