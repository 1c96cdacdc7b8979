"""A small store in which everything fits, with a URL in every state, for tests that damage it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from mercator.ports import Tables, Txn
from mercator.rows import (
    ContentRow,
    DeadRow,
    HostRow,
    LinkRow,
    PageRow,
    QueueKey,
    UrlRow,
    VisitRow,
)
from mercator.store.bodies import FolderDocuments
from mercator.store.documents import WarcDocuments
from mercator.store.memory_tables import MemoryTables
from mercator.store.stored_bodies import StoredBodies
from mercator.store.warc import WarcInfo
from mercator.testing import ManualClock
from mercator.urls.url_key import host_id, url_key
from mercator.values import NO_KEY, Kind, Reason, State, UrlKey
from tests.unit.store.results import fetch_result

BODY = b"<p>a page and its copy</p>"
SHA256 = hashlib.sha256(BODY).digest()
DUE = (1_800_000_100_000_000).to_bytes(8, "big")
A, B = host_id("a.test"), host_id("b.test")


def key(path: str, host: str = "a.test") -> UrlKey:
    """The key of a URL of the store."""
    return url_key(f"http://{host}/{path}", host)


HOME, COPY, MOVED = key("home"), key("copy"), key("moved")
GONE, BROKEN, PRIVATE = key("gone"), key("broken"), key("private")
IN_BACK, IN_DELAYED = key("back"), key("delayed")
REFUSED, IN_FRONT = key("refused", "b.test"), key("front", "b.test")

PLACES = {
    "front": QueueKey(b"\x02", 7),
    "back": QueueKey(A, 3),
    "delayed": QueueKey(DUE, 4),
}


def url_row(path: str, state: State, host: str = "a.test", **fields: Any) -> UrlRow:
    """A row of `urls`, found on the home page unless it is that."""
    url = f"http://{host}/{path}"
    parent = NO_KEY if path == "home" else HOME
    return UrlRow(state=state, url=url, key_url=url, level=2, parent=parent)._replace(**fields)


def page_row(warc_file: str, warc_offset: int, **fields: Any) -> PageRow:
    """A row of `pages` with the one body of the store."""
    return PageRow(
        status=200,
        depth=0,
        parent=NO_KEY,
        fetched_at=1.8e9,
        elapsed_ms=1.0,
        address="127.0.0.1",
        content_type="text/html",
        encoding="utf-8",
        encoding_from="header",
        body_bytes=len(BODY),
        truncated=False,
        sha256=SHA256,
        simhash=None,
        title=None,
        duplicate_of=NO_KEY,
        near_duplicate_of=NO_KEY,
        near_distance=None,
        canonical=None,
        noindex=False,
        nofollow=False,
        signals=None,
        etag=None,
        last_modified=None,
        attempts=1,
        warc_file=warc_file,
        warc_offset=warc_offset,
    )._replace(**fields)


class WholeStore:
    """The store: `tables`, `documents`, and the folder of its files."""

    def __init__(self, folder: Path, *, warc: bool = True, tables: Tables | None = None) -> None:
        self.folder = folder
        self.tables: Tables = tables or MemoryTables()
        self.documents = StoredBodies(folder)
        writer: WarcDocuments | FolderDocuments
        if warc:
            writer = WarcDocuments(
                folder,
                shard=0,
                compress="gzip",
                info=WarcInfo(software="mercator/0", user_agent="mercator/0"),
                clock=ManualClock(),
                file_bytes=1_000_000,
                position=None,
            )
        else:
            writer = FolderDocuments(folder, shard=0, compress="gzip", position=None)
        places = [writer.append(writer.prepare(fetch_result(BODY))) for _ in range(2)]
        position = dict(writer.sync())
        writer.close()
        with self.tables.write() as txn:
            txn.pages.put(HOME, page_row(*places[0]))
            txn.pages.put(COPY, page_row(*places[1], parent=HOME, duplicate_of=HOME))
            txn.content.put(SHA256, ContentRow(HOME, *places[0]))
            txn.meta.put("warc", position)
            _put_urls(txn)
            _put_queues(txn)
            _put_counters(txn)


def _put_urls(txn: Txn) -> None:
    txn.urls.put(HOME, url_row("home", State.STORED, is_seed=True))
    txn.urls.put(COPY, url_row("copy", State.STORED))
    txn.urls.put(MOVED, url_row("moved", State.REDIRECTED, target=HOME))
    dead = {
        GONE: (url_row("gone", State.GONE), Reason.GONE),
        BROKEN: (url_row("broken", State.FAILED), Reason.HTTP_ERROR),
        PRIVATE: (url_row("private", State.ROBOTS_REFUSED), Reason.ROBOTS_REFUSED),
        REFUSED: (url_row("refused", State.REFUSED, "b.test"), Reason.OUT_OF_SCOPE),
    }
    for url, (row, reason) in dead.items():
        txn.urls.put(url, row._replace(reason=reason))
        txn.dead.put(url, DeadRow(reason, 1, "an error"))
    txn.urls.put(IN_BACK, url_row("back", State.PENDING))
    txn.urls.put(IN_DELAYED, url_row("delayed", State.PENDING, due_at=1_800_000_100.0))
    txn.urls.put(IN_FRONT, url_row("front", State.PENDING, "b.test"))
    link = LinkRow(COPY, "", "a", "", "copy")
    image = LinkRow(NO_KEY, "http://a.test/x.png", "img", "", "")
    txn.links.put(HOME, (link, image, link._replace(target=REFUSED)))
    txn.links.put(MOVED, (LinkRow(HOME, "", "redirect", "", ""),))


def _put_queues(txn: Txn) -> None:
    txn.front.put(PLACES["front"], IN_FRONT)
    txn.back.put(PLACES["back"], IN_BACK)
    txn.delayed.put(PLACES["delayed"], IN_DELAYED)
    txn.pins.put(A, b"")
    txn.hosts.put(A, HostRow("a.test", stored=2, failed=1, pending=2, body_bytes=2 * len(BODY)))
    txn.hosts.put(B, HostRow("b.test", pending=1))
    visit = VisitRow("a.test", "http://a.test/home", Kind.PAGE, "", 0, 0, 200, "", 1, 1.0, "", 0.0)
    txn.visits.put(8, visit)


def _put_counters(txn: Txn) -> None:
    counters = {
        "stored": 2,
        "redirects": 1,
        "gone": 1,
        "failed": 1,
        "robots_refused": 1,
        "refused": 1,
        "pending": 3,
        "seen": 10,
        "bytes": 2 * len(BODY),
        "duplicates_exact": 1,
        "fetched": 6,
        "known_again": 4,
    }
    reasons = ("gone", "http_error", "robots_refused", "out_of_scope")
    txn.meta.put("counters", counters)
    txn.meta.put("reasons", dict.fromkeys(reasons, 1))
    txn.meta.put("front_counts", [0, 1, 0])
    txn.meta.put("next", 8)
