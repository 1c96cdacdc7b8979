"""The case files in `tests/vectors`, and answers made of their fields."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from mercator.testing import MemoryBody
from mercator.values import FailureKind, FetchFailure, FetchResult

Case = dict[str, Any]

FOLDER = Path(__file__).parents[2] / "vectors"


def cases(name: str) -> list[Case]:
    """The cases of a file, in order. Their ids are unique, or the file is wrong."""
    found: list[Case] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert len({case["id"] for case in found}) == len(found)
    return found


def text_of(case: Case, field: str) -> str:
    """A field given as text or as `FIELD_parts`, a list of [text, repeat]."""
    parts = case.get(f"{field}_parts")
    return str(case[field]) if parts is None else "".join(text * count for text, count in parts)


def bytes_of(case: Case, field: str, text_field: str) -> bytes:
    """A field given as text, as parts, or in Base64; no field is no bytes."""
    if f"{field}_b64" in case:
        return base64.b64decode(case[f"{field}_b64"])
    if f"{field}_parts" in case:
        return text_of(case, field).encode()
    return str(case.get(text_field, "")).encode()


def unix_s(text: str) -> float:
    """Unix seconds of an RFC 3339 time."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def answer_of(case: Case, url: str, *, max_body_bytes: int = 1 << 30) -> FetchResult | FetchFailure:
    """The answer that a case describes: a status with headers and body, or an error, or both."""
    pairs = case.get("headers_list") or case.get("headers", {}).items()
    headers = tuple((str(name), str(value)) for name, value in pairs)
    if "error" in case:
        return FetchFailure(
            url=url,
            kind=FailureKind(case["error"]),
            error="as the case says",
            status=case.get("status"),
            address="127.0.0.1",
            started_at=0.0,
            ended_at=0.0,
            elapsed_s=0.0,
            headers=headers,
        )
    body = bytes_of(case, "body", "body")
    if ("Content-Encoding", "gzip") in headers:
        body = gzip.decompress(body)  # the fetcher's work
    sent = case.get("request_headers", {}).items()
    return FetchResult(
        url=url,
        status=case["status"],
        http_version="HTTP/1.1",
        status_text="",
        headers=headers,
        request_head=b"GET / HTTP/1.1\r\nHost: archive.test\r\n"
        + "".join(f"{name}: {value}\r\n" for name, value in sent).encode()
        + b"\r\n",
        body=MemoryBody(body[:max_body_bytes]),
        truncated=len(body) > max_body_bytes,
        wanted=case.get("wanted", True),
        address="127.0.0.1",
        started_at=0.0,
        ended_at=0.0,
        elapsed_s=0.0,
    )
