"""The writer's transaction: a group of jobs, the queues' movements, and the order of a commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mercator.config import CrawlConfig
from mercator.engine.dispatch import Dispatcher
from mercator.engine.drains import Drains
from mercator.engine.host_clock import HostClocks
from mercator.engine.host_rows import HostRows
from mercator.engine.inbox import Add, Job, Readmit
from mercator.engine.intake import SEED, Intake
from mercator.engine.ledger import unclean_stop
from mercator.engine.outcome import Finished
from mercator.engine.readmission import Readmission
from mercator.engine.recorder import Recorder
from mercator.engine.stats import Counts
from mercator.frontier.frontier import Frontier
from mercator.ports import Clock, Documents, Tables, Txn
from mercator.rows import HostRow
from mercator.values import CanonicalUrl, Errand, HostId

FEEDS_PER_COMMIT = 512
"""Most back queues whose heads one transaction loads."""


class Writer:
    """Commits groups. `commit` is one step, so that a test can drive the engine without threads.

    The points between the steps of a commit are named and reported to `at`, where the crash test
    kills the process: "applied", "appended", "synced", "committed", "published".

    Threads: confined to the writer thread; `published` is guarded by the dispatcher's lock.
    """

    def __init__(
        self,
        config: CrawlConfig,
        tables: Tables,
        documents: Documents,
        frontier: Frontier,
        intake: Intake,
        recorder: Recorder,
        counts: Counts,
        clocks: HostClocks,
        dispatcher: Dispatcher,
        clock: Clock,
        at: Callable[[str], None] = lambda point: None,
    ) -> None:
        self._tables = tables
        self._documents = documents
        self._frontier = frontier
        self._intake = intake
        self._recorder = recorder
        self._counts = counts
        self._clocks = clocks
        self._dispatcher = dispatcher
        self._clock = clock
        self._at = at
        self._max_pages = config.max_pages
        self._least_gap_s = config.delay_s
        self._position: dict[str, object] = {}
        self._drains = Drains(frontier, recorder, clocks)
        self._readmission = Readmission(intake, recorder)
        self._done: list[Callable[[], None]] = []
        self.next_due_at: float | None = None
        self.hosts = 0
        self.published: tuple[dict[str, int], dict[str, int]] = counts.snapshot()

    def open(self, *, clean: bool, sequence: int, front_counts: Sequence[int]) -> None:
        """Takes up the store's queues. `clean` False: the last run died; the ledger says so."""
        with self._tables.write() as txn:
            active = self._frontier.open(
                txn,
                sequence=sequence,
                front_counts=front_counts,
                least_gap_s=self._least_gap_s,
                unix_s=self._clock.unix_s(),
                now_s=self._clock.monotonic_s(),
            )
            if not clean:
                self._frontier.sequence += 1
                txn.visits.put(self._frontier.sequence, unclean_stop(self._clock.unix_s()))
            self._load(active)
            self.next_due_at = self._frontier.next_due_at(txn)
            # So that the tables always name a position: what lies behind it is no commit's.
            self._position = dict(self._documents.sync())
            txn.meta.put("warc", self._position)
            self._put_meta(txn, clean=False)
        self._publish()

    def commit(self, jobs: Sequence[Job], *, starving: bool, run: dict[str, object]) -> None:
        """One transaction: the jobs, then the queues' movements, then `meta`.

        Raises StoreFullError (nothing of the group is durable, the store is as before).
        """
        unix_s = self._clock.unix_s()
        with self._dispatcher.lock:
            self._frontier.note_paused(self._frontier.schedule.paused())
            retired = [h for h in list(self._frontier.schedule.idle) if self._retire(h)]
        try:
            with self._tables.write() as txn:
                hosts = HostRows(txn)
                for host_id in retired:
                    self._frontier.unpin(txn, host_id)
                for job in jobs:
                    self._apply(txn, job, hosts, unix_s)
                self._at("applied")
                self._readmission.add_opened(txn, self._recorder.opened)
                self._recorder.opened.clear()
                self._done += self._readmission.step(txn, hosts)
                self._drains.step(txn, hosts, self._dispatcher)
                hosts.flush()
                self._move_queues(txn, unix_s, starving=starving)
                txn.meta.put("run", run)
                self._put_meta(txn, clean=False)
                self._at("appended")
                position: dict[str, object] = dict(self._documents.sync())
                txn.meta.put("warc", position)
                self._at("synced")
        except BaseException:
            self._documents.rollback(self._position)
            raise
        finally:
            for job in jobs:
                if isinstance(job, Finished):
                    job.close()
        self._position = position
        self._at("committed")
        self._publish()
        self._at("published")
        for done in self._done:
            done()
        self._done.clear()

    def close(self, run: dict[str, object]) -> None:
        """The last commit of a run that ended in order."""
        with self._tables.write() as txn:
            txn.meta.put("run", run)
            self._put_meta(txn, clean=True)

    def ended(self) -> int:
        """How many URLs have ended, as pages or in any other way."""
        counters, _ = self.published
        return counters["seen"] - counters["pending"]

    def has_background_work(self) -> bool:
        """True while pending URLs may still be on their way to a hand, or out of the crawl."""
        return (
            self._readmission.active()
            or self._drains.active()
            or self._frontier.can_refill()
            or (self._frontier.front_waiting() > 0 and self._frontier.can_grow())
            or self._is_due()
        )

    def can_work(self, *, starving: bool) -> bool:
        """True when a commit without any job would move something."""
        with self._dispatcher.lock:
            schedule = self._frontier.schedule
            if schedule.is_hungry() or self._drains.runnable_locked():
                return True
            idle = bool(schedule.idle)
            self._frontier.note_paused(schedule.paused())
        waiting = self._frontier.front_waiting() > 0
        return (
            self._readmission.active()
            or self._is_due()
            or self._frontier.can_refill()
            or (waiting and (idle or (starving and self._frontier.can_grow())))
        )

    def _is_due(self) -> bool:
        return self.next_due_at is not None and self.next_due_at <= self._clock.unix_s()

    def drain_unreachable(self, tries: int) -> None:
        """Nothing else is left that may be asked now: hosts that failed `tries` times in a row below
        HTTP end, with all that waits for them."""
        with self._dispatcher.lock:
            for host_id in self._frontier.schedule.paused_hosts():
                clock = self._clocks.get(host_id)
                if clock.unreachable >= tries and clock.unreachable_kind is not None:
                    self._frontier.schedule.drain(host_id)
                    self._drains.add_unreachable(host_id, clock)

    # -- inside ----------------------------------------------------------------------------------------

    def _apply(self, txn: Txn, job: Job, hosts: HostRows, unix_s: float) -> None:
        if isinstance(job, Finished):
            self._recorder.record(txn, job, hosts, unix_s)
            if job.errand is not None:
                self._post(txn, job.errand, hosts, unix_s)
            if job.drain is not None:
                self._drains.add(job.drain, self._dispatcher)
        elif isinstance(job, Add):
            opened = self._intake.extend_scope(
                txn,
                (
                    CanonicalUrl(found.url, found.key_url, found.host)
                    for found in job.seeds
                    if found.key_url and found.reason is None
                ),
            )
            self._readmission.add_opened(txn, opened)
            for found in job.seeds:
                self._intake.admit(txn, found, SEED, hosts, unix_s)
            if job.owed:
                txn.meta.delete(job.owed)
            self._done.append(job.done)
        elif isinstance(job, Readmit):
            self._readmission.add(job)
        else:
            raise job.error

    def _post(self, txn: Txn, errand: Errand, hosts: HostRows, unix_s: float) -> None:
        """An errand for another host; when that one waits for an errand itself, this host does not
        wait for it but asks again on its next turn."""
        now_s = self._clock.monotonic_s()
        if not self._frontier.can_post(errand):
            asking = self._clocks.get(errand.asking_host_id)
            self._dispatcher.release(errand.asking_host_id, now_s + asking.ready_at() - unix_s)
            return
        hosts.add(errand.host_id, errand.host)
        hosts.flush()
        active = self._frontier.post(txn, errand, unix_s=unix_s, now_s=now_s)
        self._load([active] if active else [])

    def _move_queues(self, txn: Txn, unix_s: float, *, starving: bool) -> None:
        """Steps 8 to 10: due retries to the front, front to back, back into hand."""
        now_s = self._clock.monotonic_s()
        self._frontier.wake_delayed(txn, unix_s)
        self._frontier.adapt(starving=starving)
        self._load(self._frontier.refill(txn, unix_s=unix_s, now_s=now_s))
        with self._dispatcher.lock:
            wanted = self._frontier.schedule.wants(self._frontier.appended())
        self._frontier.feed(txn, wanted[:FEEDS_PER_COMMIT])
        self.next_due_at = self._frontier.next_due_at(txn)

    def _load(self, active: Sequence[tuple[HostId, HostRow]]) -> None:
        for host_id, row in active:
            self._clocks.load(host_id, row)

    def _retire(self, host_id: HostId) -> bool:
        """Gives an empty back queue away; its clock is in its row."""
        if not self._frontier.schedule.retire(host_id):
            return False
        self._clocks.drop(host_id)
        self._recorder.forget_host(host_id)
        return True

    def _put_meta(self, txn: Txn, *, clean: bool) -> None:
        counters, reasons = self._counts.snapshot()
        txn.meta.put("counters", counters)
        txn.meta.put("reasons", reasons)
        txn.meta.put("next", self._frontier.sequence)
        txn.meta.put("front_counts", self._frontier.front_counts())
        txn.meta.put("clean", clean)
        self.hosts = txn.hosts.count()

    def _publish(self) -> None:
        with self._dispatcher.lock:
            self._frontier.publish()
            self.published = self._counts.snapshot()
            if self._max_pages is not None:
                self._dispatcher.pages_left = self._max_pages - self._counts.counters["stored"]
            for host_id in list(self._frontier.schedule.over_budget):
                self._frontier.schedule.drain(host_id)
                self._drains.add_over_budget(host_id)
            self._dispatcher.wake()
