"""Fetch results made by hand, for tests of what is stored of them."""

from __future__ import annotations

from typing import Any

from mercator.testing import MemoryBody
from mercator.values import FetchResult

REQUEST_HEAD = b"GET /page HTTP/1.1\r\nHost: h0.test\r\nUser-Agent: mercator/0\r\n\r\n"


def fetch_result(content: bytes = b"<p>hello</p>", **fields: Any) -> FetchResult:
    """A 200 answer with that body; any other field by name."""
    made: dict[str, Any] = {
        "url": "http://h0.test/page",
        "status": 200,
        "http_version": "HTTP/1.1",
        "status_text": "OK",
        "headers": (("Content-Type", "text/html"), ("Content-Length", "999")),
        "request_head": REQUEST_HEAD,
        "body": MemoryBody(content),
        "truncated": False,
        "wanted": True,
        "address": "127.0.0.1",
        "started_at": 1_800_000_000.123456,
        "ended_at": 1_800_000_000.5,
        "elapsed_s": 0.4,
    }
    made.update(fields)
    return FetchResult(**made)
