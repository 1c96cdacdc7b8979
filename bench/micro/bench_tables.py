"""What the tables cost, in LMDB and in memory. One JSON line.

`python -m bench.micro.bench_tables [--urls 1000000] [--dir DIR]`: one thread; times of single calls are
the best of several rounds, commits are synced and depend on the disk that DIR (default: a temporary
folder) lies on.

- `row_us`: encode and decode, each kind of row
- `glance_us`: the URL-seen test at so many URLs, hit and miss, in a read and in a write transaction
- `put_us`: one UrlRow with its encoding, within a transaction, in random order of hosts
- `read_us`: an empty read transaction; with one look
- `commit`: puts a second with 1 and with 1,000 puts a commit, and the commit's own milliseconds
- `bytes_per_url`: the file's size over the number of URLs
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from mercator.ports import Tables
from mercator.rows import (
    ContentRow,
    DeadRow,
    HostRow,
    LinkRow,
    PageRow,
    RobotsRow,
    UrlRow,
    VisitRow,
)
from mercator.store.codec import CODECS
from mercator.store.lmdb_tables import LmdbTables
from mercator.store.memory_tables import MemoryTables
from mercator.urls.url_key import url_key
from mercator.values import Kind, Reason, State, UrlKey

HOSTS = 1000
KEY = UrlKey(b"0123456789abcdef")
URL = "https://www.example.org/docs/guide/a-page-of-usual-length-17.html"

ROWS: dict[str, object] = {
    "urls fresh": UrlRow(State.PENDING, URL, URL, level=3, depth=4, parent=KEY, found_at=1.8e9),
    "urls stored": UrlRow(
        state=State.STORED,
        url=URL + "?utm_source=x",
        key_url=URL,
        level=3,
        depth=4,
        attempts=1,
        status=200,
        parent=KEY,
        found_at=1.8e9,
        due_at=1.8e9,
        first_at=1.8e9,
        last_at=1.8e9,
    ),
    "hosts": HostRow("www.example.org", 1.8e9, 1.0, "delay", stored=100, pending=40, body_bytes=9),
    "pages": PageRow(
        status=200,
        depth=4,
        parent=KEY,
        fetched_at=1.8e9,
        elapsed_ms=12.5,
        address="192.0.2.1",
        content_type="text/html; charset=utf-8",
        encoding="utf-8",
        encoding_from="header",
        body_bytes=30_000,
        truncated=False,
        sha256=bytes(32),
        simhash=bytes(8),
        title="A page of usual length",
        duplicate_of=UrlKey(b""),
        near_duplicate_of=UrlKey(b""),
        near_distance=None,
        canonical=URL,
        noindex=False,
        nofollow=False,
        signals=None,
        etag='"abc"',
        last_modified="Mon, 01 Jan 2024 00:00:00 GMT",
        attempts=1,
        warc_file="crawl-0000-00001.warc.gz",
        warc_offset=123_456_789,
    ),
    "content": ContentRow(KEY, "crawl-0000-00001.warc.gz", 123_456_789),
    "links": tuple(LinkRow(KEY, "", "a", "", f"a link's text {i}") for i in range(50)),
    "robots": RobotsRow("rules", b"User-agent: *\n" * 100, 1.8e9, 1.8e9, 1.8e9),
    "visits": VisitRow(
        host="www.example.org",
        url=URL,
        kind=Kind.PAGE,
        address="192.0.2.1",
        started_at=1.8e9,
        ended_at=1.8e9,
        status=200,
        error="",
        body_bytes=30_000,
        gap_s=1.0,
        gap_reason="delay",
        robots_at=1.8e9,
    ),
    "dead": DeadRow(Reason.TIMEOUT, 3, "no answer within 30 s"),
}


def best_us(work: Callable[[], object], number: int, rounds: int = 7) -> float:
    """Microseconds of one call, best of the rounds: noise of the machine only adds."""
    return round(min(timeit.repeat(work, number=number, repeat=rounds)) / number * 1e6, 3)


def rows() -> Iterator[tuple[UrlKey, UrlRow]]:
    """New URLs without end, a page's links at a time: mostly of one host, hosts in random order."""
    chance = random.Random(1)
    for page in count():
        host = f"h{chance.randrange(HOSTS):04d}.test"
        for number in range(20):
            url = f"https://{host}/docs/guide/chapter-{page}/a-page-of-usual-length-{number}.html"
            row = UrlRow(State.PENDING, url, url, level=3, depth=4, parent=KEY, found_at=1.8e9)
            yield url_key(url, host), row


