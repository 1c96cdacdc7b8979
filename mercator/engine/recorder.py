"""The recorder: what one visit changes, as rows, inside the writer's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mercator.engine.host_rows import HostRows
from mercator.engine.intake import Intake, Path
from mercator.engine.outcome import Finished, Found, Page
from mercator.engine.stats import Counts, Histogram
from mercator.frontier.frontier import Frontier
from mercator.frontier.lifecycle import COUNTER_OF, move
from mercator.ports import Documents, Txn
from mercator.rows import DeadRow, LinkRow, PageRow, UrlRow
from mercator.seen.content_seen import remember
from mercator.urls.url_key import host_id
from mercator.values import (
    NO_KEY,
    BodyPlace,
    CanonicalUrl,
    HostId,
    Reason,
    State,
    Ticket,
    UrlKey,
)


class End(NamedTuple):
    """A pending URL's final state, and why. Threads: immutable."""

    state: State
    reason: Reason | None
    error: str


_LOOP_STEPS = 64
"""Redirect rows followed when looking for a loop; longer chains end at the hop limit anyway."""


class Recorder:
    """Turns `Finished` into rows. Threads: confined to the writer thread."""

    def __init__(
        self, intake: Intake, frontier: Frontier, documents: Documents, counts: Counts
    ) -> None:
        self._intake = intake
        self._frontier = frontier
        self._documents = documents
        self._counts = counts
        self._clock_versions: dict[HostId, int] = {}
        self.fetch_times = Histogram()
        self.opened: set[bytes] = set()

    def record(self, txn: Txn, finished: Finished, hosts: HostRows, unix_s: float) -> None:
        """One visit: ledger, robots copy, host clock, the URL's new state, page, links."""
        for visit in finished.visits:
            self._frontier.sequence += 1
            txn.visits.put(self._frontier.sequence, visit)
        if finished.robots is not None:
            txn.robots.put(*finished.robots)
        self._move_clock(finished, hosts)
        place = BodyPlace("", 0)
        for record in finished.records:
            place = self._documents.append(record)
        if finished.errand_done is not None:
            done = finished.errand_done
            self._frontier.errand_done(done.host_id, done.asking_host_id)
        if finished.returned:
            self._frontier.returned()
        if finished.requested:
            if finished.fetch_ms is not None:
                self.fetch_times.add(finished.fetch_ms)
            if finished.status:
                self._counts.add("fetched")
        ticket = finished.ticket
        if ticket is not None and (not finished.returned or finished.requested):
            self._settle(txn, ticket, finished, hosts, place, unix_s)

    def forget_host(self, host_id: HostId) -> None:
        """The host is no longer active; its clock starts anew from its row."""
        self._clock_versions.pop(host_id, None)

    def _move_clock(self, finished: Finished, hosts: HostRows) -> None:
        """Visits may be committed in another order than their requests ended; the latest clock
        stands."""
        clock = finished.clock
        if clock.version >= self._clock_versions.get(finished.host_id, 0):
            self._clock_versions[finished.host_id] = clock.version
            hosts.set_clock(finished.host_id, finished.host, clock)

    # -- the URL's end -------------------------------------------------------------------------------

    def _settle(
        self,
        txn: Txn,
        ticket: Ticket,
        finished: Finished,
        hosts: HostRows,
        place: BodyPlace,
        unix_s: float,
    ) -> None:
        old = txn.urls.get(ticket.key)
        assert old is not None, "a ticket's URL has a row"
        assert old.state is State.PENDING, "a ticket's URL is pending"
        row = self._tried(old, finished)
        if finished.returned:
            txn.urls.put(ticket.key, row)
            return
        if finished.poisoned:
            row = row._replace(poisoned=row.poisoned + 1)
            if row.poisoned > 1:
                finished.state, finished.reason = State.FAILED, Reason.POISON
        if finished.respelled:
            row = row._replace(url=finished.respelled, hops=row.hops + 1)
        if finished.redirect is not None:
            row = self._redirect(txn, ticket, finished, finished.redirect, row, hosts, unix_s)
        self._frontier.leave(txn, ticket, stored=finished.state is State.STORED)
        if finished.state is None:
            txn.urls.put(ticket.key, row._replace(due_at=finished.due_at))
            self._frontier.delay(txn, finished.due_at, ticket.key)
            return
        if finished.drain is not None:
            row = finished.drain.tried(row)
        end = End(finished.state, finished.reason, finished.error)
        self.end(txn, ticket.key, row, ticket.host, end, hosts)
        if finished.page is not None:
            self._store(txn, ticket, finished.page, row, place, hosts, unix_s)

    def _tried(self, row: UrlRow, finished: Finished) -> UrlRow:
        """The row after one more request, where one was made."""
        if not finished.requested:
            return row
        visit = finished.visits[-1]
        return row._replace(
            attempts=row.attempts + 1,
            status=finished.status,
            first_at=row.first_at or visit.started_at,
            last_at=visit.ended_at,
        )

    def end(self, txn: Txn, key: UrlKey, row: UrlRow, host: str, end: End, hosts: HostRows) -> None:
        """A pending URL's final state: row, counters, `dead` where it has a reason. The caller has
        taken it from its queue."""
        state, reason, error = end
        txn.urls.put(key, row._replace(state=move(row.state, state), reason=reason, due_at=0.0))
        self._counts.add("pending", -1)
        self._counts.add(COUNTER_OF[state])
        hosts.add(
            host_id(host),
            host,
            pending=-1,
            stored=int(state is State.STORED),
            failed=int(state is State.FAILED),
        )
        if reason is not None:
            self._counts.add_reason(reason, 1)
            txn.dead.put(key, DeadRow(reason, row.attempts, error))

    # -- a redirect ----------------------------------------------------------------------------------

    def _redirect(
        self,
        txn: Txn,
        ticket: Ticket,
        finished: Finished,
        found: Found,
        row: UrlRow,
        hosts: HostRows,
        unix_s: float,
    ) -> UrlRow:
        """Admits the target; when the target's own redirects lead back here, this URL closes the
        loop and is the one that is named."""
        path = Path(ticket.key, ticket.host, row.depth, ticket.hops + 1, False, row.seed_began)
        target = self._intake.admit(txn, found, path, hosts, unix_s)
        txn.links.put(ticket.key, (LinkRow(target, "", "redirect", "", ""),))
        if self._leads_to(txn, target, ticket.key):
            finished.state, finished.reason = State.FAILED, Reason.REDIRECT_LOOP
            finished.error = "the redirects lead back to this URL"
            return row
        return row._replace(target=target)

    def _leads_to(self, txn: Txn, start: UrlKey, end: UrlKey) -> bool:
        key = start
        for _ in range(_LOOP_STEPS):
            if key == end:
                return True
            row = txn.urls.get(key)
            if row is None or row.state is not State.REDIRECTED:
                return False
            key = row.target
        return False

    # -- a page --------------------------------------------------------------------------------------

    def _store(
        self,
        txn: Txn,
        ticket: Ticket,
        page: Page,
        row: UrlRow,
        place: BodyPlace,
        hosts: HostRows,
        unix_s: float,
    ) -> None:
        duplicate_of = remember(txn, page.sha256, ticket.key, place)  # 17
        if duplicate_of:
            self._counts.add("duplicates_exact")
        self._counts.add("bytes", page.body_bytes)
        hosts.add(ticket.host_id, ticket.host, body_bytes=page.body_bytes)
        parsed = page.parsed
        txn.pages.put(
            ticket.key,
            PageRow(
                status=page.status,
                depth=row.depth,
                parent=ticket.parent,
                fetched_at=page.fetched_at,
                elapsed_ms=page.elapsed_ms,
                address=page.address,
                content_type=page.content_type,
                encoding=parsed.encoding or None,
                encoding_from=parsed.encoding_from or None,
                body_bytes=page.body_bytes,
                truncated=page.truncated,
                sha256=page.sha256,
                simhash=None,
                title=parsed.title,
                duplicate_of=duplicate_of,
                near_duplicate_of=NO_KEY,
                near_distance=None,
                canonical=parsed.canonical,
                noindex=parsed.noindex,
                nofollow=parsed.nofollow,
                signals=None,
                etag=page.etag,
                last_modified=page.last_modified,
                attempts=row.attempts,
                warc_file=place.warc_file,
                warc_offset=place.warc_offset,
            ),
        )
        path = Path(ticket.key, ticket.host, row.depth + 1, 0, False, False)
        links = page.links
        if row.depth < ticket.depth:
            # A shorter path was found while the page was fetched: its links are nearer too.
            links = self._intake.nearer(links, path)
        txn.links.put(ticket.key, tuple(self._link_rows(txn, links, path, hosts, unix_s)))
        if ticket.seed_began:
            # A seed's redirects ended here: the scope reaches here too.
            url = CanonicalUrl(ticket.url, ticket.key_url, ticket.host)
            self.opened |= self._intake.extend_scope(txn, [url])

    def _link_rows(
        self,
        txn: Txn,
        links: Iterable[Found],
        path: Path,
        hosts: HostRows,
        unix_s: float,
    ) -> Iterable[LinkRow]:
        """19: the links back to step 5; each one's row in `links`."""
        for found in links:
            if found.has_row:
                key = self._intake.admit(txn, found, path, hosts, unix_s)
                yield LinkRow(key, "", found.kind, found.rel, found.anchor)
            else:
                yield LinkRow(NO_KEY, found.key_url, found.kind, found.rel, found.anchor)

    def take_back(self, txn: Txn, key: UrlKey, row: UrlRow, hosts: HostRows) -> bool:
        """Readmits a refused URL that today's rules admit; says whether it did."""
        url = self._intake.canonicalizer.parse(row.url)
        assert isinstance(url, CanonicalUrl), "only URLs with a canonical form are refused by rules"
        rule = self._intake.rule_of(row, url, hosts)
        if rule is not None:
            if rule is not row.reason:
                self._refuse_for(txn, key, row, rule)
            return False
        self._intake.readmit(txn, key, row, hosts, url.host)
        return True

    def _refuse_for(self, txn: Txn, key: UrlKey, row: UrlRow, rule: Reason) -> None:
        """Another rule keeps a refused URL out than the one that did."""
        assert row.reason is not None, "a refused URL has a reason"
        self._counts.add_reason(row.reason, -1)
        self._counts.add_reason(rule, 1)
        txn.urls.put(key, row._replace(reason=rule))
        txn.dead.put(key, DeadRow(rule, row.attempts, ""))
