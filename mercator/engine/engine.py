"""The engine: the threads of one shard, and the decision when the crawl ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mercator.config import CrawlConfig
from mercator.engine.dispatch import Dispatcher
from mercator.engine.ending import Snapshot, stop_reason
from mercator.engine.gate import Gate
from mercator.engine.inbox import Add, Inbox, Readmit
from mercator.engine.intake import SEED, Intake
from mercator.engine.outcome import Finished, Found
from mercator.engine.recorder import Recorder
from mercator.engine.worker import Worker
from mercator.engine.writer import Writer
from mercator.errors import StoreFullError
from mercator.ports import Clock
from mercator.records import Status
from mercator.values import CanonicalUrl, RefusedUrl

_log = logging.getLogger("mercator")

_TICK_S = 0.25
"""How often the writer looks at the crawl's state when nothing else wakes it."""

_LINGER_S = 0.005
_PUTS_PER_VISIT = 12
"""Rows that a visit writes on average, new links included; the group's size is counted with it."""

_SEEDS_PER_JOB = 1000


class Engine:
    """Starts, watches and stops the threads of one shard.

    Threads: `start`, `stop`, `wait`, `status`, `add` from any thread.
    """

    def __init__(
        self,
        config: CrawlConfig,
        writer: Writer,
        worker: Worker,
        recorder: Recorder,
        intake: Intake,
        dispatcher: Dispatcher,
        inbox: Inbox,
        gate: Gate,
        clock: Clock,
        on_end: Callable[[], None],
    ) -> None:
        self._config = config
        self._writer = writer
        self._worker = worker
        self._recorder = recorder
        self._intake = intake
        self._dispatcher = dispatcher
        self._inbox = inbox
        self._gate = gate
        self._clock = clock
        self._on_end = on_end
        self._threads: list[threading.Thread] = []
        self._writer_thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._started_s = 0.0
        self._ended_s: float | None = None
        self._last_end_s = 0.0
        self._stored_before = 0
        self._stop_reason: str | None = None
        self.error: BaseException | None = None

    # -- lifetime --------------------------------------------------------------------------------------

    def start(
        self, seeds: Mapping[str, Sequence[CanonicalUrl | RefusedUrl]], *, readmit: bool
    ) -> None:
        """Starts the threads; the seeds, by the row that owes them, enter before anything is handed
        out."""
        self._started_s = self._last_end_s = self._clock.monotonic_s()
        self._stored_before = self._writer.published[0]["stored"]
        if readmit:
            # Before the seeds: the host that one opens must not pay for all that is owed.
            self._inbox.put(Readmit(None, True, lambda count: None))
        for owed, piece in seeds.items():
            self._inbox.put(Add(self._found(piece), lambda: None, owed))
        self._writer_thread = threading.Thread(
            target=self._run_writer, name="mercator-writer", daemon=True
        )
        self._threads = [
            threading.Thread(target=self._worker.run, name=f"mercator-worker-{i}", daemon=True)
            for i in range(self._config.threads)
        ]
        for thread in [self._writer_thread, *self._threads]:
            thread.start()

    def stop(self, reason: str) -> None:
        """Nothing more is handed out; requests in flight end and are committed."""
        if self._stop_reason is None:
            self._stop_reason = reason
        self._gate.stop()
        self._dispatcher.stop()
        self._inbox.nudge()

    def pause(self, paused: bool) -> None:
        """Stops handing out, or goes on."""
        self._dispatcher.pause(paused)

    def wait(self, timeout_s: float | None = None) -> bool:
        """True when the crawl has ended within the time; none of its threads is left then."""
        if not self._ended.wait(timeout_s):
            return False
        if (
            self._writer_thread is not None
            and self._writer_thread is not threading.current_thread()
        ):
            self._writer_thread.join()  # to say that it has ended is the last thing it does
        return True

    def add(self, seeds: Sequence[CanonicalUrl | RefusedUrl]) -> bool:
        """Admits seeds to a running crawl; True when they are durable, False when it ended first."""
        for at in range(0, len(seeds), _SEEDS_PER_JOB):
            done = threading.Event()
            self._inbox.put(Add(self._found(seeds[at : at + _SEEDS_PER_JOB]), done.set))
            while not done.wait(_TICK_S):
                if self._ended.is_set() and not done.is_set():
                    return False
        return True

    def _found(self, seeds: Sequence[CanonicalUrl | RefusedUrl]) -> list[Found]:
        return [self._intake.offer_one(url, "seed", SEED) for url in seeds]

    # -- the writer's loop -------------------------------------------------------------------------------

    def _run_writer(self) -> None:
        try:
            while self._stop_reason is None:
                self._turn()
                self._judge()
            self._finish()
        except BaseException as error:
            self._fail(error)
        finally:
            self._ended_s = self._clock.monotonic_s()
            try:
                self._on_end()
            except BaseException as error:
                # The crawl has ended all the same, and whoever waits for it must hear of this.
                self.error = self.error or error
            finally:
                self._ended.set()

    def _turn(self) -> None:
        """Waits for a group, lets it grow while workers have work, commits it."""
        if not len(self._inbox) and not self._can_work():
            self._inbox.wait(self._nap_s())
        while len(self._inbox) and not self._is_ripe():
            self._inbox.linger(_LINGER_S)
        jobs = self._inbox.collect()
        starving = self._dispatcher.starving(self._config.commit_s)
        if jobs or self._writer.can_work(starving=starving):
            ended = self._writer.ended()
            self._writer.commit(jobs, starving=starving, run=self._run())
            if self._writer.ended() > ended:
                self._last_end_s = self._clock.monotonic_s()

    def _can_work(self) -> bool:
        return self._writer.can_work(starving=self._dispatcher.starving(self._config.commit_s))

    def _is_ripe(self) -> bool:
        """A group is committed when it is large or old enough, or when workers wait: for its links,
        or for its leases (at most 2 x threads are out; at half of them nobody has to wait yet)."""
        since_s = self._inbox.oldest_s()
        return (
            self._stop_reason is not None
            or since_s is None
            or len(self._inbox) >= self._config.threads
            or len(self._inbox) * _PUTS_PER_VISIT >= self._config.commit_puts
            or self._clock.monotonic_s() - since_s >= self._config.commit_s
            or self._dispatcher.starving(self._config.commit_s)
        )

    def _nap_s(self) -> float:
        nap_s = _TICK_S
        if self._writer.next_due_at is not None:
            nap_s = min(nap_s, self._writer.next_due_at - self._clock.unix_s())
        return max(0.0, nap_s)

    def _judge(self) -> None:
        """Ends the crawl when a rule of `ending.py` says so."""
        snapshot = self.snapshot()
        reason = stop_reason(
            snapshot,
            max_pages=self._config.max_pages,
            max_time_s=self._config.max_time_s,
            patience_s=self._config.patience_s,
        )
        if reason is not None:
            self.stop(reason)
        elif snapshot.idle and snapshot.standstill:
            self._writer.drain_unreachable(1 + self._config.retries)

    def snapshot(self) -> Snapshot:
        """What the rules of `ending.py` judge, as of now."""
        with self._dispatcher.lock:
            load = self._dispatcher.load_locked()
            # A crawl that is paused on purpose is not at a standstill: it is nobody's fault.
            standstill = self._dispatcher.schedule.at_standstill() and not self._dispatcher.paused()
            counters, _ = self._writer.published
            jobs = len(self._inbox)
        return Snapshot(
            now_s=self._clock.monotonic_s(),
            started_s=self._started_s,
            last_end_s=self._last_end_s,
            pending=counters["pending"],
            idle=not (jobs or load.leases or load.hosts_in_flight),
            standstill=standstill,
            stored=counters["stored"],
            background_work=self._writer.has_background_work(),
        )

    def _finish(self) -> None:
        """Workers leave, what they finished is committed, the store is closed in order."""
        self._dispatcher.stop()
        self._gate.stop()
        while any(thread.is_alive() for thread in self._threads) or len(self._inbox):
            self._inbox.wait(_LINGER_S)
            jobs = self._inbox.collect()
            if jobs:
                self._writer.commit(jobs, starving=False, run=self._run())
        self._ended_s = self._clock.monotonic_s()
        self._writer.close(self._run())

    def _fail(self, error: BaseException) -> None:
        """The writer cannot go on: nothing of the open group is durable, all before it is."""
        self.error = error
        self._stop_reason = "disk_full" if isinstance(error, StoreFullError) else "error"
        if not isinstance(error, StoreFullError):
            _log.exception("the crawl stopped by a fault of its own")
        self._gate.stop()
        self._dispatcher.stop()
        # What workers still bring is lost like the group, but they must have left before the store and
        # the connections that they use are closed.
        while any(thread.is_alive() for thread in self._threads) or len(self._inbox):
            self._inbox.wait(_LINGER_S)
            for job in self._inbox.collect():
                if isinstance(job, Finished):
                    job.close()

    # -- figures -----------------------------------------------------------------------------------------

    def status(self) -> Status:
        """The summary as of the last commit, and what is on lease now; it always adds up."""
        with self._dispatcher.lock:
            counters, reasons = self._writer.published
            leases = self._dispatcher.load_locked().leases
        fields: dict[str, Any] = {
            **counters,
            **self._run(),
            "pending": counters["pending"] - leases,
            "in_flight": leases,
            "hosts": self._writer.hosts,
            "reasons": reasons,
        }
        return Status(**fields)

    def _run(self) -> dict[str, Any]:
        end_s = self._ended_s if self._ended_s is not None else self._clock.monotonic_s()
        elapsed_s = max(0.0, end_s - self._started_s)
        stored = self._writer.published[0]["stored"] - self._stored_before
        times = self._recorder.fetch_times
        return {
            "elapsed_s": round(elapsed_s, 3),
            "pages_per_s": round(stored / elapsed_s, 2) if elapsed_s else 0.0,
            "fetch_ms_p50": times.quantile_ms(0.5) or 0.0,
            "fetch_ms_p95": times.quantile_ms(0.95) or 0.0,
            "bucket_wait_s": round(self._gate.waited_s(), 3),
            "stop_reason": self._stop_reason,
        }
