"""The crawlers that are compared: how each is started on the same task, and what it says it kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Task(NamedTuple):
    """One crawl: the site's port, a file of seeds, an empty folder to write to, where standard
    output goes. `compress` and `threads` are Mercator's. Threads: immutable."""

    port: int
    seeds: Path
    folder: Path
    output: Path
    compress: str
    threads: int | None


class Crawler(NamedTuple):
    """`command` starts a crawl as a child process; `kept` counts the pages it has kept, bodies
    included; `polite` ones are held to one request a host at a time; `parts` are the distributions
    whose versions matter. Threads: immutable."""

    command: Callable[[Task], list[str]]
    kept: Callable[[Task], int]
    polite: bool
    parts: tuple[str, ...]


def _mercator(task: Task) -> list[str]:
    threads = [] if task.threads is None else ["--threads", str(task.threads)]
    return [
        *(sys.executable, "-m", "mercator", "crawl", "--seeds", str(task.seeds)),
        *("--store", str(task.folder / "store"), "--scope", "any"),
        *("--delay", "0", "--delay-factor", "0", "--compress", task.compress, *threads),
        *("--resolve", f"*.test=127.0.0.1:{task.port}", "--allow-net", "127.0.0.0/8"),
        *("--quiet", "--json"),
    ]


def _mercator_kept(task: Task) -> int:
    stored: int = json.loads(task.output.read_text())["stored"]
    return stored


def _scrapy(*options: str) -> Callable[[Task], list[str]]:
    def command(task: Task) -> list[str]:
        return [
            *(sys.executable, "-m", "bench.scrapy_crawl", str(task.port), str(task.seeds)),
            *(str(_feed(task)), *options),
        ]

    return command


def _feed(task: Task) -> Path:
    return task.folder / "pages.jsonl"


def _scrapy_kept(task: Task) -> int:
    with _feed(task).open("rb") as feed:
        return sum(1 for _ in feed)


_SCRAPY_PARTS = ("scrapy", "twisted", "lxml", "protego")

CRAWLERS: dict[str, Crawler] = {
    "mercator": Crawler(
        _mercator,
        _mercator_kept,
        True,
        ("mercator", "urllib3", "lmdb", "selectolax", "ada-url", "xxhash"),
    ),
    "scrapy": Crawler(_scrapy(), _scrapy_kept, False, _SCRAPY_PARTS),
    "scrapy-tuned": Crawler(_scrapy("--drop-known"), _scrapy_kept, False, _SCRAPY_PARTS),
}
"""By the names that `--against` takes."""
