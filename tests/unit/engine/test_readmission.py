"""Another chance for URLs that ended with a reason: which of them, how many at a time, when said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mercator.config import CrawlConfig
from mercator.engine.host_rows import HostRows
from mercator.engine.inbox import Job, Readmit
from mercator.engine.intake import Path
from mercator.engine.outcome import Found
from mercator.engine.owed import RULES
from mercator.engine.readmission import Readmission
from mercator.rows import HostRow, UrlRow
from mercator.store.memory_tables import MemoryTables
from mercator.testing import Answer, ManualClock, MemoryDocuments
from mercator.urls.url_key import host_id, url_key
from mercator.values import NO_KEY, CanonicalUrl, FailureKind, FetchRequest, Reason, State
from tests.harness import Harness

HTML = {"Content-Type": "text/html"}
A, B = host_id("a.test"), host_id("b.test")
DEEP = Path(NO_KEY, "", 5, 0, False, False)


def nothing(count: int) -> None:
    """For who does not want to know how many became pending."""


def rules(prefix: bytes = b"", done: Callable[[int], None] = nothing) -> Readmit:
    return Readmit(None, True, done, prefix)


def retry(reason: str | None = None, done: Callable[[int], None] = nothing) -> Readmit:
    return Readmit(reason, False, done)


class Stores:
    """Runs over one store; each URL of the first one ends with another reason."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.tables = MemoryTables()
        self.documents = MemoryDocuments()

    def open(self, **settings: Any) -> Harness:
        return Harness(
            script,
            CrawlConfig(**{"threads": 2, "retries": 0, "max_depth": 1, **settings}),
            clock=self.clock,
            tables=self.tables,
            documents=self.documents,
        )

    def crawled(self) -> Stores:
        first = self.open()
        first.seed("http://a.test/", "http://down.test/")
        assert first.run() == "finished"
        assert first.status().reasons == {
            "gone": 1,
            "http_error": 1,
            "blocked_by_host": 1,
            "robots_refused": 1,
            "out_of_scope": 2,
            "too_deep": 2,
            "path_trap": 1,
            "invalid_url": 1,
            "dns_failed": 1,
        }
        return self


def script(request: FetchRequest) -> Answer | FailureKind:
    path = request.url.partition(".test")[2]
    if "down.test" in request.url:
        return FailureKind.DNS_NXDOMAIN
    if path == "/robots.txt":
        return (200, {}, b"User-agent: *\nDisallow: /private\n")
    if path in ("/bad", "/busy", "/gone"):
        return ({"/bad": 500, "/busy": 403, "/gone": 404}[path], HTML, b"")
    links = {
        "/": "/gone /bad /busy /private /1 /x/x/x http://me@a.test/ http://b.test/ http://b.test/2",
        "/1": "/deep /deeper",
    }.get(path, "")
    return (200, HTML, "".join(f"<a href={link}>x</a>" for link in links.split()).encode())


def commit(h: Harness, *jobs: Job) -> Harness:
    h.shard.writer.commit(jobs, starving=False, run={})
    return h


def refuse(h: Harness, count: int, host: str = "a.test", reason: Reason = Reason.TOO_DEEP) -> None:
    """So many refused URLs of a host, in the store with the next commit."""
    with h.tables.write() as txn:
        hosts = HostRows(txn)
        for n in range(count):
            url = f"http://{host}/{n}"
            found = Found(url, url, host, url_key(url, host), reason, "a", "", "", True)
            h.shard.intake.admit(txn, found, DEEP, hosts, 0.0)
        hosts.flush()


def row_of(h: Harness, url: str) -> UrlRow:
    with h.tables.read() as txn:
        row = txn.urls.get(url_key(url, url.split("/")[2]))
    assert row is not None
    return row


def pending(h: Harness) -> set[str]:
    with h.tables.read() as txn:
        return {row.url for _, row in txn.urls.scan() if row.state is State.PENDING}


def owes(h: Harness) -> bool:
    with h.tables.read() as txn:
        return txn.meta.get(RULES) is not None


# -- pieces ----------------------------------------------------------------------------------------


