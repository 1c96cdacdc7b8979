"""Spine 2: one ticket, from the rules to its links (steps 11-20).

Every way out gives exactly one `Finished`, which the writer turns into one transaction, or none when
the ticket went back unused. robots.txt (12), the host's clock and the global bucket (13) and the
address guard (14) lie on the only path to a fetch.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from mercator.config import CrawlConfig
from mercator.content.decode import whole_characters
from mercator.content.page import parse_page
from mercator.engine.gate import Gate
from mercator.engine.host_clock import ClockRules, HostClocks
from mercator.engine.intake import Intake, Path
from mercator.engine.lease import Lease
from mercator.engine.ledger import header, visit_row
from mercator.engine.outcome import Finished, Page
from mercator.engine.robots_visit import RobotsVisit, fatal_drain
from mercator.politeness.failures import Action, HostVerdict, Judgement, judge
from mercator.politeness.robots_cache import RobotsAnswer, RobotsCache, RobotsVerdict
from mercator.ports import Clock, Documents
from mercator.values import (
    CanonicalUrl,
    Errand,
    FetchFailure,
    FetchResult,
    Kind,
    Reason,
    State,
    Ticket,
)


class Visit:
    """What a worker does with a ticket or an errand.

    Threads: safe from any thread; the CPU stage is a lock.
    """

    def __init__(
        self,
        config: CrawlConfig,
        gate: Gate,
        intake: Intake,
        robots: RobotsCache,
        robots_visit: RobotsVisit,
        clocks: HostClocks,
        rules: ClockRules,
        documents: Documents,
        clock: Clock,
    ) -> None:
        self._config = config
        self._gate = gate
        self._intake = intake
        self._robots = robots
        self._robots_visit = robots_visit
        self._clocks = clocks
        self._rules = rules
        self._documents = documents
        self._clock = clock
        self._cpu_stage = threading.Lock()

    # -- 11: the ticket ------------------------------------------------------------------------------

    def visit(self, ticket: Ticket, lease: Lease) -> Finished | None:
        """One ticket. None: it went back unused and nothing is to be written."""
        url = CanonicalUrl(ticket.url, ticket.key_url, ticket.host)
        rule = self._intake.still_refused(url, ticket.depth, seed_began=ticket.seed_began)
        if rule is not None:
            return self._without_request(ticket, lease, State.REFUSED, rule)
        verdict = self._robots.judge(ticket.url, self._robots_visit.load)  # 12
        if verdict.answer is RobotsAnswer.ASK:
            return self._robots_visit.ask(ticket, verdict, lease)
        if verdict.answer is not RobotsAnswer.ALLOWED:
            return self._not_allowed(ticket, verdict, lease)
        resolution = self._gate.addresses(ticket.host)  # 14
        if resolution is None:
            lease.hold_for_name(self._gate.ask_for_addresses)
            return None
        before = self._clocks.get(ticket.host_id)
        answer = self._gate.send(ticket.url, Kind.PAGE, resolution)  # 13, 15
        judgement = judge(
            answer,
            attempts=ticket.attempts + 1,
            retries=self._config.retries,
            now=answer.ended_at,
            max_retry_after_s=self._config.max_retry_after_s,
        )
        after = self._rules.after(before, answer, judgement, verdict.crawl_delay_s)
        self._clocks.put(ticket.host_id, after)
        finished = Finished(
            ticket=ticket,
            host_id=ticket.host_id,
            host=ticket.host,
            clock=after,
            requested=True,
            status=answer.status or 0,
            fetch_ms=answer.elapsed_s * 1000,
            visits=(visit_row(ticket.host, Kind.PAGE, answer, before, verdict.robots_at),),
        )
        lease.sent(finished)
        if isinstance(answer, FetchFailure):
            return self._failed(ticket, answer, judgement, finished, lease)
        return self._answered(ticket, answer, judgement, finished, lease)

    def run_errand(self, errand: Errand, lease: Lease) -> Finished | None:
        """A robots.txt redirect asked under this host's lease for another host."""
        return self._robots_visit.run(errand, lease)

    # -- 12: robots says no ----------------------------------------------------------------------------

    def _not_allowed(self, ticket: Ticket, verdict: RobotsVerdict, lease: Lease) -> Finished | None:
        if verdict.answer is RobotsAnswer.REFUSED:
            return self._without_request(ticket, lease, State.ROBOTS_REFUSED, Reason.ROBOTS_REFUSED)
        if verdict.answer is RobotsAnswer.GIVE_UP:
            return self._without_request(ticket, lease, State.FAILED, Reason.ROBOTS_UNKNOWN)
        clock = self._clocks.get(ticket.host_id).blocked(verdict.until, "robots_unknown")
        self._clocks.put(ticket.host_id, clock)
        lease.give_back(ticket, clock, asked=False)
        return None

    def _without_request(
        self, ticket: Ticket, lease: Lease, state: State, reason: Reason
    ) -> Finished:
        """The URL ends without a request, so its host need not wait."""
        clock = self._clocks.get(ticket.host_id)
        lease.release(clock)
        return Finished(
            ticket=ticket,
            host_id=ticket.host_id,
            host=ticket.host,
            clock=clock,
            state=state,
            reason=reason,
        )

    # -- 15: no answer -----------------------------------------------------------------------------------

    def _failed(
        self,
        ticket: Ticket,
        answer: FetchFailure,
        judgement: Judgement,
        finished: Finished,
        lease: Lease,
    ) -> Finished:
        finished.error = answer.error
        if judgement.host is HostVerdict.UNREACHABLE:
            return self._unreachable(ticket, judgement, finished)
        if judgement.host is HostVerdict.FATAL:
            assert judgement.reason is not None, "a fatal verdict names its reason"
            finished.drain = fatal_drain(ticket, judgement.reason, answer)
        if finished.drain is not None:
            lease.release_ended(finished.clock)
        elif not _returns(judgement):
            lease.release(finished.clock)
        return self._end_or_retry(ticket, judgement, finished)

    def _unreachable(self, ticket: Ticket, judgement: Judgement, finished: Finished) -> Finished:
        """The host cannot be reached: the URL goes back, and when it lasts all of them fail."""
        finished.returned = True
        finished.drain = self._robots_visit.drain_if_lasting(ticket, finished.clock, finished.error)
        return finished

    def _end_or_retry(self, ticket: Ticket, judgement: Judgement, finished: Finished) -> Finished:
        if judgement.action is not Action.RETRY:
            finished.state = State.GONE if judgement.action is Action.GONE else State.FAILED
            finished.reason = judgement.reason
            assert judgement.reason is not None, "an end without a page has a reason"
            return finished
        if _returns(judgement):
            finished.returned = True
            return finished
        finished.due_at = self._clock.unix_s() + self._rules.back_off_s(ticket.attempts + 1)
        return finished

    # -- 15: an answer -----------------------------------------------------------------------------------

    def _answered(
        self,
        ticket: Ticket,
        answer: FetchResult,
        judgement: Judgement,
        finished: Finished,
        lease: Lease,
    ) -> Finished:
        if not _returns(judgement):
            lease.release(finished.clock)
        lease.owns(answer.body)
        if judgement.action is Action.FOLLOW:
            self._redirected(ticket, answer, finished)
        elif judgement.action is Action.STORE and answer.wanted:
            finished.page = self._parse(ticket, answer)  # 16
            finished.state = State.STORED
        elif judgement.action is Action.STORE:
            finished.state, finished.reason = State.FAILED, Reason.TYPE_NOT_WANTED
            finished.error = f"Content-Type {header(answer, 'content-type')!r}"
        else:
            finished.error = f"HTTP status {answer.status}"
            self._end_or_retry(ticket, judgement, finished)
        if self._config.warc or finished.page is not None:
            finished.records = (self._documents.prepare(answer),)  # 18
        return finished

    def _redirected(self, ticket: Ticket, answer: FetchResult, finished: Finished) -> None:
        """A redirect hop is a frontier row of its own: it takes the whole way under its host's
        clock. Here only what one hop can know is decided; the writer sees loops over several."""
        target = self._intake.canonicalizer.parse(
            header(answer, "location") or "", ticket.url, "utf-8"
        )
        path = Path(
            ticket.key, ticket.host, ticket.depth, ticket.hops + 1, False, ticket.seed_began
        )
        if target is None:
            finished.state, finished.reason = State.FAILED, Reason.HTTP_ERROR
            finished.error = "the redirect's Location is no URL"
        elif target.url == ticket.url:
            finished.state, finished.reason = State.FAILED, Reason.REDIRECT_LOOP
            finished.error = "redirects to itself"
        elif path.hops > self._config.max_redirects:
            finished.state, finished.reason = State.FAILED, Reason.TOO_MANY_REDIRECTS
            finished.error = f"more than {self._config.max_redirects} redirects"
        elif isinstance(target, CanonicalUrl) and target.key_url == ticket.key_url:
            # Another spelling of the same URL (a slash, a tracking parameter): one row, asked again
            # as the server wants it spelled.
            finished.respelled = target.url
            finished.due_at = self._clock.unix_s()
        else:
            finished.state = State.REDIRECTED
            finished.redirect = self._intake.offer_one(target, "redirect", path)

    # -- 16: a page ------------------------------------------------------------------------------------

    def _parse(self, ticket: Ticket, answer: FetchResult) -> Page:
        with self._cpu_stage:
            body = answer.body.read()
            parsed = parse_page(
                whole_characters(body) if answer.truncated else body,
                url=ticket.url,
                content_type=header(answer, "content-type"),
                headers=answer.headers,
                user_agent=self._config.user_agent,
                max_links=self._config.max_links_per_page,
            )
            path = Path(ticket.key, ticket.host, ticket.depth + 1, 0, False, False)
            links = self._intake.offer(
                parsed.links, parsed.base_url, parsed.encoding, path, nofollow=parsed.nofollow
            )
        return Page(
            status=answer.status,
            fetched_at=answer.started_at,
            elapsed_ms=answer.elapsed_s * 1000,
            address=answer.address,
            content_type=header(answer, "content-type"),
            body_bytes=answer.body.size,
            truncated=answer.truncated,
            sha256=answer.body.sha256,
            etag=header(answer, "etag"),
            last_modified=header(answer, "last-modified"),
            parsed=replace(parsed, links=()),
            links=links,
        )


def _returns(judgement: Judgement) -> bool:
    """Whether the URL goes back to the head of its queue, to wait with its host: then the host is
    released together with it, after the writer has been told."""
    return judgement.action is Action.RETRY and judgement.host is HostVerdict.PAUSE
