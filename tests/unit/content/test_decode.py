"""What the vectors do not say: labels, single bytes, bodies that are no text, and the prescan's end."""

from __future__ import annotations

import codecs

import pytest

from mercator.content.decode import decide, decode, whole_characters
from mercator.content.labels import encoding_of

SINGLE_BYTE = {
    "IBM866": "cp866",
    "ISO-8859-2": "iso8859-2",
    "ISO-8859-16": "iso8859-16",
    "KOI8-R": "koi8-r",
    "macintosh": "mac-roman",
    "windows-1251": "cp1251",
    "windows-1256": "cp1256",
    "x-mac-cyrillic": "mac-cyrillic",
}


@pytest.mark.parametrize(
    ("label", "name"),
    [
        (" UTF8\n", "UTF-8"),
        ("ascii", "windows-1252"),
        ("x-sjis", "Shift_JIS"),
        ("gb2312", "GBK"),
        ("GB18030", "gb18030"),
        ("hebrew", "ISO-8859-8"),
        ("logical", "ISO-8859-8-I"),
        ("mac", "macintosh"),
        ("utf-16", "UTF-16LE"),
        ("utf-7", None),
        ("", None),
        ("ｕｔｆ-8", None),
    ],
)
def test_labels_give_names_as_the_standard_writes_them(label: str, name: str | None) -> None:
    assert encoding_of(label) == name


@pytest.mark.parametrize("name", SINGLE_BYTE)
def test_single_bytes_are_pythons_but_for_the_controls(name: str) -> None:
    for byte in range(256):
        try:
            expected = bytes((byte,)).decode(SINGLE_BYTE[name])
        except UnicodeDecodeError:
            expected = chr(byte)
        assert decode(bytes((byte, 0xA0)), name)[0] == expected


def test_decode_takes_labels_and_reads_the_unknown_as_windows_1252() -> None:
    assert decode("é".encode(), "utf-8") == "é"
    assert decode(b"\x80", "no such") == "€"
    assert decode(b"\x80", "") == "€"


def test_only_the_own_byte_order_mark_is_removed_and_only_once() -> None:
    assert decode(codecs.BOM_UTF8 * 2 + b"x", "UTF-8") == "\ufeffx"
    assert decode(codecs.BOM_UTF16_BE + b"\0x", "UTF-16BE") == "x"
    assert decode(codecs.BOM_UTF16_LE + b"\0x", "UTF-16BE") == "\ufffex"


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "name", ["GBK", "Big5", "EUC-JP", "EUC-KR", "Shift_JIS", "ISO-2022-JP", "UTF-16LE"]
)
@pytest.mark.parametrize("unit", [b"\xff", b"\x81 ", b"\xa2A\xff", b"\x1b(B", b"\x1b$B!\x80"])
def test_a_body_that_is_no_text_is_decoded_in_time(name: str, unit: bytes) -> None:
    body = unit * (2_000_000 // len(unit))
    assert len(decode(body, name)) <= len(body)


@pytest.mark.parametrize("fill", [900, 1001, 1002, 1003, 1004, 1023, 1024, 5000])
def test_a_meta_counts_before_at_and_behind_the_end_of_the_prescan(fill: int) -> None:
    body = b"<!--" + b"x" * fill + b"--><meta charset=koi8-r>\xc4"
    assert decide(body, "text/html") == ("KOI8-R", "meta")


def test_the_prescan_skips_metas_that_declare_nothing() -> None:
    body = (
        b"<meta name=a content='charset=gbk'><meta http-equiv=content-type content='text/html'>"
        b"<meta charset=unknown><meta http-equiv=content-type content='charset;charset=koi8-r'>"
    )
    assert decide(body, "text/html") == ("KOI8-R", "meta")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<!-- never closed <meta charset=koi8-r>\xe9", ("windows-1252", "default")),
        (b"<!--><meta charset=koi8-r>\xe9", ("KOI8-R", "meta")),
        (b"<!---><meta charset=koi8-r>\xe9", ("KOI8-R", "meta")),
        (b"</ <meta charset=koi8-r><meta charset=big5>\xe9", ("Big5", "meta")),
        (b"<?x <meta charset=koi8-r><meta charset=big5>\xe9", ("Big5", "meta")),
    ],
)
def test_comments_in_the_prescan(body: bytes, expected: tuple[str, str]) -> None:
    assert decide(body, "text/html") == expected


def test_vendor_rows_of_euc_jp() -> None:
    pairs = b"\xad\xa1\xad\xdf\xad\xe0\xf9\xa1\xf9\xdf\xf9\xe0\xfc\xfc"
    assert decode(pairs, "EUC-JP") == "①㍻〝纊\ufa0f\ufa10￤"


def test_of_a_body_that_is_no_text_errors_are_python_s() -> None:
    body = b"\xb0\xff" * 150_000
    assert decode(body[:20], "EUC-KR") == "\ufffd" * 10
    assert decode(body, "EUC-KR") == body.decode("cp949", "replace")


def test_a_late_meta_in_a_template_or_attribute_is_none() -> None:
    body = b"x" * 2000 + b"<template><meta charset=gbk></template><p title='<meta charset=gbk>'>"
    assert decide(body, "text/html") == ("UTF-8", "utf-8")
    assert decide(body + b"<meta charset=big5>", None) == ("Big5", "meta")


@pytest.mark.parametrize("cut", range(1, 16))
def test_a_body_cut_inside_a_character_stays_utf_8(cut: int) -> None:
    body = "aé€😀b€é😀".encode()
    kept = whole_characters(body[:cut])
    assert body.startswith(kept)
    assert cut - len(kept) <= 3
    assert decide(kept, "text/plain")[0] == "UTF-8"


@pytest.mark.parametrize("body", [b"", b"a", b"\xe9", b"caf\xe9.", b"\x80\x80\x80\x80", b"\xff"])
def test_only_the_beginning_of_a_character_is_taken_off(body: bytes) -> None:
    kept = whole_characters(body)
    assert body[: len(kept)] == kept
    assert len(body) - len(kept) <= 1
    assert kept == body or body[-1] >= 0xC0