def test_a_commit_looks_at_a_thousand_rows_at_most() -> None:
    h = Stores().open(max_depth=9, scope="any")
    refuse(h, 2500)
    back = [commit(h, *jobs).status().pending for jobs in ([rules()], [], [])]
    assert back == [1000, 2000, 2500]
    assert h.status().reasons == {}


def test_rows_that_do_not_come_back_are_looked_at_once_too() -> None:
    h = Stores().open(scope="host")
    refuse(h, 2500, reason=Reason.OUT_OF_SCOPE)
    told: list[int] = []
    commit(h, rules(done=told.append))
    for _ in range(2):
        assert told == []
        commit(h)
    assert told == [0]
    assert h.status().reasons == {"out_of_scope": 2500}


def test_it_is_background_work_until_the_last_piece() -> None:
    h = Stores().open(max_depth=9, scope="any")
    refuse(h, 1000)
    commit(h, rules())
    # The piece was full: only the next one can see that nothing is behind it.
    assert h.shard.writer._readmission.active()
    assert h.shard.writer.can_work(starving=False)
    commit(h)
    assert not h.shard.writer._readmission.active()


def test_orders_are_worked_off_one_after_the_other() -> None:
    h = Stores().open(max_depth=9, scope="any")
    refuse(h, 1500)
    told: list[str] = []
    commit(
        h,
        rules(done=lambda n: told.append(f"one {n}")),
        rules(done=lambda n: told.append(f"two {n}")),
    )
    assert told == []
    commit(h)
    assert told == ["one 1500", "two 0"]


def test_it_is_said_how_many_came_back_and_only_after_the_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    h = Stores().open(max_depth=9, scope="any")
    refuse(h, 3)
    points: list[str] = []
    monkeypatch.setattr(h.shard.writer, "_at", points.append)
    told: list[tuple[int, str, int]] = []

    def done(count: int) -> None:
        with h.tables.read() as txn:
            told.append((count, points[-1], txn.dead.count()))

    commit(h, rules(done=done))
    assert told == [(3, "published", 0)]


