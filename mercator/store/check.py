"""Is the store whole: do tables and files say the same, and what can be mended where they do not.

What can be had again is had again: a page that is lost becomes a pending URL. What follows from other
rows (queue places, counters, the list of failures, pins, the content-seen test) is made anew from
them. What is gone for good is dropped and listed. Nothing is changed without `repair`.

Deliberately absent: damage inside the LMDB file, and rows whose bytes cannot be read; these are
errors of the tables (StoreDamagedError), and a copy of the store is the only cure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from mercator.frontier.lifecycle import COUNTER_OF
from mercator.ports import Tables, Txn
from mercator.store.check_files import check_files
from mercator.store.check_pages import check_content, check_links
from mercator.store.check_queues import check_pins, check_queues
from mercator.store.check_urls import check_urls
from mercator.store.checkup import Checkup
from mercator.store.findings import Fault, Finding, Findings, Report
from mercator.store.stored_bodies import StoredBodies

COUNTED = ("seen", *COUNTER_OF.values(), "bytes", "duplicates_exact")
"""The counters in `meta` that the rows determine."""

__all__ = ["Finding", "Report", "check"]


def check(
    tables: Tables,
    documents: StoredBodies,
    *,
    repair: bool,
    bodies: bool = True,
    shard: int = 0,
    tell: Callable[[Finding], object] | None = None,
) -> Report:
    """Checks a store that nobody else has open; with `repair` mends it, in short transactions.

    `bodies` False only looks whether bodies can be there, without reading them. `tell` is called with
    every finding as it is found; the report lists the first 10,000.

    A repair that is broken off has mended part of it; the next one goes on. Memory is bounded
    whatever the size of the store (some 40 MB); temporary files take 33 bytes a waiting URL.
    Cost: every row once or twice, a look-up a link, and with `bodies` every document twice.

    Raises StoreDamagedError when tables cannot be read, StoreFullError, StorePermissionError.
    """
    findings = Findings(repair=repair, tell=tell)
    run = Checkup(tables, documents, findings, repair=repair, bodies=bodies)
    queued = check_queues(run)
    try:
        _check_sequence(run)
        check_urls(run, queued)
    finally:
        queued.close()
    check_pins(run)
    check_content(run)
    check_links(run)
    _check_counters(run)
    check_files(run, shard)
    return findings.report()


def _check_sequence(run: Checkup) -> None:
    """The next number must be above all that are in use, or new queue rows overwrite old ones.

    Leaves in `run.sequence` the largest number in use, or said to be.
    """
    with run.tables.read() as txn:
        stored = txn.meta.get("next")
        said = stored if type(stored) is int else 0
        for sequence, _ in txn.visits.scan(after=max(said, run.sequence)):
            run.sequence = sequence
    if said < run.sequence:
        run.findings.add(
            Fault.COUNTER_WRONG, "next", f"is {stored!r}, but {run.sequence} is in use; put right"
        )
    run.sequence = max(said, run.sequence)


def _check_counters(run: Checkup) -> None:
    """The summary's counters, and those of the front queues, are what the rows add up to."""
    with run.tables.read() as txn:
        counters = _numbers(txn.meta.get("counters"))
        reasons = _numbers(txn.meta.get("reasons"))
        levels = txn.meta.get("front_counts")
        next_number = txn.meta.get("next")
    _compare(run, "counters", {name: counters.get(name, 0) for name in COUNTED}, run.counters)
    _compare(run, "reasons", reasons, run.reasons)
    counted = [run.front_counts[level] for level in range(1, max(run.front_counts, default=0) + 1)]
    said = [n for n in levels if type(n) is int] if isinstance(levels, list) else []
    counted += [0] * (len(said) - len(counted))
    if said + [0] * (len(counted) - len(said)) != counted:
        run.findings.add(Fault.COUNTER_WRONG, "front_counts", f"is {levels!r}, not {counted}")
    run.mend(partial(_put_numbers, run=run, counters=counters, counted=counted))
    if next_number != run.sequence:
        run.mend(lambda txn: txn.meta.put("next", run.sequence))
    run.commit()


def _compare(run: Checkup, name: str, said: dict[str, int], counted: Counter[str]) -> None:
    for key in sorted(said.keys() | counted.keys()):
        if said.get(key, 0) != counted[key]:
            run.findings.add(
                Fault.COUNTER_WRONG,
                f"{name}.{key}",
                f"is {said.get(key, 0)}, the rows say {counted[key]}",
            )


def _put_numbers(txn: Txn, run: Checkup, counters: dict[str, int], counted: list[int]) -> None:
    """All numbers of `meta` that the rows determine; the others stay as they are."""
    txn.meta.put("counters", {**counters, **{name: run.counters[name] for name in COUNTED}})
    txn.meta.put("reasons", {str(name): n for name, n in run.reasons.items() if n})
    txn.meta.put("front_counts", counted)


def _numbers(value: object) -> dict[str, int]:
    """A mapping of `meta` as far as it is one of names to numbers."""
    if not isinstance(value, dict):
        return {}
    return {name: n for name, n in value.items() if isinstance(name, str) and type(n) is int}
