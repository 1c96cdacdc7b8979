"""The life of one crawler process, from its start to its death, as an order to the nursery."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

POINTS = ("applied", "appended", "synced", "committed", "published")
"""The commit points of `engine/writer.py`, in their order."""

FETCHED = "fetched"
"""Passed when an answer has come, of which nobody but its worker knows."""

ADDED = "added"
"""Passed when `Crawl.add` has returned."""


class Death(NamedTuple):
    """When a process is killed by SIGKILL; `NEVER` lets it crawl to its end.

    After `after_s` seconds from outside, or by its own hand: at the n-th passage of `point`, or
    just before the n-th call that may change the disk (`point` empty). Threads: immutable.
    """

    point: str = ""
    nth: int = 0
    after_s: float | None = None


NEVER = Death()


def at_point(point: str, passage: int) -> Death:
    """Death at the n-th passage of a commit point, counted from 1 in each life."""
    return Death(point=point, nth=passage)


def before_step(step: int) -> Death:
    """Death before the n-th call that may change the disk, the first being the opening's."""
    return Death(nth=step)


def after(seconds: float) -> Death:
    """Death so long after the birth, wherever the process is then."""
    return Death(after_s=seconds)


class Life(NamedTuple):
    """What one process does: it crawls into `store`, with `seeds` and the settings `config` where
    they are given, as a person would who starts or resumes a crawl.

    `adds` are seeds for `Crawl.add` once it runs. `cold`: through `python -m mercator` in a new
    interpreter instead of a warm one. Threads: immutable.
    """

    store: str
    death: Death
    seeds: tuple[str, ...] = ()
    config: Mapping[str, Any] = MappingProxyType({})
    adds: tuple[str, ...] = ()
    cold: bool = False
