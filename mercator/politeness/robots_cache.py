"""What is known of each origin's robots.txt, and what to do about it next (RFC 9309, 2.3 and 2.4).

Three outcomes: "rules" (there is a copy), "none" (4xx, or a redirect that leads nowhere: no limits)
and "unknown" (5xx, network, broken body: nothing is permitted). A copy is good for a period, then
it is asked for again. While that fails the last good copy stays in force for a bounded time; "none"
is no copy, so a failure after it makes the file unknown.

The cache decides and remembers; others fetch and store. One round: `judge` gives ASK, the caller
fetches `ask_url`, `answered` gives a `Follow` (then `pending_hop`, and the next `judge` asks that)
or a row, which the caller stores and hands to `keep`.
"""

from __future__ import annotations

import random
import threading
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from mercator.politeness.failures import backoff_s
from mercator.politeness.origin import origin_of, robots_url
from mercator.politeness.robots_answer import NONE, RULES, UNKNOWN, Follow, condition, read_answer
from mercator.politeness.robots_rules import ALLOW_ALL, RobotsRules
from mercator.ports import Clock
from mercator.rows import RobotsRow
from mercator.values import FetchFailure, FetchResult

Load = Callable[[str], RobotsRow | None]

_LONGEST_ERROR = 200
_CLOCK_SLACK_S = 3600.0
"""How far the system's clock may be put back between two runs and no back-off is cut short."""


