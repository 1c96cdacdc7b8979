"""`DIR/manifest.json`: what a reader of the data needs to know of the runs that made it.

One entry a run, the oldest first: who asked, with which settings, program and URL rules, which seeds
(their number and a digest), and how it ended. A run that was killed has no end.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mercator.errors import StoreDamagedError
from mercator.records import rfc3339, utc
from mercator.store.disk import disk_error, sync_folder

MANIFEST_VERSION = 1
_MOST_RUNS = 1000
"""The newest runs are kept; a crawl that is taken up every hour for a month has 720."""


class Manifest:
    """The file of one store; every change replaces it as a whole.

    Threads: confined to the thread that starts and the one that ends the run.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "manifest.json"

    def begin(
        self, *, unix_s: float, seeds: Sequence[str], user_agent: str, **facts: object
    ) -> None:
        """Adds a run. `facts` are further entries, made of JSON values.

        A file that cannot be read is set aside under another name: it is for people, and must not
        keep a crawl from going on. Raises the errors of a disk.
        """
        digest = hashlib.sha256("\n".join(seeds).encode("utf-8", "surrogatepass")).hexdigest()
        run = {
            "started_at": _text_of(unix_s),
            "ended_at": None,
            "stop_reason": None,
            "user_agent": user_agent,
            "seeds": len(seeds),
            "seeds_sha256": digest if seeds else None,
            **facts,
        }
        try:
            runs = self.runs()
        except StoreDamagedError:
            os.replace(self._path, self._path.with_name("manifest.json.damaged"))
            runs = []
        self._write([*runs, run][-_MOST_RUNS:])

    def end(self, *, unix_s: float, summary: Mapping[str, object]) -> None:
        """Completes the last run with the summary of the store."""
        runs = self.runs()
        runs[-1]["ended_at"] = _text_of(unix_s)
        runs[-1]["stop_reason"] = summary["stop_reason"]
        runs[-1]["summary"] = dict(summary)
        self._write(runs)

    def runs(self) -> list[dict[str, Any]]:
        """All runs, the oldest first; none before the first run.

        Raises StoreDamagedError when the file is there and cannot be read.
        """
        try:
            runs = json.loads(self._path.read_text(encoding="utf-8"))["runs"]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreDamagedError(
                f"{self._path} cannot be read ({error}); it is for people only: put it back from a "
                "copy, or remove it"
            ) from error
        return list(runs)

    def _write(self, runs: list[dict[str, Any]]) -> None:
        text = json.dumps({"manifest_version": MANIFEST_VERSION, "runs": runs}, indent=1)
        new = self._path.with_name("manifest.json.new")
        try:
            with open(new, "w", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self._path)
        except OSError as error:
            raise disk_error(error, self._path) from error
        sync_folder(self._path.parent)


def _text_of(unix_s: float) -> str:
    moment = utc(unix_s)
    assert moment is not None, "a run has a time"
    return rfc3339(moment)
