"""WARC 1.1 records as bytes: `warcinfo`, and the `response` and `request` of one fetch.

Written by hand because a general writer costs half a millisecond a page. A record is one gzip
member (or plain). Each capture is the response record followed by its request record, so that the
place of a capture is its response; the request points at it with `WARC-Concurrent-To`.

Bodies are archived decompressed. The fields that would then be wrong (Content-Encoding,
Transfer-Encoding, Content-Length) are kept as `X-Archive-Orig-*` and a correct Content-Length is
written, so that every reader finds the payload without knowing how it was sent.

Source: ISO 28500:2017 (WARC 1.1), sections 4 to 6.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote
from uuid import uuid4

from mercator.values import FetchResult

GZIP_LEVEL = 1
"""30 KB of HTML cost 0.19 to 0.30 ms at level 1 and 0.36 to 0.54 at level 6 (plain: 0.03), for 6 to
16 % more bytes; only level 1 leaves a page's budget of 2 ms nearly as it is."""

RECORD_END = b"\r\n\r\n"
NOT_REACHED = "unspecified"
CUT = "length"

_NOT_TOKEN = re.compile(r"[^!#$%&'*+\-.^_`|~0-9A-Za-z]")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]+")
_NOT_URI = re.compile(r"[^\x21-\x7e]")
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]+")
_PRINTABLE_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_VERSIONS = ("HTTP/1.0", "HTTP/1.1")
_DESCRIBES_THE_WIRE = ("content-encoding", "transfer-encoding", "content-length")


@dataclass(frozen=True, slots=True, kw_only=True)
class WarcInfo:
    """What the `warcinfo` record of each file says about the run (WARC 1.1, 6.2).

    `software` is NAME/VERSION, `user_agent` the header as sent, `contact` a URL or mail address.
    Threads: immutable.
    """

    software: str
    user_agent: str
    contact: str | None = None
    robots: str = "obey (RFC 9309)"