def glances(tables: Tables, known: list[tuple[UrlKey, str]], *, write: bool) -> dict[str, float]:
    """Microseconds of one glance, at URLs in random order."""
    missing = [(UrlKey(key[:6] + key[6:][::-1]), url) for key, url in known]
    with tables.write() if write else tables.read() as txn:
        glance = txn.urls.glance

        def look(at: list[tuple[UrlKey, str]]) -> None:
            for key, url in at:
                glance(key, url)

        return {
            "hit": round(best_us(lambda: look(known), 1) / len(known), 3),
            "miss": round(best_us(lambda: look(missing), 1) / len(missing), 3),
        }


def commits(tables: Tables, new: Iterator[tuple[UrlKey, UrlRow]], puts: int) -> dict[str, float]:
    """Puts a second with `puts` in each commit, and what the commit alone takes."""
    groups = max(20, 20_000 // puts // 10)
    alone_ms = []
    began_s = time.perf_counter()
    for _ in range(groups):
        with tables.write() as txn:
            put = txn.urls.put
            for _ in range(puts):
                put(*next(new))
            ready_s = time.perf_counter()
        alone_ms.append((time.perf_counter() - ready_s) * 1e3)
    seconds = time.perf_counter() - began_s
    return {
        "puts_per_s": round(groups * puts / seconds),
        "commit_ms_p50": round(statistics.median(alone_ms), 3),
        "commit_ms_p95": round(statistics.quantiles(alone_ms, n=20)[-1], 3),
    }


def measure(tables: Tables, urls: int) -> dict[str, object]:
    """All figures of one adapter but the rows' own."""
    new = rows()
    known: list[tuple[UrlKey, str]] = []
    put_us = []
    for _ in range(urls // 1000):
        batch = [next(new) for _ in range(1000)]
        known.append((batch[0][0], batch[0][1].key_url))
        with tables.write() as txn:
            put = txn.urls.put
            began_s = time.perf_counter()
            for key, row in batch:
                put(key, row)
            put_us.append((time.perf_counter() - began_s) * 1e3)
    random.Random(2).shuffle(known)

    def read() -> None:
        with tables.read():
            pass

    def read_one() -> None:
        with tables.read() as txn:
            txn.urls.glance(*known[0])

    return {
        "put_us": {
            "p50": round(statistics.median(put_us), 3),
            "last_tenth": round(statistics.median(put_us[-len(put_us) // 10 :]), 3),
        },
        "glance_us": {
            "read": glances(tables, known, write=False),
            "write": glances(tables, known, write=True),
        },
        "read_us": {"empty": best_us(read, 2000), "one look": best_us(read_one, 2000)},
        "commit": {puts: commits(tables, new, puts) for puts in (1, 1000)},
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--dir", type=Path)
    options = parser.parse_args()
    row_us = {}
    for name, row in ROWS.items():
        codec = CODECS[name.partition(" ")[0]]
        value = codec.encode(row)
        row_us[name] = {
            "encode": best_us(lambda c=codec, r=row: c.encode(r), 2000),  # type: ignore[misc]
            "decode": best_us(lambda c=codec, v=value: c.decode(v), 2000),  # type: ignore[misc]
            "bytes": len(value),
        }
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        lmdb = LmdbTables.open(folder, map_bytes=1 << 36)
        figures = measure(lmdb, options.urls)
        with lmdb.read() as txn:
            figures["bytes_per_url"] = round(lmdb.used_bytes / txn.urls.count(), 1)
        lmdb.close()
    memory = measure(MemoryTables(), min(options.urls, 100_000))
    print(json.dumps({"urls": options.urls, "row_us": row_us, "lmdb": figures, "memory": memory}))


if __name__ == "__main__":
    main()
