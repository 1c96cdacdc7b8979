"""The whole frontier on a manual clock against a simple model.

The model knows for each URL its state and for each host what was handed out when. The machine admits
URLs, commits, takes, gives back, ends visits in any order, posts errands, reopens the store, and
checks every invariant of the room after each step.
"""

from __future__ import annotations

from collections import defaultdict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mercator.frontier.frontier import Frontier
from mercator.ports import Txn
from mercator.rows import HostRow, UrlRow
from mercator.store.memory_tables import MemoryTables
from mercator.testing import ManualClock
from mercator.urls.url_key import host_id, url_key
from mercator.values import NO_KEY, Errand, HostId, State, Ticket, UrlKey

HOSTS = [f"h{i}.test" for i in range(5)]
LEVELS = 3
GAP_S = 1.0
HOST_BUDGET = 4


class FrontierMachine(RuleBasedStateMachine):
    @initialize(active=st.integers(1, 4))
    def begin(self, active: int) -> None:
        self.tables = MemoryTables()
        self.clock = ManualClock()
        self.most_active = active
        self.state: dict[UrlKey, str] = {}  # pending, delayed, leased, done
        self.level: dict[UrlKey, int] = {}
        self.order: dict[tuple[HostId, int], list[UrlKey]] = defaultdict(list)
        self.handed: dict[tuple[HostId, int], list[UrlKey]] = defaultdict(list)
        self.delayed_ever: set[UrlKey] = set()
        self.not_before: dict[HostId, float] = defaultdict(float)
        self.in_flight: dict[HostId, Ticket | Errand] = {}
        self.waiting_commit: list[tuple[Ticket, bool]] = []
        self.errands = 0
        self.errands_out: list[Errand] = []
        self.stored: dict[HostId, int] = defaultdict(int)
        self.numbers: dict[str, int] = defaultdict(int)
        self.frontier = self._frontier()

    def _frontier(self) -> Frontier:
        return Frontier(
            levels=LEVELS,
            weights=(),
            threads=2,
            max_active_hosts=self.most_active,
            max_pages_per_host=HOST_BUDGET,
            patience_s=600.0,
        )

    # -- what the writer does --------------------------------------------------------------------------

    @rule(host=st.sampled_from(HOSTS), level=st.integers(1, LEVELS), count=st.integers(1, 3))
    def admit(self, host: str, level: int, count: int) -> None:
        with self.tables.write() as txn:
            for _ in range(count):
                self.numbers[host] += 1
                text = f"http://{host}/{self.numbers[host]}"
                key = url_key(text, host)
                txn.urls.put(key, UrlRow(State.PENDING, text, text, level=level, is_seed=False))
                row = txn.hosts.get(host_id(host))
                if row is None:
                    txn.hosts.put(host_id(host), HostRow(host, gap_s=GAP_S))
                self.frontier.append(txn, level, key)
                self.state[key] = "pending"
                self.level[key] = level
                self.order[host_id(host), level].append(key)
        self._commit()

    @rule()
    def commit(self) -> None:
        self._commit()

    def _commit(self) -> None:
        schedule = self.frontier.schedule
        retired = [h for h in list(schedule.idle) if schedule.retire(h)]
        with self.tables.write() as txn:
            for host in retired:
                self.frontier.unpin(txn, host)
            for ticket, stored in self.waiting_commit:
                self._end(txn, ticket, stored)
            self.waiting_commit.clear()
            for errand in self.errands_out:
                self._write_clock(txn, errand.host_id)
                self.frontier.errand_done(errand.host_id, errand.asking_host_id)
            self.errands_out.clear()
            self._move(txn)
        self.frontier.publish()

    def _end(self, txn: Txn, ticket: Ticket, stored: bool) -> None:
        row = txn.urls.get(ticket.key)
        assert row is not None
        assert row.state is State.PENDING
        txn.urls.put(ticket.key, row._replace(state=State.STORED if stored else State.FAILED))
        self.frontier.leave(txn, ticket, stored=stored)
        self._write_clock(txn, ticket.host_id)
        self.state[ticket.key] = "done"
        self.stored[ticket.host_id] += stored

    def _write_clock(self, txn: Txn, host: HostId) -> None:
        row = txn.hosts.get(host)
        assert row is not None
        due_at = self.not_before[host] + self.clock.unix_s() - self.clock.monotonic_s()
        txn.hosts.put(host, row._replace(due_at=max(row.due_at, due_at), stored=self.stored[host]))

    def _move(self, txn: Txn) -> None:
        self.frontier.wake_delayed(txn, self.clock.unix_s())
        for key, state in self.state.items():
            if state == "delayed" and self.due[key] <= self.clock.unix_s():
                self.state[key] = "pending"
        self.frontier.refill(txn, unix_s=self.clock.unix_s(), now_s=self.clock.monotonic_s())
        wanted = self.frontier.schedule.wants(self.frontier.appended())
        self.frontier.feed(txn, wanted)

    due: dict[UrlKey, float]

    @initialize()
    def no_delays(self) -> None:
        self.due = {}

    @rule(seconds=st.sampled_from([0.0, 0.3, 1.0, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance_s(seconds)

    # -- what workers do ---------------------------------------------------------------------------------

    @rule()
    def take(self) -> None:
        now_s = self.clock.monotonic_s()
        task = self.frontier.schedule.take(now_s, None)
        if task is None or isinstance(task, float):
            assert task is None or task > now_s
            return
        assert task.host_id not in self.in_flight, "one request in flight a host"
        assert now_s >= self.not_before[task.host_id], "nothing is handed out before its time"
        self.in_flight[task.host_id] = task
        if isinstance(task, Errand):
            self.errands -= 1
            return
        assert self.state[task.key] == "pending"
        self.state[task.key] = "leased"
        if task.key not in self.delayed_ever:
            self.handed[task.host_id, self.level[task.key]].append(task.key)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), outcome=st.sampled_from(["stored", "failed", "returned", "delayed"]))
    def request_ends(self, data: st.DataObject, outcome: str) -> None:
        host = data.draw(st.sampled_from(sorted(self.in_flight)))
        task = self.in_flight.pop(host)
        ready_at_s = self.clock.monotonic_s() + GAP_S
        self.not_before[host] = max(self.not_before[host], ready_at_s)
        if isinstance(task, Errand):
            self.frontier.schedule.release(host, ready_at_s)
            self.errands_out.append(task)
            return
        if outcome == "returned":
            self.frontier.schedule.give_back(task)
            self.frontier.schedule.release(host, ready_at_s)
            self.state[task.key] = "pending"
            self._unhand(task)
            return
        self.frontier.schedule.release(host, ready_at_s)
        if outcome == "delayed":
            self._delay(task)
        else:
            self.waiting_commit.append((task, outcome == "stored"))

    def _unhand(self, task: Ticket) -> None:
        self.handed[task.host_id, self.level[task.key]].remove(task.key)

    def _delay(self, task: Ticket) -> None:
        due_at = self.clock.unix_s() + 2.0
        with self.tables.write() as txn:
            self.frontier.leave(txn, task, stored=False)
            self._write_clock(txn, task.host_id)
            self.frontier.delay(txn, due_at, task.key)
        self.frontier.publish()
        self.due[task.key] = due_at
        self._unhand(task)
        self.state[task.key] = "delayed"
        self.delayed_ever.add(task.key)

    @rule(host=st.sampled_from(HOSTS))
    def post_errand(self, host: str) -> None:
        with self.tables.write() as txn:
            if txn.hosts.get(host_id(host)) is None:
                txn.hosts.put(host_id(host), HostRow(host, gap_s=GAP_S))
            errand = Errand(host, host_id(host), "http://x/", "http://y", host_id("y"), 1)
            self.frontier.post(
                txn, errand, unix_s=self.clock.unix_s(), now_s=self.clock.monotonic_s()
            )
        self.frontier.publish()
        self.errands += 1

    @rule()
    def reopen(self) -> None:
        """The process dies: memory is gone, what was committed is what there is."""
        counts = self.frontier.front_counts()
        sequence = self.frontier.sequence
        self.frontier = self._frontier()
        for ticket, _ in self.waiting_commit:
            self.state[ticket.key] = "pending"
        for key, state in self.state.items():
            if state == "leased":
                self.state[key] = "pending"
        self.waiting_commit.clear()
        self.errands_out.clear()
        self.in_flight.clear()
        self.errands = 0
        now_s = self.clock.monotonic_s()
        with self.tables.write() as txn:
            active = self.frontier.open(
                txn,
                sequence=sequence,
                front_counts=counts,
                least_gap_s=GAP_S,
                unix_s=self.clock.unix_s(),
                now_s=now_s,
            )
        self.frontier.publish()
        for host, row in active:
            self.not_before[host] = now_s + row.gap_s
        # What was handed out and is pending again comes once more, behind what is done.
        self.handed.clear()

    # -- what always holds ------------------------------------------------------------------------------

    @invariant()
    def every_url_is_in_exactly_one_place(self) -> None:
        with self.tables.read() as txn:
            places: dict[UrlKey, list[str]] = defaultdict(list)
            for _, key in txn.front.scan():
                places[key].append("front")
            for _, key in txn.back.scan():
                places[key].append("back")
            for _, key in txn.delayed.scan():
                places[key].append("delayed")
        unsettled = {ticket.key for ticket, _ in self.waiting_commit}
        for key, state in self.state.items():
            if state == "done":
                assert not places[key]
            elif state == "delayed":
                assert places[key] == ["delayed"]
            else:
                assert len(places[key]) == 1, (state, places[key])
                assert key not in unsettled or places[key] == ["back"]
        assert sum(map(len, places.values())) == sum(s != "done" for s in self.state.values())

    @invariant()
    def the_pin_is_a_row_and_a_host_has_one_back_queue(self) -> None:
        with self.tables.read() as txn:
            pinned = {host for host, _ in txn.pins.scan()}
            queued = {HostId(place.prefix) for place, _ in txn.back.scan()}
        assert queued <= pinned
        assert set(self.frontier.active_hosts()) == pinned
        # An errand may need one host more than there are back queues.
        assert len(pinned) <= max(self.most_active, 1) + len(HOSTS)

    @invariant()
    def the_heap_has_one_entry_per_queue_that_may_be_asked(self) -> None:
        schedule = self.frontier.schedule
        for host in self.frontier.active_hosts():
            if host not in schedule:
                continue
            queue = schedule.queue(host)
            may = not queue.in_flight and bool(
                queue.errands or (queue.hand and queue.stored + queue.leased < HOST_BUDGET)
            )
            assert (host in schedule._heap) == may
            assert queue.in_flight == (host in self.in_flight)

    @invariant()
    def urls_of_one_host_and_level_keep_their_order(self) -> None:
        for place, handed in self.handed.items():
            order = [key for key in self.order[place] if key not in self.delayed_ever]
            expected = [key for key in order if key in set(handed)]
            assert handed == expected

    @invariant()
    def leases_are_bounded(self) -> None:
        assert len(self.frontier.schedule.leases) <= 4

    def _end_now(self, task: Ticket | Errand) -> None:
        self.frontier.schedule.release(task.host_id, self.clock.monotonic_s())
        if isinstance(task, Errand):
            self.errands_out.append(task)
        else:
            self.waiting_commit.append((task, False))

    def teardown(self) -> None:
        """Nothing is stuck: with time and commits everything that may be fetched is fetched."""
        if not hasattr(self, "frontier"):
            return
        for host in sorted(self.in_flight):
            self._end_now(self.in_flight.pop(host))
        for _ in range(400):
            self._commit()
            got = self.frontier.schedule.take(self.clock.monotonic_s(), None)
            if isinstance(got, (Ticket, Errand)):
                self._end_now(got)
            else:
                self.clock.advance_s(5.0)
        left = [key for key, state in self.state.items() if state != "done"]
        over = {host for host, stored in self.stored.items() if stored >= HOST_BUDGET}
        assert all(HostId(key[:6]) in over for key in left)


FrontierMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestFrontier = FrontierMachine.TestCase

assert NO_KEY == b""
