"""A worker's hold on one host, from the hand-out to the end of the request."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mercator.engine.dispatch import Dispatcher
from mercator.engine.host_clock import ClockRules, HostClock
from mercator.engine.outcome import Finished
from mercator.ports import Body, Clock
from mercator.values import Errand, HostId, Ticket

Ask = Callable[[str, Callable[[], None]], None]


class Lease:
    """Releases its host exactly once, whatever happens in the visit.

    Threads: confined to one worker.
    """

    def __init__(
        self, dispatcher: Dispatcher, rules: ClockRules, clock: Clock, task: Ticket | Errand
    ) -> None:
        self._dispatcher = dispatcher
        self._rules = rules
        self._clock = clock
        self._task = task
        self._bodies: list[Body] = []
        self._released = False
        self.finished: Finished | None = None

    def release(self, clock: HostClock) -> None:
        """The request has ended (or none was made): the host may be asked after its gap."""
        if not self._released:
            self._released = True
            self._release(self._task.host_id, clock)

    def release_ended(self, clock: HostClock) -> None:
        """As `release`, but nothing is handed out for the host before the writer has drained it:
        otherwise one more request could start between the verdict and its commit."""
        self._dispatcher.drain(self._task.host_id)
        self.release(clock)

    def sent(self, finished: Finished) -> None:
        """A request was made: whatever the rest of the visit does, it has its row in the ledger."""
        self.finished = finished

    def released(self) -> bool:
        """True when the host is no longer held by this worker."""
        return self._released

    def release_asking(self, host_id: HostId, clock: HostClock) -> None:
        """An errand has ended: the host that asked may go on after its own gap."""
        self._release(host_id, clock)

    def give_back(self, ticket: Ticket, clock: HostClock, *, asked: bool) -> None:
        """The URL returns to the head of its queue, and its host waits. `asked`: a request was made."""
        self._return(ticket, asked=asked)
        self.release(clock)

    def end(self, ticket: Ticket, clock: HostClock) -> None:
        """The URL returns, to end with all that waits for its host."""
        self._return(ticket, asked=True)
        self.release_ended(clock)

    def leave_to_errand(self, ticket: Ticket) -> None:
        """Another host has to be asked first; the errand's end releases this one."""
        self._return(ticket, asked=True)
        self._released = True

    def hold_for_name(self, ask: Ask) -> None:
        """The host's address is not known: no worker waits for it, the look-up keeps the lease."""
        self._return(self._task, asked=False)
        self._released = True
        now_s = self._clock.monotonic_s()
        ask(self._task.host, partial(self._dispatcher.release, self._task.host_id, now_s))

    def abandon(self, clock: HostClock) -> None:
        """The crawl is stopping and nothing was sent."""
        if not self._released:
            self._return(self._task, asked=False)
            self.release(clock)

    def owns(self, body: Body) -> None:
        """The body is given back when the visit is over."""
        self._bodies.append(body)

    def close(self) -> None:
        """Gives the visit's bodies back."""
        for body in self._bodies:
            body.close()
        self._bodies.clear()

    def _return(self, task: Ticket | Errand, *, asked: bool) -> None:
        assert not self._released, "a task goes back before its host is released"
        self._dispatcher.give_back(task, asked=asked)

    def _release(self, host_id: HostId, clock: HostClock) -> None:
        ready_at_s = self._clock.monotonic_s() + clock.ready_at() - self._clock.unix_s()
        self._dispatcher.release(host_id, ready_at_s, paused=self._rules.pauses(clock))
