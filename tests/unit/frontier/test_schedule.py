"""The schedule: hand-out, leases, budgets, errands; one rule a test."""

from __future__ import annotations

from mercator.frontier.schedule import HAND, Schedule
from mercator.values import NO_KEY, Errand, HostId, Ticket, UrlKey

A, B = HostId(b"aaaaaa"), HostId(b"bbbbbb")


def ticket(host_id: HostId, n: int) -> Ticket:
    return Ticket(
        key=UrlKey(host_id + bytes([n]) * 10),
        url=f"http://h/{n}",
        key_url=f"http://h/{n}",
        host="h",
        host_id=host_id,
        sequence=n,
        level=1,
        depth=0,
        attempts=0,
        hops=0,
        seed_began=False,
        parent=NO_KEY,
    )


def schedule(
    *hosts: HostId, tickets: int = 3, leases: int = 4, per_host: int | None = None
) -> Schedule:
    made = Schedule(leases, per_host)
    for host_id in hosts:
        made.activate(host_id, "h", 0.0, stored=0)
        made.feed(host_id, [ticket(host_id, n) for n in range(1, tickets + 1)], tickets, False)
    return made


def take(made: Schedule, now_s: float = 0.0, pages_left: int | None = None) -> Ticket:
    got = made.take(now_s, pages_left)
    assert isinstance(got, Ticket)
    return got


def test_hosts_take_turns() -> None:
    made = schedule(A, B)
    order = []
    for _ in range(6):
        got = take(made)
        order.append(got.host_id)
        made.release(got.host_id, 0.0)
        made.committed(got, stored=True)
    assert order == [A, B, A, B, A, B]


def test_a_host_in_flight_is_not_handed_out_again() -> None:
    made = schedule(A)
    take(made)
    assert made.take(0.0, None) is None


def test_the_time_of_the_first_host_is_told_when_none_is_ready() -> None:
    made = schedule(A)
    got = take(made)
    made.release(A, 7.5)
    made.committed(got, stored=False)
    assert made.take(7.4, None) == 7.5
    assert isinstance(made.take(7.5, None), Ticket)


def test_an_earlier_word_never_shortens_a_wait() -> None:
    made = schedule(A)
    take(made)
    made.release(A, 9.0)
    take(made, 9.0)
    made.release(A, 3.0)
    assert made.take(8.9, None) == 9.0


def test_a_returned_ticket_is_the_next_one() -> None:
    made = schedule(A)
    first = take(made)
    made.give_back(first._replace(attempts=1))
    made.release(A, 0.0)
    again = take(made)
    assert (again.key, again.attempts) == (first.key, 1)


def test_leases_out_and_waiting_for_their_commit_are_bounded() -> None:
    made = schedule(A, tickets=5, leases=2)
    for _ in range(2):
        take(made)
        made.release(A, 0.0)
    assert made.take(0.0, None) is None
    made.committed(next(iter(made.leases.values())), stored=True)
    assert isinstance(made.take(0.0, None), Ticket)


def test_each_lease_reserves_a_page() -> None:
    made = schedule(A, B)
    first = take(made, pages_left=1)
    assert made.take(0.0, 1) is None
    made.release(first.host_id, 0.0)
    made.committed(first, stored=False)
    assert isinstance(made.take(0.0, 1), Ticket)


def test_a_host_may_lease_no_more_than_its_budget_has_left() -> None:
    made = schedule(A, tickets=3, per_host=2)
    leased = []
    for _ in range(2):
        leased.append(take(made))
        made.release(A, 0.0)
    assert made.take(0.0, None) is None
    made.committed(leased[0], stored=True)
    assert not made.over_budget
    made.committed(leased[1], stored=False)
    assert isinstance(made.take(0.0, None), Ticket)
    made.release(A, 0.0)
    made.committed(next(iter(made.leases.values())), stored=True)
    made.feed(A, [ticket(A, 9)], 9, False)
    assert made.over_budget == {A}


def test_an_errand_goes_before_the_hosts_own_urls_and_ends_with_its_commit() -> None:
    made = schedule(A)
    errand = Errand("h", A, "http://h/robots.txt", "http://x", B, 1)
    made.post(errand)
    assert made.take(0.0, None) == errand
    made.release(A, 1.0)
    got = take(made, 1.0)
    made.release(A, 1.0)
    made.committed(got, stored=True)
    assert made.queue(A).leased == 1
    made.errand_committed(A)
    assert made.queue(A).leased == 0


def test_an_empty_queue_is_given_away_only_after_all_its_commits() -> None:
    made = schedule(A, tickets=1)
    got = take(made)
    assert not made.retire(A)
    made.release(A, 0.0)
    assert not made.retire(A)
    made.committed(got, stored=True)
    assert made.idle == {A}
    assert made.retire(A)
    assert A not in made


def test_a_draining_host_is_not_handed_out_and_starts_anew_afterwards() -> None:
    made = schedule(A)
    made.drain(A)
    assert made.take(0.0, None) is None
    made.drained(A)
    assert made.queue(A).loaded_to == 0
    assert [want[0] for want in made.wants()] == [A]


def test_what_was_loaded_while_draining_began_is_not_taken_into_hand() -> None:
    made = schedule(A)
    made.drain(A)
    made.feed(A, [ticket(A, 4)], 4, False)
    made.drained(A)
    made.feed(A, [ticket(A, 4)], 4, False)
    assert [t.sequence for t in made.queue(A).hand] == [4]


def test_standstill_means_that_every_host_waits_for_more_than_its_gap() -> None:
    made = schedule(A, B)
    first, second = take(made), take(made)
    assert not made.at_standstill()
    made.release(first.host_id, 100.0, paused=True)
    made.release(second.host_id, 1.0)
    made.committed(first, stored=False)
    made.committed(second, stored=False)
    assert not made.at_standstill()
    take(made, 1.0)
    made.release(second.host_id, 100.0, paused=True)
    made.committed(next(iter(made.leases.values())), stored=False)
    assert made.at_standstill()
    assert sorted(made.paused_hosts()) == [A, B]


def test_a_hand_is_filled_before_it_is_empty() -> None:
    made = Schedule(100, None)
    made.activate(A, "h", 0.0, stored=0)
    assert made.wants() == [(A, "h", 0, HAND)]
    made.feed(A, [ticket(A, n) for n in range(1, HAND + 1)], HAND, True)
    assert not made.wants()
    for _ in range(HAND // 2 + 1):
        got = take(made)
        made.release(A, 0.0)
        made.committed(got, stored=True)
    assert made.wants() == [(A, "h", HAND, HAND // 2 + 1)]
