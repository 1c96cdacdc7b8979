"""The records are what WARC 1.1 says, and a reader of other people's making agrees."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from mercator.store.warc import (
    WarcInfo,
    archived_head,
    capture,
    stream_capture,
    warc_date,
    warcinfo_record,
)
from mercator.testing import MemoryBody
from mercator.values import FetchResult
from tests.unit.store.results import REQUEST_HEAD, fetch_result

LEVELS = pytest.mark.parametrize("level", [1, None])


class Read:
    """A record as warcio reads it, with its digests checked."""

    def __init__(self, record: Any) -> None:
        self.kind: str = record.rec_type
        self.fields: dict[str, str] = dict(record.rec_headers.headers)
        self.names = [name for name, _ in record.rec_headers.headers]
        self.http = record.http_headers
        self.payload: bytes = record.content_stream().read()
        self.problems: list[str] = record.digest_checker.problems
        self.passed: bool | None = record.digest_checker.passed


def read_back(content: bytes) -> list[Read]:
    """All records in the bytes of a file."""
    return [Read(record) for record in ArchiveIterator(io.BytesIO(content), check_digests=True)]


def streamed(result: FetchResult, level: int | None) -> bytes:
    """The bytes that `stream_capture` writes."""
    pieces: list[bytes] = []
    stream_capture(result, level, pieces.append)
    return b"".join(pieces)


@LEVELS
def test_a_capture_is_a_response_and_then_its_request(level: int | None) -> None:
    response, request = read_back(capture(fetch_result(b"body"), level))
    assert (response.kind, request.kind) == ("response", "request")
    assert response.payload == b"body"
    assert response.fields["WARC-Target-URI"] == "http://h0.test/page"
    assert response.fields["WARC-Date"] == "2027-01-15T08:00:00.123456Z"
    assert response.fields["WARC-IP-Address"] == "127.0.0.1"
    assert response.fields["Content-Type"] == "application/http; msgtype=response"
    assert response.fields["WARC-Record-ID"].startswith("<urn:uuid:")
    digest = hashlib.sha256(b"body").hexdigest()
    assert response.fields["WARC-Payload-Digest"] == f"sha256:{digest}"
    assert "WARC-Truncated" not in response.fields
    assert request.fields["Content-Type"] == "application/http; msgtype=request"
    assert request.fields["WARC-Concurrent-To"] == response.fields["WARC-Record-ID"]
    assert request.fields["WARC-Record-ID"] != response.fields["WARC-Record-ID"]
    assert request.fields["WARC-Date"] == response.fields["WARC-Date"]
    assert request.http.protocol == "GET"


def test_digests_are_right_and_wrong_ones_are_caught() -> None:
    content = capture(fetch_result(b"<p>hello</p>"), None)
    assert [(read.passed, read.problems) for read in read_back(content)] == [(True, [])] * 2
    broken = content.replace(b"<p>hello</p>", b"<p>hallo</p>")
    assert len(read_back(broken)[0].problems) == 2, "block and payload"


def test_no_field_is_there_twice() -> None:
    for read in read_back(capture(fetch_result(truncated=True), None)):
        assert len(read.names) == len(set(read.names))


def test_each_record_is_a_gzip_member_of_its_own() -> None:
    content = capture(fetch_result(), 1)
    unpacker = zlib.decompressobj(31)
    response = unpacker.decompress(content)
    assert unpacker.eof
    assert response.startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")
    assert gzip.decompress(unpacker.unused_data).startswith(b"WARC/1.1\r\nWARC-Type: request\r\n")


def test_fields_that_describe_the_wire_are_kept_under_another_name() -> None:
    headers = (
        ("content-encoding", "gzip"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "7"),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
    )
    (response, _) = read_back(capture(fetch_result(b"12345", headers=headers), 1))
    assert response.http.headers == [
        ("X-Archive-Orig-content-encoding", "gzip"),
        ("X-Archive-Orig-Transfer-Encoding", "chunked"),
        ("X-Archive-Orig-Content-Length", "7"),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
        ("Content-Length", "5"),
    ]


@pytest.mark.parametrize(
    ("header", "line"),
    [
        (("X-A", "one\r\n two"), b"X-A: one  two"),
        (("X-A", "one\r\nX-Evil: two"), b"X-A: one X-Evil: two"),
        (("X-A", "one\r\n\r\n<p>"), b"X-A: one <p>"),
        (("X-A", "a\x00b\x7fc\td"), b"X-A: a b c\td"),
        (("X-A\r\nX-Evil", "b"), b"X-A__X-Evil: b"),
        ((" X-A:", "b"), b"_X-A_: b"),
        (("", "b"), b"_: b"),
        (("X-A", "caf\xe9"), b"X-A: caf\xe9"),
    ],
)
def test_no_field_leaves_its_line(header: tuple[str, str], line: bytes) -> None:
    head = archived_head(fetch_result(b"", headers=(header,)))
    assert head == b"HTTP/1.1 200 OK\r\n" + line + b"\r\nContent-Length: 0\r\n\r\n"


def test_a_field_that_is_not_latin_1_is_written_as_utf_8() -> None:
    head = archived_head(fetch_result(b"", headers=(("X-A", "\u2014\ud800"),)))
    assert b"X-A: \xe2\x80\x94\\ud800\r\n" in head


@pytest.mark.parametrize(
    ("version", "text", "line"),
    [
        ("HTTP/1.0", "Not\r\nX: y", b"HTTP/1.0 404 Not X: y"),
        ("HTTP/2", "", b"HTTP/1.1 404 "),
        ("ICY\r\n", "OK", b"HTTP/1.1 404 OK"),
    ],
)
def test_the_status_line_is_one_that_readers_know(version: str, text: str, line: bytes) -> None:
    head = archived_head(fetch_result(status=404, http_version=version, status_text=text))
    assert head.split(b"\r\n")[0] == line


@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("http://h.test/a%20b?q=[1]", "http://h.test/a%20b?q=[1]"),
        ("http://h.test/a b", "http://h.test/a%20b"),
        ("http://h.test/\r\nWARC-Type: x", "http://h.test/%0D%0AWARC-Type:%20x"),
        ("http://h.test/é", "http://h.test/%C3%A9"),
    ],
)
def test_the_target_uri_stays_on_its_line(url: str, uri: str) -> None:
    for read in read_back(capture(fetch_result(url=url), None)):
        assert read.fields["WARC-Target-URI"] == uri


def test_what_is_no_address_is_left_out() -> None:
    for address in ("", "fe80::1%eth0\r\nX: y"):
        response, request = read_back(capture(fetch_result(address=address), None))
        assert "WARC-IP-Address" not in response.fields
        assert "WARC-IP-Address" not in request.fields


@pytest.mark.parametrize(
    ("truncated", "wanted", "why"),
    [(True, True, "length"), (False, False, "unspecified"), (True, False, "length")],
)
def test_a_body_that_is_not_whole_says_so(truncated: bool, wanted: bool, why: str) -> None:
    result = fetch_result(b"", truncated=truncated, wanted=wanted)
    response, request = read_back(capture(result, 1))
    assert response.fields["WARC-Truncated"] == why
    assert "WARC-Truncated" not in request.fields


def test_without_a_request_head_there_is_no_request_record() -> None:
    (response,) = read_back(capture(fetch_result(request_head=b""), 1))
    assert response.kind == "response"


@pytest.mark.parametrize(
    ("unix_s", "date"),
    [
        (1_800_000_000.0, "2027-01-15T08:00:00.000000Z"),
        (1_800_000_000.999999, "2027-01-15T08:00:00.999999Z"),
        (0.0, "1970-01-01T00:00:00.000000Z"),
    ],
)
def test_dates_have_microseconds(unix_s: float, date: str) -> None:
    assert warc_date(unix_s) == date


@LEVELS
def test_warcinfo_says_who_writes_and_how(level: int | None) -> None:
    info = WarcInfo(
        software="mercator/0.1.0",
        user_agent="mercator/0.1.0 (+me@example.org)",
        contact="me@example.org\r\nx: y",
    )
    (read,) = read_back(warcinfo_record(info, "mercator-0000-00000000.warc.gz", 1.8e9, level))
    assert read.kind == "warcinfo"
    assert read.fields["WARC-Filename"] == "mercator-0000-00000000.warc.gz"
    assert read.fields["Content-Type"] == "application/warc-fields"
    assert (read.passed, read.problems) == (True, [])
    assert dict(line.split(": ", 1) for line in read.payload.decode().splitlines()) == {
        "software": "mercator/0.1.0",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/"
        "warc-format/warc-1.1/",
        "robots": "obey (RFC 9309)",
        "http-header-user-agent": "mercator/0.1.0 (+me@example.org)",
        "operator": "me@example.org x: y",
    }


@LEVELS
def test_a_streamed_capture_is_the_same_but_for_its_ids(level: int | None) -> None:
    content = bytes(range(256)) * 1000
    whole = read_back(capture(fetch_result(content), level))
    parts = read_back(streamed(fetch_result(content), level))
    ids = ("WARC-Record-ID", "WARC-Concurrent-To")
    for one, other in zip(whole, parts, strict=True):
        assert one.payload == other.payload
        assert (other.passed, other.problems) == (True, [])
        assert one.http.headers == other.http.headers
        assert {k: v for k, v in one.fields.items() if k not in ids} == {
            k: v for k, v in other.fields.items() if k not in ids
        }


class _LyingBody(MemoryBody):
    """A body that is longer than it says."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.size -= 1


