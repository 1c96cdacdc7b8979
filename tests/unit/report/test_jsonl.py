"""JSON lines: one object a line, UTF-8, whole files only."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mercator.errors import UsageError
from mercator.records import LinkRecord
from mercator.report.jsonl import line, write, write_file


def link(anchor: str | None) -> LinkRecord:
    return LinkRecord(source="s", target=None, kind="a", rel=None, anchor=anchor)


@pytest.mark.parametrize("anchor", [None, "ünï", "a\nb\u2028c", "\x00", '"', "\ud800 half"])
def test_a_line_is_one_json_object(anchor: str | None) -> None:
    text = line(link(anchor))
    assert text.count(b"\n") == 1
    assert json.loads(text.decode("utf-8")) == link(anchor).as_dict()


def test_letters_stay_readable() -> None:
    assert "ünï".encode() in line(link("ünï"))


def test_write_counts_the_rows() -> None:
    sink = io.BytesIO()
    assert write([link("1"), link("2")], sink) == 2
    assert sink.getvalue().count(b"\n") == 2


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "links.jsonl"
    path.write_text("of yesterday")

    def rows() -> Iterator[LinkRecord]:
        yield link("1")
        assert path.read_text() == "of yesterday"
        raise KeyError("half way")

    with pytest.raises(KeyError):
        write_file(rows(), path)
    assert path.read_text() == "of yesterday"
    assert write_file([link("1")], path) == 1
    assert path.read_bytes() == line(link("1"))


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    write_file([link("1")], path)
    reader.join(timeout=30)
    assert got == [line(link("1"))]


def test_a_file_that_cannot_be_made_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        write_file([], tmp_path / "no" / "file")
