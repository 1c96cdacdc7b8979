"""Killed and resumed: nothing is lost, nothing is there twice, nobody is asked too soon."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from mercator.crawl import Crawl
from mercator.errors import UsageError
from mercator.store.folder import StoreFolder
from mercator.store.lmdb_tables import LmdbTables
from tests.crash.deaths import any_deaths, quick_deaths
from tests.crash.life import (
    ADDED,
    FETCHED,
    NEVER,
    POINTS,
    Death,
    Life,
    after,
    at_point,
    before_step,
)
from tests.crash.nursery import Nursery, nursery
from tests.crash.round import Course, Round, round_of, undisturbed
from tests.crash.scene import Scene
from tests.crash.verdict import NOTHING, Verdict, judge, together
from testsite.audit import audit
from testsite.process import running

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "sigtimedwait"), reason="the nursery needs sigtimedwait (Linux)"
)

SCENE = Scene()
SMALL = Scene(
    hosts=1, pages=1, latency_ms=0, delay_s=0.01, threads=2, specials=False, seeds=SCENE.seeds[:1]
)
"""So small that it can be killed before each of its steps in turn."""


@pytest.fixture(scope="module")
def crawlers() -> Iterator[Nursery]:
    with nursery() as opened:
        yield opened


@pytest.fixture(scope="module")
def calm(crawlers: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The crawl of `SCENE` that nobody disturbs."""
    return undisturbed(SCENE, tmp_path_factory.mktemp("calm") / "round", crawlers)


def run(
    scene: Scene, deaths: list[Death], folder: Path, crawlers: Nursery, calm: Course
) -> Verdict:
    with round_of(scene, folder / "round", crawlers) as killed:
        return judge(killed.run(deaths), calm)


def test_the_calm_crawl_is_sound_and_has_every_kind_of_end(calm: Course) -> None:
    assert judge(calm, calm).broken == ()
    assert calm.final is not None
    assert {reason for _, reason in calm.final.urls.values() if reason} == {
        "robots_refused",
        "gone",
        "out_of_scope",
        "redirect_loop",
        "blocked_by_host",
        "http_error",
        "type_not_wanted",
    }
    assert {state for state, _ in calm.final.urls.values()} >= {"stored", "redirected"}


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_commit_point(
    point: str, tmp_path: Path, crawlers: Nursery, calm: Course
) -> None:
    """At its first passage in a new store, the first after a restart, and later ones."""
    deaths = [at_point(point, passage) for passage in (1, 1, 2, 5, 12)]
    verdict = run(SCENE, deaths, tmp_path, crawlers, calm)
    assert verdict.broken == ()
    assert verdict.kills == len(deaths)


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random(seed: int, tmp_path: Path, crawlers: Nursery, calm: Course) -> None:
    scene = SCENE._replace(delay_s=0.06)
    if seed == 2:
        scene = scene._replace(max_active_hosts=3, warc_file_bytes=50_000)
    verdict = run(scene, any_deaths(Random(seed), 12), tmp_path, crawlers, calm)
    assert verdict.broken == ()
    assert verdict.kills >= 6


def test_killed_again_at_once(tmp_path: Path, crawlers: Nursery, calm: Course) -> None:
    """Kills in quick succession: while the store is being opened, or just after."""
    deaths = quick_deaths(Random(3), 5)
    verdict = run(SCENE, deaths, tmp_path, crawlers, calm)
    assert verdict.broken == ()
    assert verdict.kills >= 6


def test_killed_without_warc(tmp_path: Path, crawlers: Nursery, calm: Course) -> None:
    deaths = [*any_deaths(Random(4), 6), *(at_point(point, 3) for point in POINTS)]
    verdict = run(SCENE._replace(warc=False), deaths, tmp_path, crawlers, calm)
    assert verdict.broken == ()
    assert verdict.kills >= 6


@pytest.mark.parametrize(("warc", "first"), [(True, 1), (False, 16)])
def test_killed_before_each_step_that_changes_the_disk(
    warc: bool, first: int, tmp_path: Path, crawlers: Nursery
) -> None:
    """A whole small crawl, from the making of its store (which is the same without WARC) to its end."""
    scene = SMALL._replace(warc=warc)
    verdict, step = NOTHING, first
    with running(tmp_path, *scene.site_options()) as site:

        def small(name: str) -> Round:
            folder = tmp_path / name
            folder.mkdir()
            return Round(scene, folder, crawlers, site)

        calm = small("calm").end()
        while (killed := small(str(step))).live(before_step(step)):
            verdict = together(verdict, judge(killed.end(), calm))
            step += 1
    assert verdict.broken == ()
    assert verdict.kills == step - first > 10


