"""Dates as HTTP writes them (RFC 9110, 5.6.7). Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_SHORT_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_FORMS = (
    re.compile(f"{_SHORT_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT"),
    re.compile(f"{_LONG_DAY}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT"),
    re.compile(f"{_SHORT_DAY} {_MONTH} (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})"),
)
_FIFTY_YEARS_S = 50 * 365.2425 * 86_400


def parse_http_date(text: str, now: float) -> float | None:
    """An HTTP-date as Unix seconds, or None for what is none of the three forms.

    A two-digit year is the latest that does not lie more than 50 years after `now` (Unix seconds).
    The name of the day is not checked against the date: servers get it wrong and mean the date.
    """
    for form in _FORMS:
        found = form.fullmatch(text)
        if found is None:
            continue
        if len(found["year"]) == 4:
            return _unix_s(found, int(found["year"]))
        century = _year_of(now) // 100 * 100
        for year in (century + 100, century, century - 100):
            at = _unix_s(found, year + int(found["year"]))
            if at is not None and at <= now + _FIFTY_YEARS_S:
                return at
    return None


def _unix_s(found: re.Match[str], year: int) -> float | None:
    try:
        minute_began = datetime(
            year,
            _MONTHS.index(found["month"]) + 1,
            int(found["day"]),
            int(found["hour"]),
            int(found["minute"]),
            tzinfo=UTC,
        )
    except ValueError:
        return None  # a date that no calendar has, like 31 February
    # 60 is a leap second, which datetime does not know.
    second = int(found["second"])
    return minute_began.timestamp() + second if second <= 60 else None


def _year_of(now: float) -> int:
    try:
        return datetime.fromtimestamp(now, UTC).year
    except (ValueError, OverflowError, OSError):
        return 1970  # a clock beyond the calendar; only two-digit years depend on it
