"""The dispatcher: workers wait here for the host that is ready first."""

from __future__ import annotations

import threading
from typing import NamedTuple

from mercator.frontier.schedule import Schedule
from mercator.ports import Clock
from mercator.values import Errand, HostId, Ticket


class Load(NamedTuple):
    """What the dispatcher shows of itself. Threads: immutable."""

    leases: int
    hosts_in_flight: int


class Dispatcher:
    """Hands out tickets and errands, one host at a time, never before the host is ready.

    Of the workers that wait, one (the one with the earliest alarm) waits with a time-out, the others
    until they are woken: a thousand idle workers cost one timer. A worker that takes something wakes
    the next, so that the alarm is never lost.

    Threads: safe from any thread; all state is guarded by `lock` (leaf, never held over I/O).
    """

    def __init__(self, schedule: Schedule, clock: Clock) -> None:
        self.lock = threading.Lock()
        self.schedule = schedule
        self._clock = clock
        self._changed = threading.Condition(self.lock)
        self._alarm_s: float | None = None
        self._waiting = 0
        self._stopping = False
        self._paused = False
        self.pages_left: int | None = None

    def take(self) -> Ticket | Errand | None:
        """Waits for the next thing to do; None when the crawl is stopping."""
        with self.lock:
            while not self._stopping:
                got = None if self._paused else self._take_locked()
                if isinstance(got, (Ticket, Errand)):
                    self._wake_next_locked()
                    return got
                self._wait_locked(got)
            return None

    def try_take(self) -> Ticket | Errand | float | None:
        """`take` without waiting; a float is the time (monotonic) at which a host will be ready."""
        with self.lock:
            return None if self._stopping or self._paused else self._take_locked()

    def give_back(self, task: Ticket | Errand, *, asked: bool) -> None:
        """A ticket or errand goes to the head of its queue; its host stays on lease. `asked`: its
        host was asked for something else, which is still to be committed."""
        with self.lock:
            if isinstance(task, Ticket):
                self.schedule.give_back(task, asked=asked)
            else:
                self.schedule.return_errand(task)
            if self._can_serve_locked():
                self._changed.notify()

    def drain(self, host_id: HostId) -> None:
        """Nothing more is handed out for the host until the writer has drained it."""
        with self.lock:
            self.schedule.drain(host_id)

    def release(self, host_id: HostId, ready_at_s: float, *, paused: bool = False) -> None:
        """The host's request has ended; it may be asked again at `ready_at_s` (monotonic)."""
        with self.lock:
            self.schedule.release(host_id, ready_at_s, paused=paused)
            if self._can_serve_locked() and (self._alarm_s is None or ready_at_s < self._alarm_s):
                self._changed.notify()

    def wake(self) -> None:
        """Something was published: a worker looks, and wakes the next while there is more to do.
        Caller holds `lock`."""
        self._changed.notify()

    def stop(self) -> None:
        """Nothing more is handed out; waiting workers leave."""
        with self.lock:
            self._stopping = True
            self._changed.notify_all()

    def pause(self, paused: bool) -> None:
        """Hands nothing out until it is called with False."""
        with self.lock:
            self._paused = paused
            self._changed.notify_all()

    def paused(self) -> bool:
        """True between `pause(True)` and `pause(False)`."""
        return self._paused

    def load_locked(self) -> Load:
        """A snapshot for the writer's decisions. Caller holds `lock`."""
        return Load(len(self.schedule.leases), self.schedule.hosts_in_flight())

    def starving(self, within_s: float) -> bool:
        """True when workers wait and no host is ready within `within_s`: a commit may bring work."""
        with self.lock:
            first = self.schedule.first_ready_at_s()
            return self._waiting > 0 and (
                first is None or first > self._clock.monotonic_s() + within_s
            )

    def _take_locked(self) -> Ticket | Errand | float | None:
        return self.schedule.take(self._clock.monotonic_s(), self.pages_left)

    def _wake_next_locked(self) -> None:
        """Passes the alarm on, and another host that is due to another worker."""
        if not self._can_serve_locked():
            return
        first_s = self.schedule.first_ready_at_s()
        if first_s is None:
            return
        now_s = self._clock.monotonic_s()
        if self._alarm_s is None or first_s < self._alarm_s or first_s <= now_s:
            self._changed.notify()

    def _can_serve_locked(self) -> bool:
        """A worker waits, and something may be handed out. While all leases are out nothing may: woken
        for each host that becomes free, workers would find that out and go back to sleep. Whoever ends
        a lease wakes one of them (`wake`, `give_back`)."""
        return self._waiting > 0 and self.schedule.may_lease(self.pages_left)

    def _wait_locked(self, alarm_s: float | None) -> None:
        self._waiting += 1
        try:
            if alarm_s is None or (self._alarm_s is not None and self._alarm_s <= alarm_s):
                self._changed.wait()
                return
            self._alarm_s = alarm_s
            self._changed.wait(max(0.0, alarm_s - self._clock.monotonic_s()))
            if self._alarm_s == alarm_s:
                self._alarm_s = None
        finally:
            self._waiting -= 1