def warcinfo_record(info: WarcInfo, file_name: str, unix_s: float, level: int | None) -> bytes:
    """The record that says who wrote the records behind it. `level` None: not compressed."""
    fields = {
        "software": info.software,
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/"
        "warc-format/warc-1.1/",
        "robots": info.robots,
        "http-header-user-agent": info.user_agent,
        "operator": info.contact or "",
    }
    block = "".join(f"{name}: {_line(value)}\r\n" for name, value in fields.items() if value)
    content = block.encode("utf-8", "backslashreplace")
    head = (
        "WARC/1.1\r\n"
        "WARC-Type: warcinfo\r\n"
        f"WARC-Record-ID: {_new_id()}\r\n"
        f"WARC-Date: {warc_date(unix_s)}\r\n"
        f"WARC-Filename: {file_name}\r\n"
        f"WARC-Block-Digest: sha256:{hashlib.sha256(content).hexdigest()}\r\n"
        "Content-Type: application/warc-fields\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return _member(b"".join((head.encode("ascii"), content, RECORD_END)), level)


def capture(result: FetchResult, level: int | None) -> bytes:
    """The response and request records of a fetch, made in memory (about twice the body's size).

    Cost: two SHA-256 blocks and one compression of the body, both without the interpreter lock.
    """
    http_head = archived_head(result)
    body = result.body.read()
    assert len(body) == result.body.size, "a body is as long as it says"
    digest = hashlib.sha256(http_head)
    digest.update(body)
    response_id = _new_id()
    head = _response_head(result, response_id, digest.hexdigest(), len(http_head))
    response = _member(b"".join((head, http_head, body, RECORD_END)), level)
    return response + _request_record(result, response_id, level)


def stream_capture(
    result: FetchResult, level: int | None, write: Callable[[bytes], object]
) -> None:
    """The same bytes in pieces, for bodies that must not be in memory whole.

    Goes through `body.chunks()` twice, since the digest stands in front of what it is of.
    """
    http_head = archived_head(result)
    digest = hashlib.sha256(http_head)
    for chunk in result.body.chunks():
        digest.update(chunk)
    response_id = _new_id()
    head = _response_head(result, response_id, digest.hexdigest(), len(http_head))
    packer = None if level is None else zlib.compressobj(level, zlib.DEFLATED, 31)
    pack: Callable[[bytes], bytes] = packer.compress if packer else bytes
    write(pack(head + http_head))
    body_bytes = 0
    for chunk in result.body.chunks():
        body_bytes += len(chunk)
        write(pack(chunk))
    assert body_bytes == result.body.size, "a body is as long as it says, each time it is read"
    write(pack(RECORD_END))
    if packer:
        write(packer.flush())
    write(_request_record(result, response_id, level))


def archived_head(result: FetchResult) -> bytes:
    """Status line and header section of the response as archived, up to the empty line.

    Whatever the server sent, each field stays on its own line: line breaks (obs-fold, RFC 9112 5.2,
    or an attempt to inject) and other controls become a space, characters that no field name may
    have (RFC 9110 5.6.2) become "_". A version that is not HTTP/1.x is written as HTTP/1.1, the
    only form that readers of WARC know.
    """
    version = result.http_version if result.http_version in _VERSIONS else "HTTP/1.1"
    lines = [f"{version} {result.status:03d} {_line(result.status_text)}"]
    for name, value in result.headers:
        if not name or _NOT_TOKEN.search(name):
            name = _NOT_TOKEN.sub("_", name) or "_"
        if name.lower() in _DESCRIBES_THE_WIRE:
            name = f"X-Archive-Orig-{name}"
        lines.append(f"{name}: {_line(value)}")
    lines.append(f"Content-Length: {result.body.size}\r\n\r\n")
    head = "\r\n".join(lines)
    try:
        return head.encode("latin-1")
    except UnicodeEncodeError:
        # Only a fetcher that decoded the fields as something else than bytes gets here.
        return head.encode("utf-8", "backslashreplace")


def warc_date(unix_s: float) -> str:
    """`2026-12-01T14:00:00.123456Z` (WARC 1.1, 5.4: up to nine fraction digits)."""
    moment = datetime.fromtimestamp(unix_s, UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds") + "Z"


def _response_head(
    result: FetchResult, record_id: str, block_digest: str, head_bytes: int
) -> bytes:
    address = f"WARC-IP-Address: {result.address}\r\n" if _ADDRESS.fullmatch(result.address) else ""
    cut = CUT if result.truncated else "" if result.wanted else NOT_REACHED
    truncated = f"WARC-Truncated: {cut}\r\n" if cut else ""
    return (
        "WARC/1.1\r\n"
        "WARC-Type: response\r\n"
        f"WARC-Record-ID: {record_id}\r\n"
        f"WARC-Date: {warc_date(result.started_at)}\r\n"
        f"WARC-Target-URI: {_uri(result.url)}\r\n"
        f"{address}"
        f"WARC-Block-Digest: sha256:{block_digest}\r\n"
        f"WARC-Payload-Digest: sha256:{result.body.sha256.hex()}\r\n"
        f"{truncated}"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {head_bytes + result.body.size}\r\n\r\n"
    ).encode("ascii")


def _request_record(result: FetchResult, response_id: str, level: int | None) -> bytes:
    """The request as sent; nothing when the fetcher did not keep it."""
    block = result.request_head
    if not block:
        return b""
    address = f"WARC-IP-Address: {result.address}\r\n" if _ADDRESS.fullmatch(result.address) else ""
    head = (
        "WARC/1.1\r\n"
        "WARC-Type: request\r\n"
        f"WARC-Record-ID: {_new_id()}\r\n"
        f"WARC-Date: {warc_date(result.started_at)}\r\n"
        f"WARC-Target-URI: {_uri(result.url)}\r\n"
        f"{address}"
        f"WARC-Concurrent-To: {response_id}\r\n"
        f"WARC-Block-Digest: sha256:{hashlib.sha256(block).hexdigest()}\r\n"
        "Content-Type: application/http; msgtype=request\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return _member(b"".join((head.encode("ascii"), block, RECORD_END)), level)


def _member(record: bytes, level: int | None) -> bytes:
    """The record as a gzip member of its own (no name, no time: equal records give equal bytes)."""
    return record if level is None else zlib.compress(record, level, 31)


def _new_id() -> str:
    return f"<urn:uuid:{uuid4()}>"


def _line(text: str) -> str:
    """The text on one line, without controls."""
    return _CONTROLS.sub(" ", text) if _CONTROLS.search(text) else text


def _uri(url: str) -> str:
    """The URL as it stands, with anything that would break its line percent-encoded."""
    if not _NOT_URI.search(url):
        return url
    return quote(url, safe=_PRINTABLE_ASCII, errors="backslashreplace")
