"""What a run owes from its start: rows that stay until the commit that works them off."""

from __future__ import annotations

from mercator.config import CrawlConfig
from mercator.engine.inbox import Add, Readmit
from mercator.engine.intake import SEED
from mercator.engine.owed import RULES, Owed, owe
from mercator.store.memory_tables import MemoryTables
from mercator.testing import Answer
from mercator.values import FailureKind, FetchRequest
from tests.harness import Harness


def seeds(count: int, host: str = "a.test") -> list[str]:
    return [f"http://{host}/{n}" for n in range(count)]


def owed_rows(tables: MemoryTables) -> dict[str, object]:
    with tables.read() as txn:
        return dict(txn.meta.scan(prefix=b"owed/"))


def test_a_run_without_seeds_and_with_the_same_rules_owes_nothing() -> None:
    tables = MemoryTables()
    with tables.write() as txn:
        assert owe(txn, [], rules=False) == Owed({}, False)
    assert owed_rows(tables) == {}


def test_seeds_are_owed_in_their_order() -> None:
    tables = MemoryTables()
    with tables.write() as txn:
        owed = owe(txn, seeds(3), rules=False)
    assert owed == Owed({"owed/seeds/00000000": seeds(3)}, False)
    assert owed_rows(tables) == owed.seeds


def test_a_row_holds_a_thousand_seeds() -> None:
    with MemoryTables().write() as txn:
        owed = owe(txn, seeds(2500), rules=False)
    assert [len(row) for row in owed.seeds.values()] == [1000, 1000, 500]
    assert [text for row in owed.seeds.values() for text in row] == seeds(2500)
    assert list(owed.seeds) == sorted(owed.seeds)


def test_what_the_last_run_left_is_owed_besides_and_first() -> None:
    tables = MemoryTables()
    with tables.write() as txn:
        first = owe(txn, seeds(2500), rules=False)
        worked_off = next(iter(first.seeds))
        txn.meta.delete(worked_off)
    with tables.write() as txn:
        second = owe(txn, ["http://new.test/"], rules=False)
    left = {name: row for name, row in first.seeds.items() if name != worked_off}
    assert list(second.seeds.values()) == [*left.values(), ["http://new.test/"]]
    assert list(second.seeds)[:2] == list(left)
    assert owed_rows(tables) == second.seeds


def test_a_row_that_is_still_owed_is_never_written_over() -> None:
    with MemoryTables().write() as txn:
        for n in range(12):
            owe(txn, [f"http://h{n}.test/"], rules=False)
        assert len(owe(txn, [], rules=False).seeds) == 12


def test_changed_rules_are_owed_until_they_are_worked_off() -> None:
    tables = MemoryTables()
    with tables.write() as txn:
        assert owe(txn, [], rules=True).rules
    with tables.write() as txn:
        assert owe(txn, [], rules=False).rules
        txn.meta.delete(RULES)
        assert not owe(txn, [], rules=False).rules


def test_changed_rules_are_no_row_of_seeds() -> None:
    with MemoryTables().write() as txn:
        assert owe(txn, [], rules=True).seeds == {}


def test_a_text_of_any_letters_comes_back_as_it_was() -> None:
    texts = ["http://ä.test/\u00fc", "http://a.test/\udcff"]
    tables = MemoryTables()
    with tables.write() as txn:
        owe(txn, texts, rules=False)
    with tables.write() as txn:
        assert owe(txn, [], rules=False).seeds == {"owed/seeds/00000000": texts}


# -- worked off ------------------------------------------------------------------------------------


def script(request: FetchRequest) -> Answer | FailureKind:
    return (404, {}, b"")


def harness(tables: MemoryTables) -> Harness:
    return Harness(script, CrawlConfig(threads=1), tables=tables)


def offer(h: Harness, name: str, texts: list[str]) -> Add:
    parsed = [h.shard.intake.canonicalizer.parse(text) for text in texts]
    found = [h.shard.intake.offer_one(url, "seed", SEED) for url in parsed if url]
    return Add(found, lambda: None, name)


def test_a_row_of_seeds_goes_with_the_commit_that_admits_them() -> None:
    tables = MemoryTables()
    h = harness(tables)
    with tables.write() as txn:
        owed = owe(txn, seeds(1500), rules=False)
    (first, second) = owed.seeds
    h.shard.writer.commit([offer(h, first, owed.seeds[first])], starving=False, run={})
    assert list(owed_rows(tables)) == [second]
    assert h.status().seen == 1000


def test_the_rules_row_goes_with_the_commit_that_has_judged_everything_anew() -> None:
    tables = MemoryTables()
    h = harness(tables)
    with tables.write() as txn:
        owe(txn, [], rules=True)
    h.shard.writer.commit([Readmit(None, True, lambda count: None)], starving=False, run={})
    assert owed_rows(tables) == {}