def test_nothing_is_said_when_the_commit_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    h = Stores().open(max_depth=9, scope="any")
    refuse(h, 3)
    told: list[int] = []
    monkeypatch.setattr(h.documents, "sync", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        commit(h, rules(done=told.append))
    assert told == []
    with h.tables.read() as txn:
        assert txn.dead.count() == 3


# -- today's rules ---------------------------------------------------------------------------------


def test_a_rule_that_admits_more_takes_back_what_it_had_refused() -> None:
    h = Stores().crawled().open(max_depth=None)
    commit(h, rules())
    assert pending(h) == {"http://a.test/deep", "http://a.test/deeper"}


def test_a_scope_that_admits_more_takes_back_what_it_had_refused() -> None:
    h = Stores().crawled().open(scope="any")
    commit(h, rules())
    assert pending(h) == {"http://b.test/", "http://b.test/2"}


def test_rules_that_are_as_they_were_take_nothing_back() -> None:
    h = Stores().crawled().open()
    before = h.status()
    commit(h, rules())
    assert pending(h) == set()
    assert h.status() == before


def test_what_no_setting_refused_is_not_taken_back() -> None:
    h = Stores().crawled().open(scope="any", max_depth=None)
    commit(h, rules())
    assert set(h.status().reasons) == {
        *("gone", "http_error", "blocked_by_host", "robots_refused", "path_trap", "invalid_url"),
        "dns_failed",
    }


def test_another_rule_that_refuses_today_is_the_reason_from_now_on() -> None:
    stores = Stores()
    h = stores.open(scope="host", max_depth=1)
    refuse(h, 2, reason=Reason.TOO_DEEP)
    commit(h)
    later = stores.open(scope="host", max_depth=9)
    commit(later, rules())
    assert later.status().reasons == {"out_of_scope": 2}
    assert row_of(later, "http://a.test/1").reason is Reason.OUT_OF_SCOPE


def test_a_budget_that_is_raised_takes_back_what_it_had_refused() -> None:
    stores = Stores()
    h = stores.open(scope="any", max_pages_per_host=1, max_depth=9)
    refuse(h, 2, reason=Reason.HOST_BUDGET)
    with h.tables.write() as txn:
        txn.hosts.put(A, HostRow("a.test", stored=1))
    commit(h, rules())
    assert pending(h) == set()
    later = stores.open(scope="any", max_pages_per_host=2, max_depth=9)
    commit(later, rules())
    assert len(pending(later)) == 2


def test_a_nofollow_stands_as_long_as_the_setting_that_made_it() -> None:
    stores = Stores()
    h = stores.open(scope="any", max_depth=9)
    refuse(h, 1, reason=Reason.NOFOLLOW)
    commit(h, rules())
    assert pending(h) == set()
    later = stores.open(scope="any", max_depth=9, obey_nofollow="none")
    commit(later, rules())
    assert len(pending(later)) == 1


def test_an_order_for_one_host_takes_back_of_that_host_alone() -> None:
    h = Stores().open(max_depth=9, scope="any")
    refuse(h, 3, "a.test")
    refuse(h, 2, "b.test")
    commit(h, rules(prefix=B))
    assert {url.split("/")[2] for url in pending(h)} == {"b.test"}
    assert h.status().reasons == {"too_deep": 3}


# -- what is owed ----------------------------------------------------------------------------------


def test_the_debt_is_paid_with_the_last_order_about_rules() -> None:
    h = Stores().open(scope="host")
    refuse(h, 1500, reason=Reason.OUT_OF_SCOPE)
    with h.tables.write() as txn:
        txn.meta.put(RULES, True)
    owed = [owes(commit(h, *jobs)) for jobs in ([rules(), rules(prefix=A)], [], [], [])]
    assert owed == [True, True, True, False]


def test_a_retry_does_not_pay_the_debt_of_changed_rules() -> None:
    """A run that was killed owes a new judgement; whoever calls `retry` before the next run must not
    make it forgotten."""
    h = Stores().crawled().open()
    with h.tables.write() as txn:
        txn.meta.put(RULES, True)
    commit(h, retry())
    assert len(pending(h)) == 3
    assert owes(h)


def test_a_retry_behind_the_rules_does_not_keep_their_debt() -> None:
    h = Stores().crawled().open()
    with h.tables.write() as txn:
        txn.meta.put(RULES, True)
    commit(h, rules(), retry())
    assert not owes(h)


def test_a_seed_that_opens_a_host_does_not_pay_the_debt_of_changed_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run dies after its first commit, in which only the opened host was judged anew."""
    stores = Stores()
    h = stores.open(max_depth=9, scope="host")
    refuse(h, 1500, "a.test")
    refuse(h, 1, "b.test", Reason.OUT_OF_SCOPE)
    commit(h)
    with h.tables.write() as txn:
        txn.meta.put(RULES, True)
    commits: list[str] = []

    def die(point: str) -> None:
        commits.append(point)
        if point == "committed":
            raise KeyboardInterrupt

    monkeypatch.setattr(h.shard.writer, "_at", die)
    seed = CanonicalUrl("http://b.test/", "http://b.test/", "b.test")
    h.shard.engine.start({"owed/seeds/00000000": [seed]}, readmit=True)
    assert h.shard.engine.wait(30.0)
    assert commits.count("committed") == 1
    assert owes(h)


def opened(h: Harness, places: set[bytes]) -> Readmission:
    made = Readmission(h.shard.intake, h.shard.writer._recorder)
    with h.tables.write() as txn:
        made.add_opened(txn, places)
    return made


def test_a_scope_that_opens_a_host_owes_a_judgement_of_it() -> None:
    h = Stores().open()
    refuse(h, 1)
    assert opened(h, {A}).active()
    assert owes(h)


@pytest.mark.parametrize(("refused", "places"), [(0, {A}), (1, set())])
def test_a_scope_that_opens_nothing_owes_nothing(refused: int, places: set[bytes]) -> None:
    h = Stores().open()
    refuse(h, refused)
    assert not opened(h, places).active()
    assert not owes(h)


def test_a_host_that_waits_for_its_judgement_is_not_entered_twice() -> None:
    h = Stores().open()
    refuse(h, 1)
    first, second = sorted([A, B])
    made = opened(h, {first, second})
    with h.tables.write() as txn:
        made.add_opened(txn, {second})
        assert [order.prefix for order in made._orders] == [first, second]


def test_a_host_whose_judgement_is_under_way_is_entered_again() -> None:
    """Rows that it has passed already may be admitted only now."""
    h = Stores().open()
    refuse(h, 1)
    made = opened(h, {A})
    with h.tables.write() as txn:
        made.add_opened(txn, {A})
        assert [order.prefix for order in made._orders] == [A, A]


# -- another chance on demand ----------------------------------------------------------------------


def test_a_retry_takes_back_all_that_failed_and_nothing_else() -> None:
    h = Stores().crawled().open()
    told: list[int] = []
    commit(h, retry(done=told.append))
    failed = {"http://a.test/bad", "http://a.test/busy", "http://down.test/"}
    assert pending(h) == failed
    assert told == [3]
    assert h.status().failed == 0


@pytest.mark.parametrize(
    ("reason", "urls"),
    [
        ("http_error", {"http://a.test/bad"}),
        ("gone", {"http://a.test/gone"}),
        ("robots_refused", {"http://a.test/private"}),
        ("timeout", set()),
        ("too_deep", set()),
        ("path_trap", set()),
        ("invalid_url", set()),
    ],
)
def test_a_retry_of_one_reason_takes_back_what_has_it_and_may_be_asked(
    reason: str, urls: set[str]
) -> None:
    h = Stores().crawled().open()
    commit(h, retry(reason))
    assert pending(h) == urls


def test_a_retry_takes_back_a_refusal_that_todays_rules_would_not_make() -> None:
    h = Stores().crawled().open(max_depth=None)
    commit(h, retry("too_deep"))
    assert pending(h) == {"http://a.test/deep", "http://a.test/deeper"}


def test_a_url_that_is_tried_again_begins_anew() -> None:
    h = Stores().crawled().open()
    before = row_of(h, "http://a.test/bad")
    assert (before.attempts, before.status) == (1, 500)
    commit(h, retry("http_error"))
    row = row_of(h, "http://a.test/bad")
    assert (row.state, row.reason, row.attempts, row.status) == (State.PENDING, None, 0, 0)
    with h.tables.read() as txn:
        assert txn.dead.get(url_key(row.key_url, "a.test")) is None


def test_its_host_is_forgiven_but_waits_as_long_as_before() -> None:
    h = Stores().crawled().open()
    with h.tables.write() as txn:
        host = txn.hosts.get(A)
        assert host is not None
        host = host._replace(
            strikes=3,
            unreachable=2,
            unreachable_since=9.0,
            unreachable_kind=FailureKind.CONNECT_TIMEOUT,
            blocked_until=h.clock.unix_s() + 500.0,
        )
        txn.hosts.put(A, host)
    commit(h, retry("http_error"))
    with h.tables.read() as txn:
        after = txn.hosts.get(A)
    assert after == host._replace(
        strikes=0,
        unreachable=0,
        unreachable_since=0.0,
        unreachable_kind=None,
        failed=host.failed - 1,
        pending=1,
    )


def test_robots_of_an_origin_that_was_given_up_is_asked_anew() -> None:
    def script(request: FetchRequest) -> Answer | FailureKind:
        return (500, {}, b"")

    h = Harness(script, CrawlConfig(threads=1, patience_s=1e6, robots_give_up_s=3600.0))
    h.seed("http://a.test/")
    assert h.run() == "finished"
    assert h.status().reasons == {"robots_unknown": 1}
    commit(h, retry())
    with h.tables.read() as txn:
        assert txn.robots.get("http://a.test") is None


def test_robots_of_an_origin_that_answered_is_kept() -> None:
    h = Stores().crawled().open()
    commit(h, retry())
    with h.tables.read() as txn:
        assert txn.robots.get("http://a.test") is not None


def test_what_comes_back_is_asked_and_the_summary_adds_up() -> None:
    h = Stores().crawled().open()
    commit(h, retry())
    assert h.run() == "finished"
    asked = set(h.fetcher.urls())
    assert {"http://a.test/bad", "http://a.test/busy"} <= asked
    status = h.status()
    assert sum(status.reasons.values()) == status.gone + status.failed + (
        status.robots_refused + status.refused
    )
    assert status.failed == 3
