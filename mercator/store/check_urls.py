"""Check, second part: the URLs. Does all that the tables say of one URL fit together?

`urls`, `pages`, `dead` and the sorted queue rows are merged by key, so that each URL is judged once
with everything that is known of it; nothing is remembered but the counters.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter

from mercator.errors import StoreDamagedError
from mercator.frontier.lifecycle import COUNTER_OF
from mercator.ports import Txn
from mercator.rows import DeadRow, PageRow, UrlRow
from mercator.store.check_hosts import HostSums, check_other_hosts, judge_host
from mercator.store.check_queues import Place, drop, queued_urls
from mercator.store.checkup import Checkup
from mercator.store.findings import Fault
from mercator.store.sorted_records import SortedRecords
from mercator.urls.url_key import HOST_ID_BYTES
from mercator.values import (
    NO_KEY,
    STATE_OF_REASON,
    BodyPlace,
    HostId,
    Reason,
    State,
    UrlKey,
)

URLS_AT_ONCE = 200
WITH_REASON = frozenset(STATE_OF_REASON.values())

MILDEST: dict[State, Reason] = {
    State.REFUSED: Reason.OUT_OF_SCOPE,
    State.GONE: Reason.GONE,
    State.ROBOTS_REFUSED: Reason.ROBOTS_REFUSED,
    State.FAILED: Reason.HTTP_ERROR,
}
"""The reason that a URL gets whose own was lost: the one that later runs judge anew, or `retry`."""


@dataclass(slots=True)
class Gathered:
    """All that the tables say of one key, and what the check makes of it."""

    key: UrlKey
    url: UrlRow | None = None
    page: PageRow | None = None
    dead: DeadRow | None = None
    places: list[Place] = field(default_factory=list)
    body_error: str | None = None

    @property
    def name(self) -> str:
        """The URL where it is known."""
        return self.url.url if self.url else self.key.hex()


def check_urls(run: Checkup, queued: SortedRecords) -> None:
    """Judges every URL, mends what does not fit, and sums up `run.counters` and `run.reasons`.

    Cost: one pass over `urls`, `pages` and `dead`, a look-up a parent, and with bodies their
    reading: some 120 us for 30 KB.
    """
    sums = HostSums(HostId(b""))
    gathered = _gather(run, queued)
    while chunk := list(islice(gathered, URLS_AT_ONCE)):
        for one in chunk:
            one.body_error = _body_error(run, one)
        with run.tables.read() as txn:
            for one in chunk:
                if one.key[:HOST_ID_BYTES] != sums.host:
                    judge_host(run, txn, sums)
                    sums = HostSums(HostId(one.key[:HOST_ID_BYTES]))
                _judge(run, txn, one, sums)
        run.commit(full_only=True)
    with run.tables.read() as txn:
        judge_host(run, txn, sums)
    run.commit()
    check_other_hosts(run)


def _gather(run: Checkup, queued: SortedRecords) -> Iterator[Gathered]:
    """Every key that occurs, in order, with its rows."""
    streams = (
        ((key, row) for key, row in run.rows(lambda txn: txn.urls)),
        ((key, row) for key, row in run.rows(lambda txn: txn.pages)),
        ((key, row) for key, row in run.rows(lambda txn: txn.dead)),
        queued_urls(queued),
    )
    merged = heapq.merge(*streams, key=itemgetter(0))
    for key, rows in groupby(merged, key=itemgetter(0)):
        one = Gathered(key)
        for _, row in rows:
            if isinstance(row, UrlRow):
                one.url = row
            elif isinstance(row, PageRow):
                one.page = row
            elif isinstance(row, DeadRow):
                one.dead = row
            elif isinstance(row, Place):
                one.places.append(row)
        yield one


def _body_error(run: Checkup, one: Gathered) -> str | None:
    """What is wrong with a page's body, or None. Reads it, unless only a look was asked for."""
    page = one.page
    if page is None or one.url is None:
        return None
    place = BodyPlace(page.warc_file, page.warc_offset)
    if not run.bodies:
        return run.documents.why_absent(place, page.sha256)
    try:
        body = run.documents.read(place, page.sha256)
    except StoreDamagedError as error:
        return str(error)
    if len(body) != page.body_bytes:
        return f"it has {len(body)} bytes, the page says {page.body_bytes}"
    return None


