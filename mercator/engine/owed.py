"""What a run owes from its start: seeds to admit, and refusals to judge anew.

They are rows of `meta`, durable together with the run's settings and before anything is asked, and
each goes with the commit that works it off. Whatever ends the run before (a kill, a stop, a full
disk), the next run takes up what is left: a list of a million seeds takes a minute to admit, and
settings that are stored already do not show any more that they have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mercator.ports import Txn

RULES = "owed/rules"
"""The row that stands for: today's rules admit more than those under which URLs were refused."""

_SEEDS = "owed/seeds/"
_SEEDS_PER_ROW = 1000


class Owed(NamedTuple):
    """All that is owed: the seeds' texts by the name of their row. Threads: immutable."""

    seeds: dict[str, list[str]]
    rules: bool


def owe(txn: Txn, seeds: Sequence[str], *, rules: bool) -> Owed:
    """Adds a run's seeds, and that its rules have changed; gives all that is owed now."""
    left = dict(txn.meta.scan(prefix=_SEEDS.encode()))
    number = int(max(left).removeprefix(_SEEDS)) + 1 if left else 0
    for at in range(0, len(seeds), _SEEDS_PER_ROW):
        name = f"{_SEEDS}{number:08d}"
        left[name] = list(seeds[at : at + _SEEDS_PER_ROW])
        txn.meta.put(name, left[name])
        number += 1
    if rules:
        txn.meta.put(RULES, True)
    texts = {name: row for name, row in left.items() if isinstance(row, list)}
    return Owed(texts, txn.meta.get(RULES) is not None)
