"""The gate: the only way to the fetcher. Whoever comes here holds the host's lease."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mercator.config import CrawlConfig
from mercator.politeness.robots_rules import ROBOTS_MAX_BYTES
from mercator.politeness.token_bucket import TokenBucket
from mercator.ports import Clock, Fetcher, Resolver
from mercator.values import (
    FailureKind,
    FetchFailure,
    FetchRequest,
    FetchResult,
    Kind,
    Resolution,
)


class Interrupted(Exception):
    """The crawl is stopping and the request was not sent."""


class Gate:
    """Steps 13 to 15 for one request: address, global bucket, fetch.

    Threads: safe from any thread. Only in the global bucket does a worker wait, and `stop` ends
    that wait.
    """

    def __init__(
        self,
        config: CrawlConfig,
        resolver: Resolver,
        fetcher: Fetcher,
        clock: Clock,
        bucket: TokenBucket | None,
    ) -> None:
        self._resolver = resolver
        self._fetcher = fetcher
        self._clock = clock
        self._bucket = bucket
        self._timeout_s = config.timeout_s
        self._max_body_bytes = config.max_body_bytes
        self._content_types = config.content_types
        self._stop = threading.Event()

    def addresses(self, host: str) -> Resolution | None:
        """Where the host may be reached (vetted), or None while nothing is known."""
        return self._resolver.lookup(host)

    def ask_for_addresses(self, host: str, on_answer: Callable[[], None]) -> None:
        """Starts a look-up; `on_answer` is called once `addresses` knows."""
        self._resolver.request(host, on_answer)

    def send(
        self,
        url: str,
        kind: Kind,
        resolution: Resolution,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> FetchResult | FetchFailure:
        """One GET under the global rate. Raises Interrupted when the crawl stops first."""
        if resolution.failure is not None:
            return self._not_sent(url, resolution.failure, resolution.error)
        if self._bucket is not None and not self._bucket.acquire(stop=self._stop.wait):
            raise Interrupted
        if self._stop.is_set():
            raise Interrupted
        page = kind is Kind.PAGE
        return self._fetcher.fetch(
            FetchRequest(
                url=url,
                addresses=resolution.addresses,
                port=resolution.port,
                timeout_s=self._timeout_s,
                max_body_bytes=self._max_body_bytes if page else ROBOTS_MAX_BYTES,
                content_types=self._content_types if page else None,
                extra_headers=headers,
            )
        )

    def stop(self) -> None:
        """Ends waits in the bucket; requests that are out go on."""
        self._stop.set()

    def waited_s(self) -> float:
        """Seconds that all threads together waited in the global bucket."""
        return self._bucket.waited_s if self._bucket else 0.0

    def _not_sent(self, url: str, kind: FailureKind, error: str) -> FetchFailure:
        now = self._clock.unix_s()
        return FetchFailure(
            url=url,
            kind=kind,
            error=error,
            status=None,
            address="",
            started_at=now,
            ended_at=now,
            elapsed_s=0.0,
        )
