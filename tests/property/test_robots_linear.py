"""Reading and matching cost time in proportion to file and path, whatever the file says.

The bounds are wide enough for a loaded machine; what is not linear misses them by far.
"""

from __future__ import annotations

import time

import pytest

from mercator.politeness.robots_rules import RobotsRules

PATH = "https://archive.test/" + "a" * 2000
HOSTILE = {
    "stars": "Disallow: /" + "a*" * 250_000 + "b",
    "long pieces": ("Disallow: /*" + "a" * 40 + "b*" + "a" * 40 + "\n") * 5_000,
    "many lengths": "".join(f"Disallow: /b{'a' * n}\n" for n in range(1000)),
    "names": "User-agent: *\n" * 36_000,
    "escapes": "Disallow: /" + "%41" * 160_000,
    "blanks": "Disallow" + " " * 500_000 + "x y",
    "colons": ":" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_of_half_a_megabyte_is_read_and_asked_in_a_moment(name: str) -> None:
    body = ("User-agent: *\n" + HOSTILE[name]).encode()
    began = time.perf_counter()
    rules = RobotsRules.parse(body, "mercator")
    assert rules.allows(PATH)
    assert time.perf_counter() - began < 2.0


def test_twice_the_stars_cost_twice_the_time_and_not_its_square() -> None:
    costs = []
    for stars in (2_000, 20_000):
        body = b"User-agent: *\nDisallow: /" + b"a*" * stars + b"b"
        rules = RobotsRules.parse(body, "mercator")
        url = "https://archive.test/" + "a" * (stars + 1)
        best = min(_seconds(rules, url) for _ in range(5))
        costs.append(best)
    assert costs[1] < 40 * costs[0]


def _seconds(rules: RobotsRules, url: str) -> float:
    began = time.perf_counter()
    assert rules.allows(url)
    return time.perf_counter() - began