def test_no_gap_is_cut_short_by_a_restart(tmp_path: Path, crawlers: Nursery) -> None:
    """A gap so long that a crawler which is back at once has most of it left to wait, and kills with
    answers in hand that were not committed."""
    scene = Scene(hosts=4, pages=2, delay_s=0.2, specials=False, seeds=SCENE.seeds[:1])
    deaths = [at_point(FETCHED, passage) for passage in (1, 2, 6, 4, 5)]
    calm = undisturbed(scene, tmp_path / "calm", crawlers)
    verdict = run(scene, deaths, tmp_path, crawlers, calm)
    assert verdict.broken == ()
    assert verdict.kills == len(deaths)
    assert verdict.unrecorded > 0, "no request was lost, so nothing was shown"


def test_a_crawl_delay_outlives_a_kill(tmp_path: Path, crawlers: Nursery) -> None:
    """The host asks for 2 s, and a page has come of which the store knows nothing."""
    seed = "http://robotsdelay.test/page/0"
    scene = Scene(hosts=1, pages=1, scope="host", specials=False, seeds=(seed,))
    with round_of(scene, tmp_path / "round", crawlers) as killed:
        assert killed.live(at_point(FETCHED, 2))
        assert killed.live(at_point(FETCHED, 1))
        log = killed.log()
    assert [entry["path"] for entry in log] == ["/robots.txt", "/page/0", "/page/0"]
    assert audit(log, delay_s=scene.delay_s, whole_crawl=True) == []


def test_a_seed_is_durable_when_add_returns(tmp_path: Path, crawlers: Nursery) -> None:
    late = "http://h0000.test/private/late"
    with round_of(SMALL, tmp_path / "round", crawlers) as killed:
        assert killed.live(at_point(ADDED, 1), adds=(late,))
        course = killed.end()
    (burial,) = course.burials
    assert burial.evidence is not None
    assert late in burial.evidence.urls
    assert course.final is not None
    assert course.final.urls[late] == ("robots_refused", "robots_refused")


def test_changed_rules_are_applied_after_a_kill(tmp_path: Path, crawlers: Nursery) -> None:
    """The run that loosens a rule dies after its settings are stored and before what they admit is."""
    with running(tmp_path, *SMALL.site_options()) as site:
        life = Life(str(tmp_path / "store"), NEVER)
        config = SMALL.config(site.resolve) | {"max_depth": 0}
        assert crawlers.run(life._replace(seeds=SMALL.seeds, config=config)) == 0
        before = Crawl(life.store).status()
        looser = life._replace(config={"max_depth": 5}, death=at_point("applied", 1))
        assert crawlers.run(looser) == -signal.SIGKILL
        assert crawlers.run(life) == 0
    after = Crawl(life.store).status()
    assert (before.stored, before.reasons) == (1, {"too_deep": 2})
    assert (after.stored, after.reasons) == (2, {"robots_refused": 2})


def test_a_store_without_settings_asks_for_seeds(tmp_path: Path) -> None:
    """The run that made it died before it had kept them: ending with nothing would be a silent loss."""
    folder = StoreFolder(tmp_path / "store")
    folder.lock(0.0)
    folder.create(
        shards=1,
        url_policy="standard",
        versions={},
        make_shard=lambda path: LmdbTables.open(path, map_bytes=1 << 26).close(),
    )
    folder.unlock()
    with pytest.raises(UsageError, match="give them again"):
        Crawl(folder.path).start()


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
def test_killed_at_random_in_the_long_form(
    seed: int, tmp_path: Path, crawlers: Nursery, calm: Course
) -> None:
    chance = Random(f"long/{seed}")
    scene = SCENE._replace(
        delay_s=0.15,
        warc=seed % 3 != 2,
        max_active_hosts=chance.choice([2, 3, SCENE.max_active_hosts]),
    )
    verdict = run(scene, any_deaths(chance, 30), tmp_path, crawlers, calm)
    assert verdict.broken == ()


@pytest.mark.long
def test_the_command_is_killed_and_resumed(tmp_path: Path, crawlers: Nursery, calm: Course) -> None:
    """`python -m mercator crawl`, from the shell, at moments from its first import on."""
    chance = Random(5)
    scene = SCENE._replace(delay_s=0.15)
    with round_of(scene, tmp_path / "round", crawlers) as killed:
        course = killed.run([after(chance.uniform(0.1, 1.8)) for _ in range(10)], cold=True)
    verdict = judge(course, calm)
    assert verdict.broken == ()
    assert verdict.kills >= 5
