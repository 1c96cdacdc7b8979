"""One shard on fakes, driven step by step in one thread: repeatable to the byte."""

from __future__ import annotations

from random import Random

from mercator.assembly import Parts, build_shard
from mercator.config import CrawlConfig
from mercator.engine.ending import stop_reason
from mercator.engine.inbox import Add
from mercator.engine.intake import SEED
from mercator.ports import Resolver, Tables
from mercator.records import Status
from mercator.store.memory_tables import MemoryTables
from mercator.testing import (
    FixedResolver,
    ManualClock,
    MemoryDocuments,
    Script,
    ScriptedFetcher,
)
from mercator.values import Errand, Ticket


class Harness:
    """Drives one shard: `step` does one thing, `run` goes on until the crawl ends."""

    def __init__(
        self,
        script: Script,
        config: CrawlConfig,
        *,
        clock: ManualClock | None = None,
        tables: Tables | None = None,
        documents: MemoryDocuments | None = None,
        resolver: Resolver | None = None,
        took_s: float = 0.05,
    ) -> None:
        self.clock = clock or ManualClock()
        self.config = config
        self.tables = tables or MemoryTables()
        self.documents = documents or MemoryDocuments()
        self.fetcher = ScriptedFetcher(self.clock, script, took_s)
        self.shard = build_shard(
            config,
            Parts(
                tables=self.tables,
                documents=self.documents,
                resolver=resolver or FixedResolver(),
                fetcher=self.fetcher,
                clock=self.clock,
                random=Random(config.random_seed or 7),
            ),
            lambda: None,
        )
        self.reason: str | None = None
        self._last_end_s = self._started_s = self.clock.monotonic_s()

    def seed(self, *urls: str) -> None:
        """Offers seeds as the engine does."""
        parsed = [self.shard.intake.canonicalizer.parse(url) for url in urls]
        found = [self.shard.intake.offer_one(url, "seed", SEED) for url in parsed if url]
        self.shard.inbox.put(Add(found, lambda: None))

    def step(self) -> bool:
        """One visit, one commit, or one jump of the clock; False when the crawl has ended."""
        task = self.shard.dispatcher.try_take()
        if isinstance(task, (Ticket, Errand)):
            self.shard.worker.do(task)
            return True
        jobs = self.shard.inbox.collect()
        if jobs or self.shard.writer.can_work(starving=True):
            ended = self.shard.writer.ended()
            self.shard.writer.commit(jobs, starving=True, run={})
            if self.shard.writer.ended() > ended:
                self._last_end_s = self.clock.monotonic_s()
            return True
        return self._judge() and self._wait(task)

    def run(self, steps: int = 20_000) -> str:
        """Until the end; the stop reason. Raises AssertionError when it does not end."""
        for _ in range(steps):
            if not self.step():
                assert self.reason is not None
                return self.reason
        raise AssertionError(f"the crawl did not end within {steps} steps: {self.status()}")

    def status(self) -> Status:
        """The live summary."""
        return self.shard.engine.status()

    def _judge(self) -> bool:
        snapshot = self.shard.engine.snapshot()._replace(
            started_s=self._started_s, last_end_s=self._last_end_s
        )
        self.reason = stop_reason(
            snapshot,
            max_pages=self.config.max_pages,
            max_time_s=self.config.max_time_s,
            patience_s=self.config.patience_s,
        )
        if self.reason is None and snapshot.idle and snapshot.standstill:
            self.shard.writer.drain_unreachable(1 + self.config.retries)
        return self.reason is None

    def _wait(self, ready_s: float | None) -> bool:
        waits = [5.0]
        if ready_s is not None:
            waits.append(ready_s - self.clock.monotonic_s())
        if self.shard.writer.next_due_at is not None:
            waits.append(self.shard.writer.next_due_at - self.clock.unix_s())
        self.clock.advance_s(max(0.001, min(waits)))
        return True
