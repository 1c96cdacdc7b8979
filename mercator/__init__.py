"""Mercator: a polite, durable web crawler for researchers, in the classic two-tier shape.

The map of the house, from the door inwards (a file imports only from lines below its own):

- `cli.py`, `crawl.py`: the command line and the library, one door (`Crawl`)
- `assembly.py`: the only place that chooses adapters; builds one shard
- `engine/`: the only place where rooms meet: `intake.offer`, `visit.visit`, workers, the writer
- `net/`, `store/`, `exchange/`, `report/`: adapters to network, disk, other shards, and people
- `frontier/`, `seen/`, `politeness/`, `content/`: which URL next; met before; may we; what it says
- `urls/`: text to canonical URL, scope, bounds
- `ports.py`, `config.py`, `records.py`, `rows.py`, `values.py`, `errors.py`: the vocabulary

Public names are imported when they are first used, so that a room's module loads only its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mercator.config import CrawlConfig
    from mercator.crawl import Crawl
    from mercator.errors import MercatorError
    from mercator.records import Explanation, PageRecord, Status
    from mercator.urls.canonical import canonicalize

__all__ = [
    "Crawl",
    "CrawlConfig",
    "Explanation",
    "MercatorError",
    "PageRecord",
    "Status",
    "canonicalize",
]

_HOME = {
    "Crawl": "mercator.crawl",
    "CrawlConfig": "mercator.config",
    "Explanation": "mercator.records",
    "MercatorError": "mercator.errors",
    "PageRecord": "mercator.records",
    "Status": "mercator.records",
    "canonicalize": "mercator.urls.canonical",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