def _judge(run: Checkup, txn: Txn, one: Gathered, sums: HostSums) -> None:
    """Settles one key: its state first, then everything that follows from the state."""
    if one.url is None:
        _judge_orphan(run, one)
        return
    row = _settled(run, txn, one, one.url)
    if row != one.url:
        key = one.key
        run.mend(lambda txn: txn.urls.put(key, row))
    _judge_dead(run, one, row)
    _judge_places(run, one, row)
    _sum_up(run, one, row if run.repair else one.url, sums)


def _judge_orphan(run: Checkup, one: Gathered) -> None:
    """Rows of a key that has no URL: the text of the URL is lost, so nothing can be done for them."""
    key = one.key
    if one.page is not None:
        run.findings.add(Fault.PAGE_ORPHAN, one.name, "its URL has no row; dropped", lost=True)
        run.mend(lambda txn: txn.pages.delete(key))
    if one.dead is not None:
        run.findings.add(
            Fault.DEAD_WRONG, one.name, f"failed ({one.dead.reason}) but has no row; dropped"
        )
        run.mend(lambda txn: txn.dead.delete(key))
    for place in one.places:
        run.findings.add(Fault.QUEUED_WRONGLY, one.name, f"{place.name}: it has no row; dropped")
        drop(run, place)


def _settled(run: Checkup, txn: Txn, one: Gathered, row: UrlRow) -> UrlRow:
    """The row as it should be. A page that can be read makes its URL a stored one, one that cannot
    (or is not there) a pending one: it is fetched again."""
    if one.page is not None:
        row = _judge_page(run, txn, one, one.page, row)
    elif row.state is State.STORED:
        run.findings.add(
            Fault.PAGE_MISSING, one.name, "its page is lost; it is to be fetched again", lost=True
        )
        row = _pending_again(row)
    if row.state is State.REDIRECTED and row.target and not run.has_url(txn, row.target):
        run.findings.add(
            Fault.REFERENCE_LOST, one.name, "where it redirects to is lost; it is to be asked again"
        )
        row = _pending_again(row)
    if row.parent and not run.has_url(txn, row.parent):
        run.findings.add(
            Fault.REFERENCE_LOST, one.name, "what it was found on is lost: from nowhere", lost=True
        )
        row = row._replace(parent=NO_KEY)
    return _with_fitting_reason(run, one, row)


def _judge_page(run: Checkup, txn: Txn, one: Gathered, page: PageRow, row: UrlRow) -> UrlRow:
    """A page's body, state and references; gives its URL's row as it should be."""
    key = one.key
    if one.body_error is not None:
        run.findings.add(
            Fault.BODY_LOST, one.name, f"{one.body_error}; to be fetched again", lost=True
        )
        run.mend(lambda txn: txn.pages.delete(key))
        if run.repair and not page.warc_file:
            run.documents.set_aside(page.sha256)
        if run.repair:
            one.page = None
        return _pending_again(row)
    if row.state is not State.STORED:
        run.findings.add(
            Fault.PAGE_UNSTORED, one.name, f"its state is {row.state.name.lower()}; now stored"
        )
        row = row._replace(state=State.STORED, reason=None, due_at=0.0)
    _judge_references(run, txn, one, page)
    return row