def test_a_body_of_another_length_than_it_says_is_never_written() -> None:
    with pytest.raises(AssertionError, match="as long as it says"):
        capture(fetch_result(body=_LyingBody(b"abc")), 1)
    with pytest.raises(AssertionError, match="as long as it says"):
        streamed(fetch_result(body=_LyingBody(b"abc")), 1)


FIELD_TEXT = st.text(st.characters(codec="latin-1"), max_size=30) | st.text(max_size=10)


@settings(max_examples=300, deadline=None)
@given(
    body=st.binary(max_size=300),
    status=st.integers(100, 999),
    status_text=FIELD_TEXT,
    headers=st.lists(st.tuples(FIELD_TEXT, FIELD_TEXT), max_size=6).map(tuple),
    url=FIELD_TEXT.map("http://h.test/".__add__),
    address=FIELD_TEXT,
    level=st.sampled_from([None, 1, 6]),
    stream=st.booleans(),
)
def test_whatever_a_server_sends_reads_back_whole(
    body: bytes,
    status: int,
    status_text: str,
    headers: tuple[tuple[str, str], ...],
    url: str,
    address: str,
    level: int | None,
    stream: bool,
) -> None:
    result = fetch_result(
        body,
        status=status,
        status_text=status_text,
        headers=headers,
        url=url,
        address=address,
    )
    content = streamed(result, level) if stream else capture(result, level)
    response, request = read_back(content)
    assert response.payload == body
    assert response.http.get_statuscode() == str(status)
    assert len(response.http.headers) == len(headers) + 1
    assert response.http.headers[-1] == ("Content-Length", str(len(body)))
    assert request.payload == b""
    assert request.http.to_bytes() == REQUEST_HEAD
    for read in (response, request):
        assert (read.passed, read.problems) == (True, [])
        assert len(read.names) == len(set(read.names))
