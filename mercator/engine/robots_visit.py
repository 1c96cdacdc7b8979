"""Asking for robots.txt: a request like any other, under the lease of the host it goes to (step 12).

A ticket whose origin has no fresh robots.txt spends its host's turn on asking for it and goes back
unused. A redirect to the same host is asked on that host's next turn; one to another host becomes an
*errand* there, and the asking host stays on lease until it has ended. So no host ever has two
requests in flight, robots.txt included.
"""

from __future__ import annotations

from mercator.config import CrawlConfig
from mercator.engine.gate import Gate
from mercator.engine.host_clock import ClockRules, HostClock, HostClocks
from mercator.engine.lease import Lease
from mercator.engine.ledger import visit_row
from mercator.engine.outcome import Drain, Finished
from mercator.politeness.failures import HostVerdict, Judgement, judge, reason_of_failure
from mercator.politeness.robots_cache import (
    Follow,
    RobotsAnswer,
    RobotsCache,
    RobotsVerdict,
    origin_of,
)
from mercator.ports import Clock, Documents, Prepared, Tables
from mercator.rows import RobotsRow
from mercator.urls.canonical import Canonicalizer
from mercator.urls.url_key import host_id
from mercator.values import (
    CanonicalUrl,
    Errand,
    FetchFailure,
    FetchResult,
    HostId,
    Kind,
    Reason,
    Resolution,
    State,
    Ticket,
)


