"""Counters of the store and measures of the run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from mercator.records import COUNTERS

_PER_DOUBLING = 8
_BUCKETS = 32 * _PER_DOUBLING


class Histogram:
    """Fetch times on a logarithmic scale: 8 buckets a doubling (quantiles within 5 %), from 1/64 ms
    to an hour and beyond; memory is constant. Threads: confined to the writer thread."""

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self._total = 0

    def add(self, milliseconds: float) -> None:
        """Counts one fetch."""
        scaled = max(1.0, milliseconds * 64)
        self._counts[min(_BUCKETS - 1, int(math.log2(scaled) * _PER_DOUBLING))] += 1
        self._total += 1

    def quantile_ms(self, q: float) -> float | None:
        """The q-quantile in milliseconds, or None before the first fetch."""
        if not self._total:
            return None
        rank = q * self._total
        seen = 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if seen >= rank and count:
                return round(2 ** ((bucket + 0.5) / _PER_DOUBLING) / 64, 2)
        return None


class Counts:
    """`counters` and `reasons` of the summary, moved by the writer inside its transactions.

    Threads: confined to the writer thread; `snapshot` gives a copy for others.
    """

    def __init__(self, counters: Mapping[str, int], reasons: Mapping[str, int]) -> None:
        self.counters: dict[str, int] = {name: counters.get(name, 0) for name in COUNTERS}
        self.reasons: Counter[str] = Counter(dict(reasons))

    def add(self, name: str, amount: int = 1) -> None:
        """Moves a counter. Raises KeyError for a name that the summary does not have."""
        self.counters[name] += amount

    def add_reason(self, reason: str, amount: int) -> None:
        """Moves the number of URLs that have a reason."""
        self.reasons[reason] += amount
        if not self.reasons[reason]:
            del self.reasons[reason]

    def snapshot(self) -> tuple[dict[str, int], dict[str, int]]:
        """Copies of both."""
        return dict(self.counters), dict(self.reasons)
