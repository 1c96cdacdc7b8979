"""A worker: takes, visits, hands over. A visit that raises costs its URL, never the worker."""

from __future__ import annotations

import logging

from mercator.engine.dispatch import Dispatcher
from mercator.engine.gate import Interrupted
from mercator.engine.host_clock import ClockRules, HostClocks
from mercator.engine.inbox import Fault, Inbox
from mercator.engine.lease import Lease
from mercator.engine.outcome import Finished
from mercator.engine.visit import Visit
from mercator.errors import StoreError
from mercator.ports import Clock
from mercator.values import Errand, Ticket

_log = logging.getLogger("mercator")


class Worker:
    """The loop of one fetch thread. Threads: one object may serve all workers (no state of its own)."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        visit: Visit,
        inbox: Inbox,
        clocks: HostClocks,
        rules: ClockRules,
        clock: Clock,
    ) -> None:
        self._dispatcher = dispatcher
        self._visit = visit
        self._inbox = inbox
        self._clocks = clocks
        self._rules = rules
        self._clock = clock

    def run(self) -> None:
        """Works until the dispatcher stops. What no visit can have caused ends the crawl, because a
        worker that left without a word would take its host's lease along."""
        try:
            while (task := self._dispatcher.take()) is not None:
                self.do(task)
        except BaseException as error:
            self._inbox.put(Fault(error))

    def do(self, task: Ticket | Errand) -> None:
        """One ticket or errand, from its hand-out to the writer's inbox."""
        lease = Lease(self._dispatcher, self._rules, self._clock, task)
        try:
            if isinstance(task, Ticket):
                finished = self._visit.visit(task, lease)
            else:
                finished = self._visit.run_errand(task, lease)
        except Interrupted:
            lease.abandon(self._clocks.get(task.host_id))
            return
        except StoreError:
            raise
        except Exception as error:
            # Anything a page provoked in our own code: the URL gets a second chance, then it is
            # `poison`; the traceback is in the log.
            _log.exception("a visit raised: %s", task.url)
            finished = self._poisoned(task, lease, error)
        finally:
            lease.close()
        if finished is not None:
            self._hand_over(finished, lease)

    def _hand_over(self, finished: Finished, lease: Lease) -> None:
        """To the writer; a ticket that goes back does so afterwards, so that what happens to the URL
        next is committed later than this."""
        self._inbox.put(finished)
        if not finished.returned:
            return
        ticket = finished.ticket
        assert ticket is not None, "only a ticket is returned"
        if finished.requested:
            ticket = ticket._replace(attempts=ticket.attempts + 1)
        if finished.errand is not None:
            lease.leave_to_errand(ticket)
        elif finished.drain is not None:
            lease.end(ticket, finished.clock)
        else:
            lease.give_back(ticket, finished.clock, asked=True)

    def _poisoned(self, task: Ticket | Errand, lease: Lease, error: Exception) -> Finished:
        """The end of a visit that raised: what was sent before stays in the ledger."""
        now = self._clock.unix_s()
        finished = lease.finished or self._unsent(task)
        if not lease.released():
            clock = finished.clock
            if lease.finished is None:
                # Whether a request went out is not known, so the host rests as after one.
                clock = clock._replace(
                    version=clock.version + 1, due_at=max(clock.due_at, now + clock.gap_s)
                )
                self._clocks.put(task.host_id, clock)
            finished.clock = clock
            lease.release(clock)
        if isinstance(task, Errand):
            asking = self._clocks.get(task.asking_host_id)
            asking = asking.blocked(now + self._rules.back_off_s(6), "back_off")
            self._clocks.put(task.asking_host_id, asking)
            lease.release_asking(task.asking_host_id, asking)
            finished.errand_done = task
        else:
            finished.ticket = task
        finished.poisoned = True
        finished.returned = False
        finished.state = finished.reason = finished.page = finished.redirect = None
        finished.drain = finished.errand = None
        finished.error = f"{type(error).__name__}: {error}"[:300]
        finished.due_at = now + self._rules.back_off_s(1)
        return finished

    def _unsent(self, task: Ticket | Errand) -> Finished:
        return Finished(
            ticket=None,
            host_id=task.host_id,
            host=task.host,
            clock=self._clocks.get(task.host_id),
        )