def _judge_references(run: Checkup, txn: Txn, one: Gathered, page: PageRow) -> None:
    """What a page names as its parent and its originals has a row."""
    key = one.key
    mended = page
    if page.parent and not run.has_url(txn, page.parent):
        mended = mended._replace(parent=NO_KEY)
    if page.duplicate_of and not run.has_url(txn, page.duplicate_of):
        mended = mended._replace(duplicate_of=NO_KEY)
    if page.near_duplicate_of and not run.has_url(txn, page.near_duplicate_of):
        mended = mended._replace(near_duplicate_of=NO_KEY, near_distance=None)
    if mended != page:
        run.findings.add(
            Fault.REFERENCE_LOST, one.name, "its page names URLs that are lost; cleared", lost=True
        )
        run.mend(lambda txn: txn.pages.put(key, mended))
        if run.repair:
            one.page = mended


def _pending_again(row: UrlRow) -> UrlRow:
    """The row of a URL that is to be fetched anew, with all its attempts before it."""
    return row._replace(
        state=State.PENDING, reason=None, attempts=0, poisoned=0, target=NO_KEY, due_at=0.0
    )


def _with_fitting_reason(run: Checkup, one: Gathered, row: UrlRow) -> UrlRow:
    """Exactly the four ends without a page have a reason, each one of its own."""
    if row.state not in WITH_REASON:
        if row.reason is None:
            return row
        run.findings.add(
            Fault.REASON_WRONG, one.name, f"{row.state.name.lower()} has no reason; cleared"
        )
        return row._replace(reason=None)
    if row.reason is not None and STATE_OF_REASON[row.reason] is row.state:
        return row
    told = one.dead.reason if one.dead else None
    reason = told if told and STATE_OF_REASON[told] is row.state else MILDEST[row.state]
    run.findings.add(
        Fault.REASON_WRONG,
        one.name,
        f"{row.state.name.lower()} by {row.reason or 'nothing'}; now {reason}",
        lost=reason is not told,
    )
    return row._replace(reason=reason)


def _judge_dead(run: Checkup, one: Gathered, row: UrlRow) -> None:
    """A URL with a reason has its row in `dead`, with the same reason; no other URL has one."""
    key, dead, reason = one.key, one.dead, row.reason
    if reason is None:
        if dead is not None:
            run.findings.add(
                Fault.DEAD_WRONG, one.name, f"is listed as {dead.reason} but has no reason; dropped"
            )
            run.mend(lambda txn: txn.dead.delete(key))
        return
    if dead is not None and dead.reason is reason:
        return
    listed = f"is listed as {dead.reason}" if dead else "is not listed"
    run.findings.add(Fault.DEAD_WRONG, one.name, f"{listed}; now {reason}")
    mended = DeadRow(reason, row.attempts, dead.error if dead else "")
    run.mend(lambda txn: txn.dead.put(key, mended))


def _judge_places(run: Checkup, one: Gathered, row: UrlRow) -> None:
    """A pending URL lies in exactly one queue, every other one in none."""
    if row.state is not State.PENDING:
        for place in one.places:
            run.findings.add(
                Fault.QUEUED_WRONGLY,
                one.name,
                f"{place.name}: is {row.state.name.lower()}; dropped",
            )
            drop(run, place)
        return
    if not one.places:
        # A URL that has just become pending is told of already.
        if one.url is not None and one.url.state is State.PENDING:
            run.findings.add(Fault.NOT_QUEUED, one.name, "now at the end of its front queue")
        run.queue(one.key, row)
        return
    for place in one.places[1:]:
        run.findings.add(
            Fault.QUEUED_TWICE, one.name, f"{one.places[0].name} and {place.name}; the latter goes"
        )
        drop(run, place)


def _sum_up(run: Checkup, one: Gathered, row: UrlRow, sums: HostSums) -> None:
    run.counters["seen"] += 1
    run.counters[COUNTER_OF[row.state]] += 1
    sums.example = row.key_url or row.url
    sums.stored += row.state is State.STORED
    sums.failed += row.state is State.FAILED
    sums.pending += row.state is State.PENDING
    if row.state in WITH_REASON and row.reason is not None:
        run.reasons[row.reason] += 1
    if one.page is not None:
        sums.body_bytes += one.page.body_bytes
        run.counters["bytes"] += one.page.body_bytes
        run.counters["duplicates_exact"] += bool(one.page.duplicate_of)
