from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mercator.clock import RealClock
from mercator.net.body import BodyMemory
from mercator.net.fetcher import HttpFetcher
from mercator.values import FetchFailure, FetchRequest, FetchResult
from tests.unit.net.loopback import LoopbackServer

Fetch = Callable[..., FetchResult | FetchFailure]


@pytest.fixture
def bodies() -> BodyMemory:
    return BodyMemory(64 << 20)


@pytest.fixture
def fetcher(bodies: BodyMemory) -> Iterator[HttpFetcher]:
    fetcher = HttpFetcher(
        user_agent="mercator/0.1 (+me@example.org)",
        clock=RealClock(),
        bodies=bodies,
        pool_capacity=8,
    )
    yield fetcher
    fetcher.close()


@pytest.fixture
def fetch(fetcher: HttpFetcher) -> Iterator[Fetch]:
    """Fetches from a server under the name `site.test`; closes the bodies at the end."""
    results: list[FetchResult] = []

    def fetch(
        server: LoopbackServer,
        path: str = "/",
        *,
        timeout_s: float = 10.0,
        max_body_bytes: int = 10 << 20,
        content_types: tuple[str, ...] | None = None,
        extra_headers: tuple[tuple[str, str], ...] = (),
    ) -> FetchResult | FetchFailure:
        answer = fetcher.fetch(
            FetchRequest(
                url=f"http://site.test{path}",
                addresses=("127.0.0.1",),
                port=server.port,
                timeout_s=timeout_s,
                max_body_bytes=max_body_bytes,
                content_types=content_types,
                extra_headers=extra_headers,
            )
        )
        if isinstance(answer, FetchResult):
            results.append(answer)
        return answer

    yield fetch
    for result in results:
        result.body.close()


def result(answer: FetchResult | FetchFailure) -> FetchResult:
    assert isinstance(answer, FetchResult), answer
    return answer


def failure(answer: FetchResult | FetchFailure) -> FetchFailure:
    assert isinstance(answer, FetchFailure), answer
    return answer
