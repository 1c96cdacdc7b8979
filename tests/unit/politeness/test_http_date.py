"""HTTP-dates in their three forms, and what only looks like one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mercator.politeness.http_date import parse_http_date

NOW = datetime(2026, 3, 3, 10, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)),
        ("Sunday, 06-Nov-94 08:49:37 GMT", datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)),
        ("Sun Nov  6 08:49:37 1994", datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)),
        ("Sun Nov 06 08:49:37 1994", datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)),
        ("Monday, 03-Feb-76 09:00:00 GMT", datetime(2076, 2, 3, 9, tzinfo=UTC)),
        ("Friday, 03-Apr-76 09:00:00 GMT", datetime(1976, 4, 3, 9, tzinfo=UTC)),
        ("Thu, 29 Feb 2024 00:00:00 GMT", datetime(2024, 2, 29, tzinfo=UTC)),
        ("Fri, 31 Dec 2016 23:59:60 GMT", datetime(2017, 1, 1, tzinfo=UTC)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_dates(text: str, moment: datetime) -> None:
    assert parse_http_date(text, NOW) == moment.timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 30 Feb 2025 08:49:37 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Sun, 06 Nov 1994 08:49:37 GMT\n",
        "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z",
    ],
)
def test_no_dates(text: str) -> None:
    assert parse_http_date(text, NOW) is None


@pytest.mark.parametrize("now", [0.0, -1e12, 1e18])
def test_any_clock_will_do(now: float) -> None:
    assert parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT", now) == 784_111_777.0
    parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT", now)


def test_two_digits_in_the_next_century() -> None:
    now = datetime(2099, 12, 31, tzinfo=UTC).timestamp()
    moment = datetime(2101, 1, 3, tzinfo=UTC)
    assert parse_http_date("Monday, 03-Jan-01 00:00:00 GMT", now) == moment.timestamp()
