"""Front-queue selector: a biased choice of a level that starves none (step 8)."""

from __future__ import annotations

import math
from collections.abc import Sequence


def halving_weights(levels: int) -> tuple[int, ...]:
    """2^(F-1), ..., 2, 1: each level is drawn half as often as the one before it."""
    return tuple(1 << (levels - 1 - i) for i in range(levels))


class FrontSelector:
    """Draws levels in proportion to their weights among those that are not empty.

    Worst-case fair queueing (WF2Q+, Bennett & Zhang 1996) with unit draws: each level has a start and
    a finish tag, draws go to the smallest finish among the levels whose start has come. While all
    levels stay non-empty, level i is drawn at least floor(n * w_i / sum(w)) times in any first n draws,
    so at least once per sum(w)/w_i draws; a level that was empty gets neither credit nor debt for it.
    Tags are integers (scaled by the least common multiple of the weights), so nothing drifts.

    Cost: O(levels) a draw. Threads: confined to the writer thread.
    """

    def __init__(self, weights: Sequence[int]) -> None:
        assert weights, "a selector needs a level"
        assert min(weights) >= 1, "a level without weight would starve"
        self._unit = math.lcm(*weights)
        total = sum(weights)
        self._period = [self._unit * total // weight for weight in weights]
        self._start = [0] * len(weights)
        self._finish = list(self._period)
        self._now = 0
        self._waiting = [False] * len(weights)

    def draw(self, counts: Sequence[int]) -> int | None:
        """The index (0-based) of the level to draw from, or None when all are empty.

        `counts[i]` is how many URLs wait on level i.
        """
        waiting = [i for i, count in enumerate(counts) if count]
        if not waiting:
            self._waiting = [False] * len(self._start)
            return None
        for i, count in enumerate(counts):
            if count and not self._waiting[i]:
                self._start[i] = max(self._now, self._start[i])
                self._finish[i] = self._start[i] + self._period[i]
            self._waiting[i] = bool(count)
        self._now = max(self._now, min(self._start[i] for i in waiting))
        chosen = min(
            (i for i in waiting if self._start[i] <= self._now),
            key=lambda i: (self._finish[i], i),
        )
        self._start[chosen] = self._finish[chosen]
        self._finish[chosen] += self._period[chosen]
        self._now += self._unit
        return chosen
