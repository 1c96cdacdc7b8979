"""When a crawl ends, and why: one snapshot a line."""

from __future__ import annotations

from typing import Any

import pytest

from mercator.engine.ending import Snapshot, stop_reason

WORKING = Snapshot(
    now_s=1000.0,
    started_s=900.0,
    last_end_s=990.0,
    pending=5,
    idle=False,
    standstill=False,
    stored=7,
    background_work=False,
)
DONE = {"pending": 0, "idle": True}
PAUSED = {"idle": True, "standstill": True, "last_end_s": 400.0}
ENDLESS: dict[str, Any] = {"max_pages": None, "max_time_s": None, "patience_s": 600.0}


def judged(changes: dict[str, Any], limits: dict[str, Any]) -> str | None:
    return stop_reason(WORKING._replace(**changes), **{**ENDLESS, **limits})


@pytest.mark.parametrize(
    ("changes", "limits", "reason"),
    [
        ({}, {}, None),
        # Pages: exactly so many, whatever else is going on.
        ({}, {"max_pages": 7}, "max_pages"),
        ({}, {"max_pages": 6}, "max_pages"),
        ({}, {"max_pages": 8}, None),
        (DONE, {"max_pages": 7}, "max_pages"),
        ({"background_work": True}, {"max_pages": 7, "max_time_s": 1.0}, "max_pages"),
        # Finished: nothing waits, nothing is out, nothing is on its way.
        (DONE, {}, "finished"),
        ({**DONE, "pending": 1}, {}, None),
        ({**DONE, "idle": False}, {}, None),
        ({**DONE, "background_work": True}, {}, None),
        ({**DONE, "standstill": True, "last_end_s": 0.0}, {}, "finished"),
        (DONE, {"max_time_s": 1.0}, "finished"),
        # Time: of this run, to the second.
        ({}, {"max_time_s": 100.0}, "deadline"),
        ({}, {"max_time_s": 100.1}, None),
        ({"background_work": True}, {"max_time_s": 100.0}, "deadline"),
        (PAUSED, {"max_time_s": 100.0}, "deadline"),
        # Patience: from the last URL that ended, while nothing may be asked.
        (PAUSED, {}, "patience"),
        ({**PAUSED, "last_end_s": 400.1}, {}, None),
        ({**PAUSED, "last_end_s": 999.0}, {"patience_s": 0.0}, "patience"),
        ({**PAUSED, "standstill": False}, {}, None),
        ({**PAUSED, "idle": False}, {}, None),
        ({**PAUSED, "background_work": True}, {}, None),
    ],
)
def test_a_crawl_ends_by_its_rules(
    changes: dict[str, Any], limits: dict[str, Any], reason: str | None
) -> None:
    assert judged(changes, limits) == reason
