"""Assembly: the only place that chooses adapters. Builds one shard and owns what must be closed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from mercator.clock import RealClock
from mercator.config import CrawlConfig
from mercator.engine.dispatch import Dispatcher
from mercator.engine.engine import Engine
from mercator.engine.gate import Gate
from mercator.engine.host_clock import ClockRules, HostClocks
from mercator.engine.inbox import Inbox
from mercator.engine.intake import SCOPE_ROWS, Intake
from mercator.engine.recorder import Recorder
from mercator.engine.robots_visit import RobotsVisit
from mercator.engine.stats import Counts
from mercator.engine.visit import Visit
from mercator.engine.worker import Worker
from mercator.engine.writer import Writer
from mercator.exchange.local import LocalExchange
from mercator.frontier.frontier import Frontier
from mercator.frontier.prioritizer import DepthPrioritizer
from mercator.net.body import BodyMemory
from mercator.net.fetcher import HttpFetcher
from mercator.net.guard import AddressGuard
from mercator.net.resolve_map import ResolveMap
from mercator.net.resolver import SystemResolver
from mercator.politeness.robots_cache import RobotsCache
from mercator.politeness.token_bucket import TokenBucket
from mercator.ports import Clock, Documents, Fetcher, Resolver, Tables
from mercator.program import user_agent, version
from mercator.store.bodies import FolderDocuments
from mercator.store.documents import WarcDocuments
from mercator.store.folder import StoreFolder
from mercator.store.lmdb_tables import LmdbTables
from mercator.store.warc import WarcInfo
from mercator.urls.scope import Scope
from mercator.values import CanonicalUrl

_RESOLVER_THREADS = 8
_IDLE_CONNECTIONS = 256
"""Kept-alive connections; more hosts than that are asked too seldom for one to be worth keeping."""


@dataclass(slots=True, kw_only=True)
class Parts:
    """Adapters of one shard; tests put fakes here. Threads: made once, then read only."""

    tables: Tables
    documents: Documents
    resolver: Resolver
    fetcher: Fetcher
    clock: Clock
    random: Random
    executor: Executor | None = None
    at: Callable[[str], None] = lambda point: None


@dataclass(slots=True, kw_only=True)
class Shard:
    """One shard, opened and ready to start. Threads: made once, then read only."""

    engine: Engine
    writer: Writer
    worker: Worker
    intake: Intake
    dispatcher: Dispatcher
    inbox: Inbox
    frontier: Frontier
    counts: Counts
    clocks: HostClocks


def real_parts(config: CrawlConfig, folder: StoreFolder, tables: LmdbTables) -> Parts:
    """The adapters to the real network and disk.

    Raises StoreError when the documents cannot be opened, ConfigError for a bad `resolve`.
    """
    clock = RealClock()
    executor = ThreadPoolExecutor(_RESOLVER_THREADS, thread_name_prefix="mercator-resolver")
    resolver = SystemResolver(
        AddressGuard(config.allow_net), ResolveMap(config.resolve), clock, executor
    )
    with tables.read() as txn:
        position = txn.meta.get("warc")
    assert position is None or isinstance(position, dict), "`warc` is a mapping"
    return Parts(
        tables=tables,
        documents=open_documents(config, folder.path, position, clock),
        resolver=resolver,
        fetcher=HttpFetcher(
            user_agent=user_agent(config),
            clock=clock,
            bodies=BodyMemory(config.body_memory_bytes),
            pool_capacity=_IDLE_CONNECTIONS,
        ),
        clock=clock,
        executor=executor,
        random=SystemRandom() if config.random_seed is None else Random(config.random_seed),
    )


def open_documents(
    config: CrawlConfig, path: Path, position: dict[str, object] | None, clock: Clock
) -> WarcDocuments | FolderDocuments:
    """Bodies as the configuration wants them, cut back to what the tables name."""
    if not config.warc:
        return FolderDocuments(path, shard=0, compress=config.compress, position=position)
    return WarcDocuments(
        path,
        shard=0,
        compress=config.compress,
        info=WarcInfo(
            software=f"mercator/{version()}",
            user_agent=user_agent(config),
            contact=config.contact,
        ),
        clock=clock,
        file_bytes=config.warc_file_bytes,
        position=position,
    )


def stored_scope(config: CrawlConfig, tables: Tables) -> Scope:
    """The scope as the store's seeds opened it, read under the kind that is set now."""
    scope = Scope(config.scope, frozenset(), config.include, config.exclude)
    with tables.read() as txn:
        rows = [row for _, row in txn.meta.scan(prefix=SCOPE_ROWS.encode())]
    opened = (scope.entry_of(CanonicalUrl(*row)) for row in rows if isinstance(row, list))
    return scope.with_entries({entry for entry in opened if entry is not None})


def build_shard(config: CrawlConfig, parts: Parts, on_end: Callable[[], None]) -> Shard:
    """Wires the rooms of one shard and opens its queues; nothing runs yet.

    Raises StoreError when the tables cannot be read or written.
    """
    with parts.tables.read() as txn:
        counts = Counts(_mapping(txn.meta.get("counters")), _mapping(txn.meta.get("reasons")))
        sequence: Any = txn.meta.get("next") or 0
        front_counts: Any = txn.meta.get("front_counts") or []
        clean = txn.meta.get("clean") is not False
    frontier = Frontier(
        levels=config.front_levels,
        weights=config.front_weights,
        threads=config.threads,
        max_active_hosts=config.max_active_hosts,
        max_pages_per_host=config.max_pages_per_host,
        patience_s=config.patience_s,
    )
    clock, documents = parts.clock, parts.documents
    dispatcher = Dispatcher(frontier.schedule, clock)
    inbox = Inbox(clock)
    clocks = HostClocks(config.delay_s)
    rules = ClockRules(config, parts.random)
    intake = Intake(
        config,
        stored_scope(config, parts.tables),
        LocalExchange(),
        DepthPrioritizer(config.front_levels),
        frontier,
        counts,
    )
    recorder = Recorder(intake, frontier, documents, counts)
    bucket = (
        TokenBucket(config.rate_per_s, config.burst, clock=clock) if config.rate_per_s else None
    )
    gate = Gate(config, parts.resolver, parts.fetcher, clock, bucket)
    robots = RobotsCache(
        clock,
        config.user_agent,
        max_age_s=config.robots_max_age_s,
        keep_s=config.robots_keep_s,
        give_up_s=config.robots_give_up_s,
        retry_base_s=config.retry_base_s,
        retry_cap_s=config.retry_cap_s,
        random=parts.random,
    )
    robots_visit = RobotsVisit(config, gate, robots, clocks, rules, documents, parts.tables, clock)
    visit = Visit(
        config,
        gate,
        intake,
        robots,
        robots_visit,
        clocks,
        rules,
        documents,
        clock,
    )
    worker = Worker(dispatcher, visit, inbox, clocks, rules, clock)
    writer = Writer(
        config,
        parts.tables,
        documents,
        frontier,
        intake,
        recorder,
        counts,
        clocks,
        dispatcher,
        clock,
        parts.at,
    )
    writer.open(clean=clean, sequence=sequence, front_counts=front_counts)
    engine = Engine(
        config, writer, worker, recorder, intake, dispatcher, inbox, gate, clock, on_end
    )
    return Shard(
        engine=engine,
        writer=writer,
        worker=worker,
        intake=intake,
        dispatcher=dispatcher,
        inbox=inbox,
        frontier=frontier,
        counts=counts,
        clocks=clocks,
    )


def _mapping(value: object) -> dict[str, int]:
    return dict(value) if isinstance(value, dict) else {}
