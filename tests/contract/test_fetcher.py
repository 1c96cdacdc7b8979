"""What every Fetcher promises (ports.Fetcher, values.FetchResult and values.FetchFailure)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping

import pytest

from mercator.clock import RealClock
from mercator.net.body import BodyMemory
from mercator.net.fetcher import HttpFetcher
from mercator.ports import Fetcher
from mercator.testing import ManualClock, ScriptedFetcher
from mercator.values import FailureKind, FetchFailure, FetchRequest, FetchResult
from tests.unit.net.loopback import Conversation, LoopbackServer

PAGES: dict[str, tuple[int, Mapping[str, str], bytes]] = {
    "/": (200, {"Content-Type": "text/html", "X-One": "1"}, b"<p>hello</p>"),
    "/empty": (200, {"Content-Type": "text/html"}, b""),
    "/long": (200, {"Content-Type": "text/html"}, b"x" * 200_000),
    "/moved": (301, {"Location": "/"}, b"moved"),
    "/gone": (404, {}, b"gone"),
}

Ask = Callable[..., FetchResult | FetchFailure]


def _serve(talk: Conversation) -> None:
    while head := talk.request():
        path = head.split(b" ")[1].decode()
        if path == "/reset":
            talk.reset()
            return
        status, headers, body = PAGES[path]
        lines = [f"HTTP/1.1 {status} x", *(f"{k}: {v}" for k, v in headers.items())]
        lines.append(f"Content-Length: {len(body)}")
        talk.send("\r\n".join([*lines, "", ""]).encode() + body)


def _play(request: FetchRequest) -> tuple[int, Mapping[str, str], bytes] | FailureKind:
    path = request.url.removeprefix("http://site.test")
    return FailureKind.CONNECTION_RESET if path == "/reset" else PAGES[path]


@pytest.fixture(params=["http", "scripted"])
def ask(request: pytest.FixtureRequest) -> Iterator[Ask]:
    fetcher: Fetcher
    with LoopbackServer(_serve) as server:
        if request.param == "http":
            fetcher = HttpFetcher(
                user_agent="m", clock=RealClock(), bodies=BodyMemory(1 << 20), pool_capacity=2
            )
        else:
            fetcher = ScriptedFetcher(ManualClock(), _play, took_s=0.5)

        def ask(path: str, max_body_bytes: int = 1 << 20) -> FetchResult | FetchFailure:
            return fetcher.fetch(
                FetchRequest(
                    url=f"http://site.test{path}",
                    addresses=("127.0.0.1",),
                    port=server.port,
                    timeout_s=10.0,
                    max_body_bytes=max_body_bytes,
                )
            )

        yield ask
        fetcher.close()
        fetcher.close()


@pytest.mark.parametrize("path", PAGES)
def test_an_answer_is_a_result(ask: Ask, path: str) -> None:
    status, headers, content = PAGES[path]
    got = ask(path)
    assert isinstance(got, FetchResult)
    assert (got.url, got.status) == (f"http://site.test{path}", status)
    assert set(headers.items()) <= set(got.headers)
    assert got.body.read() == content
    assert b"".join(got.body.chunks()) == content
    assert all(len(chunk) <= 65536 for chunk in got.body.chunks())
    assert (got.body.size, got.body.sha256) == (len(content), hashlib.sha256(content).digest())
    assert (got.truncated, got.wanted, got.address) == (False, True, "127.0.0.1")
    assert got.request_head.startswith(b"GET ")
    assert got.request_head.endswith(b"\r\n\r\n")
    got.body.close()
    got.body.close()


def test_no_redirect_is_followed(ask: Ask) -> None:
    got = ask("/moved")
    assert isinstance(got, FetchResult)
    assert got.status == 301
    got.body.close()


def test_a_long_body_is_cut_and_marked(ask: Ask) -> None:
    got = ask("/long", max_body_bytes=1000)
    assert isinstance(got, FetchResult)
    assert (got.body.size, got.truncated) == (1000, True)
    got.body.close()


def test_a_failure_is_a_value(ask: Ask) -> None:
    got = ask("/reset")
    assert isinstance(got, FetchFailure)
    assert (got.kind, got.status) == (FailureKind.CONNECTION_RESET, None)
    assert got.url == "http://site.test/reset"
    assert got.error


@pytest.mark.parametrize("path", ["/", "/reset"])
def test_times_fit_together(ask: Ask, path: str) -> None:
    got = ask(path)
    assert got.elapsed_s > 0
    assert got.ended_at - got.started_at == pytest.approx(got.elapsed_s, abs=1e-3)
    if isinstance(got, FetchResult):
        got.body.close()