class RobotsAnswer(Enum):
    """What robots.txt says about asking a URL now. Threads: immutable."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    ASK = "ask"
    GIVE_UP = "give_up"


class RobotsVerdict(NamedTuple):
    """What to do about a URL.

    ASK: fetch `ask_url` with `ask_headers` first; `hops` redirects led to it. UNKNOWN: nothing may
    be asked, and robots.txt not before `until`. GIVE_UP: unknown for so long that the origin's URLs
    fail. `until` of ALLOWED and REFUSED is when the file has to be asked for again. Times are Unix
    seconds. `robots_at` is when the verdict in force ("rules" or "none") was had, 0.0 when none is.
    `crawl_delay_s` is that of the last copy, whether or not it is in force.
    Threads: immutable.
    """

    answer: RobotsAnswer
    origin: str
    ask_url: str = ""
    ask_headers: tuple[tuple[str, str], ...] = ()
    until: float = 0.0
    robots_at: float = 0.0
    crawl_delay_s: float | None = None
    hops: int = 0


class _Entry(NamedTuple):
    row: RobotsRow | None
    rules: RobotsRules
    hop: Follow | None


_NOTHING = _Entry(None, ALLOW_ALL, None)


class RobotsCache:
    """Bounded memory of robots.txt by origin, and the rules for asking it again.

    `max_age_s`: how long a copy is good. `keep_s`: how long it stays in force, from when it could
    last be had, while it cannot be had again. `give_up_s`: after so long without an answer GIVE_UP.
    Failed asking backs off with full jitter up to min(retry_cap_s, retry_base_s x 2^failures), and
    never by less than retry_base_s. At most `capacity` origins and `capacity_bytes` of their text
    are remembered; what was dropped is loaded again, and a dropped hop begins anew.

    Threads: safe from any thread; guarded by `_lock` (leaf, never held while loading or parsing).
    One origin is asked by one thread at a time, the holder of its host's lease.
    """

    def __init__(
        self,
        clock: Clock,
        user_agent: str,
        *,
        max_age_s: float,
        keep_s: float,
        give_up_s: float,
        max_redirects: int = 5,
        retry_base_s: float,
        retry_cap_s: float,
        random: random.Random,
        capacity: int = 10_000,
        capacity_bytes: int = 16 * 1024 * 1024,
    ) -> None:
        self._clock = clock
        self._user_agent = user_agent
        self._max_age_s = max_age_s
        self._keep_s = keep_s
        self._give_up_s = give_up_s
        self._max_redirects = max_redirects
        self._retry_base_s = retry_base_s
        self._retry_cap_s = retry_cap_s
        self._random = random
        self._capacity = capacity
        self._capacity_bytes = capacity_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = 0

    def judge(self, url: str, load: Load) -> RobotsVerdict:
        """May `url` (absolute http(s), as it will be requested) be asked now? If not, what then?

        `load` reads an origin's row from the store; it is called when the origin is not remembered.
        Raises ValueError for what is no URL.
        """
        origin = origin_of(url)
        entry = self._entry(origin, load)
        row, rules = entry.row, entry.rules
        if row is None:
            return _ask(origin, entry)
        now = self._clock.unix_s()
        failing = row.unknown_since > 0
        # A time far beyond any back-off was written by a clock that was wrong by years.
        furthest = now + self._retry_cap_s + _CLOCK_SLACK_S
        resting = failing and now < row.ask_again_at <= furthest
        if not failing:
            in_force = row.verdict != UNKNOWN and 0 <= now - row.body_at < self._max_age_s
            until = row.body_at + self._max_age_s
        else:
            in_force = resting and row.verdict == RULES and now - row.body_at < self._keep_s
            until = row.ask_again_at
        delay_s = rules.crawl_delay_s
        if in_force:
            answer = RobotsAnswer.ALLOWED if rules.allows(url) else RobotsAnswer.REFUSED
            return RobotsVerdict(
                answer, origin, until=until, robots_at=row.body_at, crawl_delay_s=delay_s
            )
        if not resting:
            return _ask(origin, entry)
        # Only here, between a failure and the next try: after a long stop of the crawl the file is
        # asked for once more before its URLs fail.
        long_enough = now - row.unknown_since >= self._give_up_s
        answer = RobotsAnswer.GIVE_UP if long_enough else RobotsAnswer.UNKNOWN
        return RobotsVerdict(answer, origin, until=until, crawl_delay_s=delay_s)

    def answered(
        self,
        origin: str,
        hops: int,
        answer: FetchResult | FetchFailure,
        load: Load | None = None,
    ) -> Follow | RobotsRow:
        """What an answer to `ask_url` means for `origin`, whose verdict had `hops`.

        A row is to be stored under `origin`, whoever answered, and then handed to `keep`. `load`
        finds the last copy should the cache have dropped it meanwhile.
        """
        before = self._row(origin, load)
        read = read_answer(answer, hops=hops, max_redirects=self._max_redirects, before=before)
        if isinstance(read, Follow):
            return read
        if read is None:
            return self._failed(before, answer)
        now = self._clock.unix_s()
        return RobotsRow(
            verdict=read.verdict,
            body=read.body,
            body_at=now,
            asked_at=now,
            ask_again_at=now + self._max_age_s,
            status=read.status,
            etag=read.etag,
            last_modified=read.last_modified,
        )

    def pending_hop(self, origin: str, url: str, hops: int) -> None:
        """Remembers the redirect that the next `judge` of the origin asks instead of robots.txt."""
        with self._lock:
            entry = self._entries.get(origin, _NOTHING)
            self._put_locked(origin, entry._replace(hop=Follow(url, hops)))

    def keep(self, origin: str, row: RobotsRow) -> None:
        """Takes a row in after it was stored; what was pending for the origin is done."""
        entry = _Entry(row, self._rules(row), None)
        with self._lock:
            self._put_locked(origin, entry)

    def _failed(self, before: RobotsRow | None, answer: FetchResult | FetchFailure) -> RobotsRow:
        now = self._clock.unix_s()
        if before is None or before.verdict == NONE:
            before = RobotsRow(UNKNOWN, b"", 0.0, 0.0, 0.0)
        tries = before.tries + 1
        jitter_s = backoff_s(tries, self._retry_base_s, self._retry_cap_s, self._random)
        wait_s = max(jitter_s, min(self._retry_base_s, self._retry_cap_s))
        in_force = before.body_at > 0 and now - before.body_at < self._keep_s
        error = f"{answer.kind}: {answer.error}" if isinstance(answer, FetchFailure) else ""
        return before._replace(
            verdict=RULES if in_force else UNKNOWN,
            asked_at=now,
            ask_again_at=now + wait_s,
            unknown_since=before.unknown_since or now,
            tries=tries,
            status=answer.status or 0,
            error=error[:_LONGEST_ERROR],
        )

    def _row(self, origin: str, load: Load | None) -> RobotsRow | None:
        with self._lock:
            entry = self._entries.get(origin, _NOTHING)
        return entry.row if entry.row is not None or load is None else load(origin)

    def _entry(self, origin: str, load: Load) -> _Entry:
        with self._lock:
            entry = self._entries.get(origin, _NOTHING)
            if entry.row is not None:
                self._entries.move_to_end(origin)
                return entry
        row = load(origin)
        if row is None:
            return entry
        rules = self._rules(row)
        with self._lock:
            entry = self._entries.get(origin, _NOTHING)
            if entry.row is None:  # else a newer row was kept meanwhile
                entry = entry._replace(row=row, rules=rules)
                self._put_locked(origin, entry)
            return entry

    def _rules(self, row: RobotsRow) -> RobotsRules:
        return RobotsRules.parse(row.body, self._user_agent) if row.body else ALLOW_ALL

    def _put_locked(self, origin: str, entry: _Entry) -> None:
        old = self._entries.pop(origin, _NOTHING)
        self._entries[origin] = entry
        self._bytes += _weight(entry) - _weight(old)
        while len(self._entries) > 1 and (
            len(self._entries) > self._capacity or self._bytes > self._capacity_bytes
        ):
            self._bytes -= _weight(self._entries.popitem(last=False)[1])


def _ask(origin: str, entry: _Entry) -> RobotsVerdict:
    url, hops = entry.hop or Follow(robots_url(origin), 0)
    return RobotsVerdict(
        RobotsAnswer.ASK,
        origin,
        ask_url=url,
        ask_headers=condition(entry.row) if entry.row is not None and hops == 0 else (),
        crawl_delay_s=entry.rules.crawl_delay_s,
        hops=hops,
    )


def _weight(entry: _Entry) -> int:
    return len(entry.row.body) if entry.row is not None else 0


__all__ = [
    "Follow",
    "Load",
    "RobotsAnswer",
    "RobotsCache",
    "RobotsVerdict",
    "origin_of",
    "robots_url",
]
