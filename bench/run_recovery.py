"""Kills crawls by SIGKILL, resumes them, and counts what that cost: the long form of `tests/crash`.

`python bench/run_recovery.py [--kills N] [--seed S] [--json]`: crawls a test site again and again in
different settings, a dozen kills each: at random moments, at the named commit points, before single
steps on the disk, during opening, one upon the other, and through the command line. Each crawl is
then held against the site's log and an undisturbed crawl, its store is checked after every kill, and
its WARC files are read with warcio. A result becomes a line of `bench/results/recovery.jsonl`.
Needs the extra `dev` (warcio). Exit codes: 0, 1 a promise is broken (standard error says which),
2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random

# Run as a script, `bench`, `tests` and `testsite` are not to be found else.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import machine
from tests.crash.deaths import any_deaths, quick_deaths
from tests.crash.life import Death, after
from tests.crash.nursery import Nursery, nursery
from tests.crash.round import Course, round_of, undisturbed
from tests.crash.scene import Scene
from tests.crash.verdict import NOTHING, Verdict, judge, together

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "recovery.jsonl"
KILLS_A_ROUND = 12
COLD_S = (0.1, 1.8)
"""When a crawl that was started through the command line is killed; its imports are in it."""

SCENE = Scene()
COMMAND_LINE = "command line"
SETTINGS = {
    "usual": SCENE,
    "long gaps": SCENE._replace(delay_s=0.15),
    "few back queues, small WARC files": SCENE._replace(max_active_hosts=3, warc_file_bytes=50_000),
    "without WARC": SCENE._replace(warc=False),
    "many threads": SCENE._replace(threads=16),
    COMMAND_LINE: SCENE._replace(delay_s=0.15),
}
"""Round by round in turn; what differs changes nothing of what is found."""


def main() -> int:
    """Runs the rounds and tells the result."""
    parser = _parser()
    options = parser.parse_args()
    if options.kills < 1:
        parser.error("--kills takes a number of at least 1")
    os.chdir(ROOT)  # the site is started as a module of this checkout
    with tempfile.TemporaryDirectory(prefix="recovery-", dir=options.work) as work:
        result, broken = measure(options.kills, options.seed, Path(work))
    for sentence in broken:
        print(f"broken: {sentence}", file=sys.stderr)
    if options.keep:
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("a") as kept:
            kept.write(json.dumps(result) + "\n")
    print(json.dumps(result) if options.json else _summary(result))
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--kills", type=int, default=100, metavar="N", help="default %(default)s")
    add("--seed", type=int, default=0, metavar="S", help="of the deaths; default %(default)s")
    add("--work", type=Path, default=ROOT / "bench", metavar="DIR", help="on a real disk")
    add("--json", action="store_true", help="one JSON line on standard output")
    add("--no-keep", dest="keep", action="store_false", help="leaves bench/results as it is")
    return parser


def measure(kills: int, seed: int, work: Path) -> tuple[dict[str, object], tuple[str, ...]]:
    """Rounds until so many kills have happened; the result, and what was broken."""
    begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    begun_s = time.monotonic()
    total, number = NOTHING, 0
    with nursery() as crawlers:
        calm = undisturbed(SCENE, work / "calm", crawlers)
        total = together(total, judge(calm, calm))
        while total.kills < kills:
            verdict = _round(
                number, Random(f"{seed}/{number}"), kills - total.kills, calm, crawlers
            )
            total = together(total, verdict)
            number += 1
    fields = total._asdict()
    broken = fields.pop("broken")
    return {
        "bench": "recovery",
        "at": begun,
        "commit": machine.commit(ROOT),
        "machine": machine.machine(work),
        "python": sys.version.split()[0],
        "seed": seed,
        "rounds": number,
        **fields,
        "broken": len(broken),
        "elapsed_s": round(time.monotonic() - begun_s, 1),
    }, broken


def _round(
    number: int, chance: Random, kills_left: int, calm: Course, crawlers: Nursery
) -> Verdict:
    """One crawl, killed until it ends."""
    name = list(SETTINGS)[number % len(SETTINGS)]
    cold = name == COMMAND_LINE
    folder = calm.store.parent.parent / f"round-{number}"
    deaths = _deaths(chance, cold)[:kills_left]
    with round_of(SETTINGS[name], folder, crawlers) as killed:
        verdict = judge(killed.run(deaths, cold=cold), calm)
    if not verdict.broken:
        shutil.rmtree(folder)
    print(
        f"round {number}, {name}: {verdict.kills} kills, {verdict.lost} lost, "
        f"{verdict.duplicate_pages} twice, {verdict.repeated_fetches} of {verdict.allowed_repeats} "
        f"fetched again, {len(verdict.broken)} promises broken",
        file=sys.stderr,
        flush=True,
    )
    return verdict


def _deaths(chance: Random, cold: bool) -> list[Death]:
    if cold:
        return [after(chance.uniform(*COLD_S)) for _ in range(KILLS_A_ROUND)]
    deaths = any_deaths(chance, KILLS_A_ROUND // 2) + quick_deaths(chance, KILLS_A_ROUND // 6)
    chance.shuffle(deaths)
    return deaths


def _summary(result: dict[str, object]) -> str:
    return "\n".join(f"{name:18} {value}" for name, value in result.items())


if __name__ == "__main__":
    sys.exit(main())
