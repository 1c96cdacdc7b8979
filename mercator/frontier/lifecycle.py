"""The states of a URL and the legal moves between them, as one table.

::

                 admit                        visit
    (unknown) ---------> PENDING --------------------> STORED
        |                ^  |  |
        | refuse         |  |  +--> REDIRECTED, GONE, FAILED, ROBOTS_REFUSED
        v     re-admit   |  v
     REFUSED ------------+  REFUSED (budget, or rules that became stricter)

    FAILED, GONE, ROBOTS_REFUSED --retry--> PENDING

A pending URL waits in `front`, `back` or `delayed`, or is on lease (then its row is still in `back`).
STORED is final: what was stored once stays stored, whatever a later request answers.
"""

from __future__ import annotations

from mercator.values import Reason, State

MOVES: dict[State | None, frozenset[State]] = {
    None: frozenset({State.PENDING, State.REFUSED}),
    State.PENDING: frozenset(
        {
            State.STORED,
            State.REDIRECTED,
            State.GONE,
            State.FAILED,
            State.ROBOTS_REFUSED,
            State.REFUSED,
        }
    ),
    State.REFUSED: frozenset({State.PENDING}),
    State.ROBOTS_REFUSED: frozenset({State.PENDING}),
    State.FAILED: frozenset({State.PENDING}),
    State.GONE: frozenset({State.PENDING}),
    State.REDIRECTED: frozenset(),
    State.STORED: frozenset(),
}
"""From each state (None: no row yet) to the states it may turn into."""

RULE_REFUSALS = frozenset(
    {
        Reason.OUT_OF_SCOPE,
        Reason.TOO_DEEP,
        Reason.NOFOLLOW,
        Reason.HOST_BUDGET,
        Reason.DOMAIN_BUDGET,
        Reason.PREFIX_BUDGET,
    }
)
"""Refusals that hold only for the path and the settings under which they were made."""

COUNTER_OF: dict[State, str] = {
    State.PENDING: "pending",
    State.STORED: "stored",
    State.REDIRECTED: "redirects",
    State.GONE: "gone",
    State.FAILED: "failed",
    State.ROBOTS_REFUSED: "robots_refused",
    State.REFUSED: "refused",
}
"""The summary's counter of each state; together they are `seen`."""


def move(old: State | None, new: State) -> State:
    """The new state. Raises AssertionError for a move that the table does not know."""
    assert new in MOVES[old], f"no URL goes from {old!r} to {new!r}"
    return new
