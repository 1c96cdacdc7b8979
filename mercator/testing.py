"""Fakes that are shipped, one for each port a test or a notebook wants to replace."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping

from mercator.errors import StoreDamagedError
from mercator.ports import Body, Prepared
from mercator.values import (
    BodyPlace,
    FailureKind,
    FetchFailure,
    FetchRequest,
    FetchResult,
    Resolution,
)


class ManualClock:
    """A clock that stands still until `advance_s`. Threads: safe from any thread."""

    def __init__(self, unix_s: float = 1_800_000_000.0) -> None:
        self._lock = threading.Lock()
        self._now_s = 1000.0
        self._unix_zero_s = unix_s - self._now_s

    def monotonic_s(self) -> float:
        """Seconds, starting at 1000."""
        with self._lock:
            return self._now_s

    def unix_s(self) -> float:
        """Unix time, moving with `advance_s` only."""
        return self._unix_zero_s + self.monotonic_s()

    def sleep_s(self, seconds: float) -> None:
        """Advances itself: nobody else would."""
        self.advance_s(max(0.0, seconds))

    def advance_s(self, seconds: float) -> None:
        """Moves time on. Raises ValueError for a negative step."""
        if seconds < 0:
            raise ValueError("time does not go back")
        with self._lock:
            self._now_s += seconds


class MemoryBody:
    """A body in memory. Threads: immutable but for `close`."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size = len(content)
        self.sha256 = hashlib.sha256(content).digest()

    def read(self) -> bytes:
        """The whole body."""
        return self._content

    def chunks(self) -> Iterator[bytes]:
        """The body in pieces of 64 KiB."""
        for at in range(0, len(self._content), 65536):
            yield self._content[at : at + 65536]

    def close(self) -> None:
        """Nothing to give back."""


LOOPBACK = Resolution(("127.0.0.1",), 0, None, "")


class FixedResolver:
    """Answers every name at once from a mapping, others with `default`.

    Threads: safe from any thread.
    """

    def __init__(
        self,
        answers: Mapping[str, Resolution] | None = None,
        default: Resolution | None = LOOPBACK,
    ) -> None:
        self._answers = dict(answers or {})
        self._default = default

    def lookup(self, host: str) -> Resolution | None:
        """The fixed answer."""
        return self._answers.get(host, self._default)

    def request(self, host: str, on_answer: Callable[[], None]) -> None:
        """Answers at once: unknown names do not exist."""
        self._answers.setdefault(
            host, Resolution((), 0, FailureKind.DNS_NXDOMAIN, f"no such name: {host}")
        )
        on_answer()

    def close(self) -> None:
        """Nothing to end."""


class PreparedBody:
    """A body and its request, kept as they are. Threads: immutable."""

    def __init__(self, result: FetchResult) -> None:
        self.url = result.url
        self.sha256 = result.body.sha256
        self.content = result.body.read()
        self.size = len(self.content)

    def close(self) -> None:
        """Nothing to give back."""


class MemoryDocuments:
    """`ports.Documents` in memory: what was appended, and how much of it is committed.

    Threads: as the port says.
    """

    def __init__(self) -> None:
        self.records: list[PreparedBody] = []
        self._synced = 0

    def prepare(self, result: FetchResult) -> PreparedBody:
        """Keeps the body."""
        return PreparedBody(result)

    def append(self, prepared: Prepared) -> BodyPlace:
        """Its place is its number."""
        assert isinstance(prepared, PreparedBody), "what `prepare` of this adapter gave"
        self.records.append(prepared)
        return BodyPlace("memory", len(self.records) - 1)

    def sync(self) -> Mapping[str, int | str]:
        """The number of records."""
        self._synced = len(self.records)
        return {"file": "memory", "offset": self._synced, "sequence": 0}

    def rollback(self, committed: Mapping[str, object] | None = None) -> None:
        """Drops what the tables do not name."""
        offset = committed.get("offset") if committed else self._synced
        del self.records[int(str(offset)) :]

    def read(self, place: BodyPlace, sha256: bytes) -> bytes:
        """The body at a place. Raises StoreDamagedError when it is another one."""
        record = self.records[place.warc_offset]
        if record.sha256 != sha256:
            raise StoreDamagedError(f"another body lies at {place}")
        return record.content

    def close(self) -> None:
        """Nothing to close."""


Answer = tuple[int, Mapping[str, str], bytes]
Script = Callable[[FetchRequest], "Answer | FailureKind"]


class ScriptedFetcher:
    """Plays a script instead of the network and keeps every request it was asked for.

    A script gives (status, headers, body) or a FailureKind; `took_s` is what each fetch costs on
    the clock. Threads: safe from any thread.
    """

    def __init__(self, clock: ManualClock, script: Script, took_s: float = 0.0) -> None:
        self._clock = clock
        self._script = script
        self._took_s = took_s
        self._lock = threading.Lock()
        self.requests: list[tuple[float, str]] = []

    def fetch(self, request: FetchRequest) -> FetchResult | FetchFailure:
        """The scripted answer for `request.url`."""
        started_at = self._clock.unix_s()
        with self._lock:
            self.requests.append((started_at, request.url))
        answer = self._script(request)
        if self._took_s:
            self._clock.advance_s(self._took_s)
        address = request.addresses[0] if request.addresses else ""
        if isinstance(answer, FailureKind):
            return FetchFailure(
                url=request.url,
                kind=answer,
                error=str(answer),
                status=None,
                address=address,
                started_at=started_at,
                ended_at=self._clock.unix_s(),
                elapsed_s=self._took_s,
            )
        status, headers, content = answer
        body: Body = MemoryBody(content[: request.max_body_bytes])
        return FetchResult(
            url=request.url,
            status=status,
            http_version="HTTP/1.1",
            status_text="",
            headers=tuple(headers.items()),
            request_head=f"GET {request.url} HTTP/1.1\r\n\r\n".encode("ascii", "replace"),
            body=body,
            truncated=len(content) > request.max_body_bytes,
            wanted=True,
            address=address,
            started_at=started_at,
            ended_at=self._clock.unix_s(),
            elapsed_s=self._took_s,
        )

    def urls(self) -> list[str]:
        """The URLs asked for, in order."""
        with self._lock:
            return [url for _, url in self.requests]

    def close(self) -> None:
        """Nothing to close."""