class RobotsVisit:
    """What a worker does when robots.txt has to be asked for.

    Threads: safe from any thread.
    """

    def __init__(
        self,
        config: CrawlConfig,
        gate: Gate,
        robots: RobotsCache,
        clocks: HostClocks,
        rules: ClockRules,
        documents: Documents,
        tables: Tables,
        clock: Clock,
    ) -> None:
        self._config = config
        self._gate = gate
        self._robots = robots
        self._clocks = clocks
        self._rules = rules
        self._documents = documents
        self._tables = tables
        self._clock = clock
        self._canonicalizer = Canonicalizer("conservative")

    def load(self, origin: str) -> RobotsRow | None:
        """The stored row of an origin that the cache does not remember."""
        with self._tables.read() as txn:
            return txn.robots.get(origin)

    def ask(self, ticket: Ticket, verdict: RobotsVerdict, lease: Lease) -> Finished | None:
        """Spends the ticket's turn on robots.txt (or on the next hop of it)."""
        target = self._canonicalizer.parse(verdict.ask_url)
        if isinstance(target, CanonicalUrl) and target.host != ticket.host:
            # A hop that could not be asked the last time, because its host waited for us.
            finished = Finished(
                ticket=ticket,
                host_id=ticket.host_id,
                host=ticket.host,
                clock=self._clocks.get(ticket.host_id),
            )
            return self._send_errand(ticket, verdict.origin, target, verdict.hops, finished)
        resolution = self._gate.addresses(ticket.host)
        if resolution is None:
            lease.hold_for_name(self._gate.ask_for_addresses)
            return None
        answer, judgement, finished = self._send(
            ticket.host, ticket.host_id, verdict.ask_url, verdict.ask_headers, resolution, lease
        )
        finished.ticket = ticket
        step = self._robots.answered(verdict.origin, verdict.hops, answer, self.load)
        if judgement.host is HostVerdict.FATAL:
            return self._fatal(ticket, answer, judgement, finished, lease)
        if isinstance(step, Follow):
            hop = self._canonicalizer.parse(step.url)
            if isinstance(hop, CanonicalUrl) and hop.host != ticket.host:
                return self._send_errand(ticket, verdict.origin, hop, step.hops, finished)
            self._robots.pending_hop(verdict.origin, step.url, step.hops)
        else:
            self._take(verdict.origin, step, finished)
        finished.clock = self._with_robots(ticket.url, finished.clock, ticket.host_id)
        finished.returned = True
        if judgement.host is HostVerdict.UNREACHABLE:
            finished.drain = self.drain_if_lasting(ticket, finished.clock, finished.error)
        return finished

    def run(self, errand: Errand, lease: Lease) -> Finished | None:
        """One hop of another host's robots.txt, asked here."""
        resolution = self._gate.addresses(errand.host)
        if resolution is None:
            lease.hold_for_name(self._gate.ask_for_addresses)
            return None
        answer, _, finished = self._send(
            errand.host, errand.host_id, errand.url, (), resolution, lease
        )
        finished.errand_done = errand
        # This host has a robots.txt of its own, whose Crawl-delay holds after this request too.
        finished.clock = self._with_robots(errand.url, finished.clock, errand.host_id)
        lease.release(finished.clock)
        step = self._robots.answered(errand.origin, errand.hops, answer, self.load)
        if isinstance(step, Follow):
            hop = self._canonicalizer.parse(step.url)
            if isinstance(hop, CanonicalUrl) and host_id(hop.host) != errand.asking_host_id:
                self._robots.pending_hop(errand.origin, hop.url, step.hops)
                finished.errand = errand._replace(
                    host=hop.host, host_id=host_id(hop.host), url=hop.url, hops=step.hops
                )
                return finished
            self._robots.pending_hop(errand.origin, step.url, step.hops)
        else:
            self._take(errand.origin, step, finished)
        asking = self._clocks.get(errand.asking_host_id)
        asking = self._with_robots(errand.origin + "/", asking, errand.asking_host_id)
        lease.release_asking(errand.asking_host_id, asking)
        return finished

    def drain_if_lasting(self, ticket: Ticket, clock: HostClock, error: str) -> Drain | None:
        """The end of all URLs of an origin that could not be reached often and long enough; the
        other case, that nothing else is left to do, is the engine's to see (`ending.py`)."""
        tries = 1 + self._config.retries
        lasted_s = self._clock.unix_s() - clock.unreachable_since
        if clock.unreachable < tries or lasted_s < self._config.unreachable_after_s:
            return None
        assert clock.unreachable_kind is not None, "an unreachable host has a kind of failure"
        reason = reason_of_failure(clock.unreachable_kind)
        return Drain(
            ticket.host_id,
            reason,
            origin_of(ticket.url),
            error,
            clock.unreachable,
            clock.unreachable_since,
            clock.unreachable_at,
        )

    def _send(
        self,
        host: str,
        host_id_: HostId,
        url: str,
        headers: tuple[tuple[str, str], ...],
        resolution: Resolution,
        lease: Lease,
    ) -> tuple[FetchResult | FetchFailure, Judgement, Finished]:
        before = self._clocks.get(host_id_)
        answer = self._gate.send(url, Kind.ROBOTS, resolution, headers)
        judgement = judge(
            answer,
            attempts=1,
            retries=self._config.retries,
            now=answer.ended_at,
            max_retry_after_s=self._config.max_retry_after_s,
        )
        after = self._rules.after(before, answer, judgement, None)
        self._clocks.put(host_id_, after)
        records: tuple[Prepared, ...] = ()
        if isinstance(answer, FetchResult):
            lease.owns(answer.body)
            if self._config.warc:
                records = (self._documents.prepare(answer),)
        finished = Finished(
            ticket=None,
            host_id=host_id_,
            host=host,
            clock=after,
            error=answer.error if isinstance(answer, FetchFailure) else "",
            visits=(visit_row(host, Kind.ROBOTS, answer, before, 0.0),),
            records=records,
        )
        lease.sent(finished)
        return answer, judgement, finished

    def _take(self, origin: str, row: RobotsRow, finished: Finished) -> None:
        self._robots.keep(origin, row)
        finished.robots = (origin, row)

    def _with_robots(self, url: str, clock: HostClock, host_id_: HostId) -> HostClock:
        """The clock with what the file says: its Crawl-delay from now on, and the pause while it
        is unknown."""
        verdict = self._robots.judge(url, self.load)
        if verdict.crawl_delay_s is not None and verdict.crawl_delay_s > clock.gap_s:
            clock = clock._replace(
                due_at=clock.due_at + verdict.crawl_delay_s - clock.gap_s,
                gap_s=verdict.crawl_delay_s,
                gap_reason="crawl_delay",
            )
        if verdict.answer is RobotsAnswer.UNKNOWN:
            clock = clock.blocked(verdict.until, "robots_unknown")
        self._clocks.put(host_id_, clock)
        return clock

    def _send_errand(
        self, ticket: Ticket, origin: str, hop: CanonicalUrl, hops: int, finished: Finished
    ) -> Finished:
        # Remembered, so that a refused errand goes on from here and its hops are counted.
        self._robots.pending_hop(origin, hop.url, hops)
        finished.returned = True
        finished.errand = Errand(
            host=hop.host,
            host_id=host_id(hop.host),
            url=hop.url,
            origin=origin,
            asking_host_id=ticket.host_id,
            hops=hops,
        )
        return finished

    def _fatal(
        self,
        ticket: Ticket,
        answer: FetchResult | FetchFailure,
        judgement: Judgement,
        finished: Finished,
        lease: Lease,
    ) -> Finished:
        """The host fails at once: this URL, and all that wait for its origin."""
        assert judgement.reason is not None, "a fatal verdict names its reason"
        reason: Reason = judgement.reason
        lease.release_ended(finished.clock)
        finished.state = State.FAILED
        finished.reason = reason
        finished.drain = fatal_drain(ticket, reason, answer)
        return finished


def fatal_drain(ticket: Ticket, reason: Reason, answer: FetchResult | FetchFailure) -> Drain:
    """The end of all that waits for a ticket's origin, after one attempt that showed it cannot help
    to try again."""
    error = answer.error if isinstance(answer, FetchFailure) else ""
    origin = origin_of(ticket.url)
    return Drain(ticket.host_id, reason, origin, error, 1, answer.started_at, answer.ended_at)
