"""Deaths drawn by chance, from a seed."""

from __future__ import annotations

from random import Random

from tests.crash.life import FETCHED, POINTS, Death, after, at_point, before_step

_LONGEST_S = 0.6
_PASSAGES = 8
_STEPS = 40


def any_deaths(chance: Random, count: int) -> list[Death]:
    """Mostly at a moment of their own; some at a commit point, some before a step on the disk."""
    return [_any(chance) for _ in range(count)]


def quick_deaths(chance: Random, times: int) -> list[Death]:
    """So often a life that may get somewhere, then two which hardly begin."""
    deaths = []
    for _ in range(times):
        deaths.append(after(chance.uniform(0.1, _LONGEST_S)))
        deaths.append(after(chance.uniform(0.0, 0.03)))
        deaths.append(after(chance.uniform(0.0, 0.1)))
    return deaths


def _any(chance: Random) -> Death:
    way = chance.random()
    if way < 0.7:
        return after(chance.uniform(0.02, _LONGEST_S))
    if way < 0.85:
        return at_point(chance.choice((*POINTS, FETCHED)), chance.randint(1, _PASSAGES))
    return before_step(chance.randint(1, _STEPS))
