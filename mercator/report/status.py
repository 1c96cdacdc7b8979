"""The summary: as the store tells it, and as a person reads it at the end of a crawl."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from mercator.ports import Tables
from mercator.records import COUNTERS, Status


def stored_status(stores: Sequence[Tables]) -> Status:
    """The status of the last commit, from `meta` rows "counters", "reasons" and "run".

    `in_flight` is 0: a lease lives in the memory of the process that crawls, the disk knows its URL
    as pending. Over several stores counts add up, times and percentiles are the largest.
    """
    counters: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    runs: list[Mapping[str, object]] = []
    hosts = 0
    for tables in stores:
        with tables.read() as txn:
            counters.update(_numbers(txn.meta.get("counters")))
            reasons.update(_numbers(txn.meta.get("reasons")))
            run = txn.meta.get("run")
            hosts += txn.hosts.count()
        if isinstance(run, Mapping):
            runs.append(run)
    stop_reason = next((str(run["stop_reason"]) for run in runs if run.get("stop_reason")), None)
    return Status(
        **{name: counters[name] for name in COUNTERS},
        hosts=hosts,
        elapsed_s=max(_column(runs, "elapsed_s")),
        pages_per_s=sum(_column(runs, "pages_per_s")),
        fetch_ms_p50=max(_column(runs, "fetch_ms_p50")),
        fetch_ms_p95=max(_column(runs, "fetch_ms_p95")),
        bucket_wait_s=sum(_column(runs, "bucket_wait_s")),
        stop_reason=stop_reason,
        # A reason whose URLs have all been given another chance is no reason any more.
        reasons={name: count for name, count in sorted(reasons.items()) if count},
    )


def summary(status: Status, store: str) -> str:
    """The end of a crawl for a person: the counters, and how to look at what came of it."""
    command, folder = "python -m mercator", shlex.quote(store)
    lines = [
        repr(status),
        f"  store       {store}",
        "look at it with",
        f"  {command} export {folder} pages",
        f"  {command} export {folder} failures",
        f"  {command} explain {folder} URL",
    ]
    if status.pending:
        lines += ["go on with", f"  {command} crawl --store {folder}"]
    return "\n".join(lines)


def _numbers(value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        return {}
    return {str(name): count for name, count in value.items() if isinstance(count, int)}


def _column(runs: Sequence[Mapping[str, object]], name: str) -> list[float]:
    values = (run.get(name) for run in runs)
    return [0.0, *(float(value) for value in values if isinstance(value, (int, float)))]
