"""The states of a URL: the table against the interface, and against what the engine does."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from mercator.config import CrawlConfig
from mercator.engine import intake, recorder
from mercator.engine.inbox import Readmit
from mercator.frontier.lifecycle import COUNTER_OF, MOVES, RULE_REFUSALS, move
from mercator.records import COUNTERS, Status
from mercator.store.memory_tables import MemoryTables
from mercator.testing import Answer, ManualClock, MemoryDocuments
from mercator.values import REASONS_OF_STATE, STATE_OF_REASON, FetchRequest, Reason, State
from tests.harness import Harness

HTML = {"Content-Type": "text/html"}

INTERFACE = {
    "refused": "invalid_url, unsupported_scheme, out_of_scope, url_too_long, too_deep, path_trap, "
    "query_trap, template_parked, host_budget, domain_budget, prefix_budget, nofollow",
    "robots_refused": "robots_refused",
    "gone": "gone",
    "failed": "dns_failed, address_refused, connect_failed, tls_failed, timeout, protocol_error, "
    "body_broken, decode_failed, too_many_redirects, redirect_loop, http_error, blocked_by_host, "
    "type_not_wanted, robots_unknown, poison",
}
"""The closed list: what is counted under which name of the summary."""

POLICY = {"out_of_scope", "too_deep", "nofollow", "host_budget", "domain_budget", "prefix_budget"}
"""Scope, depth, nofollow, budget: refusals that a shorter path or another setting ends."""

ALL_MOVES = {(old, new) for old, news in MOVES.items() for new in news}


def test_the_reasons_are_those_of_the_interface_each_under_its_counter() -> None:
    ours = {
        COUNTER_OF[state]: [str(reason) for reason in reasons]
        for state, reasons in REASONS_OF_STATE.items()
    }
    assert ours == {counter: names.split(", ") for counter, names in INTERFACE.items()}


def test_every_reason_is_counted_under_one_state() -> None:
    assert set(STATE_OF_REASON) == set(Reason)
    assert sum(len(reasons) for reasons in REASONS_OF_STATE.values()) == len(Reason)


def test_the_refusals_that_may_end_are_those_of_scope_depth_nofollow_and_budget() -> None:
    assert {str(reason) for reason in RULE_REFUSALS} == POLICY
    assert set(REASONS_OF_STATE[State.REFUSED]) >= RULE_REFUSALS


def test_every_state_has_a_counter_of_its_own_in_the_summary() -> None:
    assert set(COUNTER_OF) == set(State)
    assert len(set(COUNTER_OF.values())) == len(State)
    assert set(COUNTER_OF.values()) <= set(COUNTERS)


def test_the_counters_of_the_states_are_what_seen_adds_up_from() -> None:
    identity = "stored redirects gone failed robots_refused refused pending"
    assert set(COUNTER_OF.values()) == set(identity.split())
    assert set(identity.split()) | {"in_flight"} <= set(Status.__dataclass_fields__)


def test_every_state_has_its_moves() -> None:
    assert set(MOVES) == {None, *State}
    assert set().union(*MOVES.values()) == set(State)


def test_what_was_stored_stays_stored() -> None:
    assert MOVES[State.STORED] == frozenset()


def test_only_an_end_with_a_reason_can_be_taken_back() -> None:
    back = {old for old, new in ALL_MOVES if new is State.PENDING and old is not None}
    assert back == set(REASONS_OF_STATE)


def test_no_url_ends_twice_without_being_pending_in_between() -> None:
    ends = set(State) - {State.PENDING}
    assert not {(old, new) for old, new in ALL_MOVES if old in ends and new in ends}


@pytest.mark.parametrize(
    ("old", "new"),
    list(itertools.product([None, *State], State)),
    ids=lambda state: state.name if state else "unknown",
)
def test_only_the_moves_of_the_table_are_made(old: State | None, new: State) -> None:
    if (old, new) in ALL_MOVES:
        assert move(old, new) is new
    else:
        with pytest.raises(AssertionError, match="no URL goes from"):
            move(old, new)


# -- what intake and recorder do --------------------------------------------------------------------

PAGES: dict[str, Answer] = {
    "/robots.txt": (200, {}, b"User-agent: *\nDisallow: /private\n"),
    "/": (
        200,
        HTML,
        b"<a href=/gone></a><a href=/bad></a><a href=/private></a><a href=/moved></a>"
        b"<a href=/1></a><a href=http://b.test/></a>",
    ),
    "/moved": (301, {"Location": "/1"}, b""),
    "/1": (200, HTML, b""),
    "/bad": (400, HTML, b""),
}


def script(request: FetchRequest) -> Answer:
    return PAGES.get(request.url.removeprefix("http://a.test"), (404, HTML, b""))


class Moves:
    """Runs over one store in which every move is written down. Threads: the test's."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.made: set[tuple[State | None, State]] = set()
        for room in (intake, recorder):
            patch.setattr(room, "move", self._move)
        self._clock = ManualClock()
        self._tables = MemoryTables()
        self._documents = MemoryDocuments()

    def _move(self, old: State | None, new: State) -> State:
        self.made.add((old, new))
        return move(old, new)

    def run(self, *orders: Readmit, **settings: Any) -> Status:
        h = Harness(
            script,
            CrawlConfig(**{"threads": 1, "retries": 0, **settings}),
            clock=self._clock,
            tables=self._tables,
            documents=self._documents,
        )
        h.seed("http://a.test/")
        for order in orders:
            h.shard.inbox.put(order)
        assert h.run() in ("finished", "max_pages")
        return h.status()


def test_a_crawl_makes_the_moves_of_a_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = Moves(monkeypatch)
    moves.run()
    admitted = {(None, State.PENDING), (None, State.REFUSED)}
    ended = {
        (State.PENDING, new)
        for new in (State.STORED, State.REDIRECTED, State.GONE, State.FAILED, State.ROBOTS_REFUSED)
    }
    assert moves.made == admitted | ended


def test_rules_that_became_stricter_refuse_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = Moves(monkeypatch)
    moves.run(max_pages=1)
    assert (State.PENDING, State.REFUSED) not in moves.made
    moves.run(exclude=("/1$",))
    assert (State.PENDING, State.REFUSED) in moves.made


def test_engine_and_table_know_the_same_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """None that no part of the engine makes: the table must not promise more than there is."""
    moves = Moves(monkeypatch)

    def retry(reason: str) -> Readmit:
        return Readmit(reason, False, lambda count: None)

    moves.run(max_pages=1)
    moves.run(exclude=("/1$",))
    moves.run(Readmit(None, True, lambda count: None))
    moves.run(*(retry(reason) for reason in ("gone", "robots_refused", "http_error")))
    assert moves.made == ALL_MOVES
