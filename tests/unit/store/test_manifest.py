"""The manifest: one entry a run, replaced as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from mercator.errors import StoreDamagedError
from mercator.store.manifest import Manifest


def begin(manifest: Manifest, unix_s: float, seeds: list[str]) -> None:
    manifest.begin(unix_s=unix_s, seeds=seeds, user_agent="mercator/1", config={"delay_s": 1.0})


def test_each_run_has_its_entry_and_a_killed_one_has_no_end(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    assert manifest.runs() == []
    begin(manifest, 1_800_000_000.0, ["http://a.test/"])
    begin(manifest, 1_800_000_100.0, [])
    manifest.end(unix_s=1_800_000_200.5, summary={"stop_reason": "finished", "stored": 3})
    killed, ended = Manifest(tmp_path).runs()
    assert killed["started_at"] == "2027-01-15T08:00:00.000000Z"
    assert (killed["ended_at"], killed["seeds"], len(killed["seeds_sha256"])) == (None, 1, 64)
    assert ended["ended_at"] == "2027-01-15T08:03:20.500000Z"
    assert (ended["stop_reason"], ended["summary"]["stored"]) == ("finished", 3)
    assert (ended["seeds_sha256"], ended["config"]) == (None, {"delay_s": 1.0})
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_only_the_newest_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercator.store.manifest._MOST_RUNS", 2)
    manifest = Manifest(tmp_path)
    for unix_s in (1.0, 2.0, 3.0):
        begin(manifest, unix_s, [])
    assert [run["started_at"][17:19] for run in manifest.runs()] == ["02", "03"]


def test_a_damaged_manifest_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(StoreDamagedError, match=r"manifest\.json"):
        Manifest(tmp_path).runs()
    begin(Manifest(tmp_path), 1.0, [])
    assert len(Manifest(tmp_path).runs()) == 1
    assert (tmp_path / "manifest.json.damaged").read_text() == "[]"
