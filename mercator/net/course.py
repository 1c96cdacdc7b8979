"""What is known of a request while it runs, and the value that it ends as."""

from __future__ import annotations

from mercator.net.answer import Head
from mercator.net.body import SpooledBody
from mercator.net.faults import Phase, kind_of, text_of
from mercator.ports import Clock
from mercator.values import FailureKind, FetchFailure, FetchRequest, FetchResult


class Course:
    """A request from its start, with its one deadline. Threads: confined to the fetching thread."""

    __slots__ = (
        "_clock",
        "_started_at",
        "address",
        "bytes_read",
        "deadline_s",
        "head",
        "phase",
        "request",
        "started_at_s",
    )

    def __init__(self, request: FetchRequest, clock: Clock) -> None:
        self._clock = clock
        self._started_at = clock.unix_s()
        self.started_at_s = clock.monotonic_s()
        self.deadline_s = self.started_at_s + request.timeout_s
        self.request = request
        self.phase = Phase.CONNECT
        self.address = request.addresses[0]
        self.head: Head | None = None
        self.bytes_read = 0

    def result(
        self, head: Head, request_head: bytes, body: SpooledBody, *, truncated: bool, wanted: bool
    ) -> FetchResult:
        """The answer, ended now."""
        elapsed_s = self._clock.monotonic_s() - self.started_at_s
        return FetchResult(
            url=self.request.url,
            status=head.status,
            http_version=head.http_version,
            status_text=head.status_text,
            headers=head.headers,
            request_head=request_head,
            body=body,
            truncated=truncated,
            wanted=wanted,
            address=self.address,
            started_at=self._started_at,
            ended_at=self._started_at + elapsed_s,
            elapsed_s=elapsed_s,
        )

    def failure(self, error: Exception) -> FetchFailure:
        """The failure that `error` means, ended now."""
        kind = kind_of(error, self.phase)
        if kind is FailureKind.CONNECTION_RESET and self.head is not None:
            # The head had come, so it is the body that broke off, however it did.
            kind = FailureKind.INCOMPLETE_BODY
        elapsed_s = self._clock.monotonic_s() - self.started_at_s
        return FetchFailure(
            url=self.request.url,
            kind=kind,
            error=text_of(error),
            status=self.head.status if self.head else None,
            address=self.address,
            started_at=self._started_at,
            ended_at=self._started_at + elapsed_s,
            elapsed_s=elapsed_s,
            bytes_read=self.bytes_read,
            headers=self.head.headers if self.head else (),
        )
