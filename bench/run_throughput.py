"""Whole crawls against the clock: pages a second, CPU, context switches and memory, beside peers.

`python bench/run_throughput.py [--against scrapy,scrapy-tuned] [--json]`: serves a warm test site,
lets every crawler fetch the same pages in turn (A B A B ...), checks by the site's log that each
fetched exactly the page set, and compares medians. Everything that is written lies on a real disk.
A result becomes a line of `bench/results/throughput.jsonl`. Exit codes: 0, 1 a crawl failed or did
not fetch the page set, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

# Run as a script, `bench` and `testsite` are not to be found else.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import child, machine
from bench.crawlers import CRAWLERS, Task
from bench.served import Served, served
from testsite.generator import SIZES

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "throughput.jsonl"
OURS = "mercator"
PEERS = tuple(name for name in CRAWLERS if name != OURS)
TIMEOUT_S = 1200.0

Figures = dict[str, float]
"""Of one run, or medians: `pages_per_s` (by the site's log), `wall_pages_per_s` (start and end of the
process included), `cpu_s_per_1000`, `switches_per_page`, `peak_rss_mib`, `wall_s`, `load_1m` (the
machine's load average before it)."""

COLUMNS = (
    ("pages/s", "pages_per_s", 1),
    ("by wall", "wall_pages_per_s", 1),
    ("CPU s/1000", "cpu_s_per_1000", 2),
    ("switches/page", "switches_per_page", 1),
    ("peak MiB", "peak_rss_mib", 0),
    ("wall s", "wall_s", 1),
)


class NotWholeError(Exception):
    """A crawl did not fetch, or did not keep, exactly the page set."""


def main() -> int:
    """Runs the rounds and tells the result."""
    parser = _parser()
    options = parser.parse_args()
    peers = list(dict.fromkeys(name for name in options.against.split(",") if name))
    names = [OURS, *peers]
    for name in peers:
        if name not in PEERS:
            parser.error(f"--against takes {', '.join(PEERS)}, not {name!r}")
        missing = [part for part, v in machine.versions(CRAWLERS[name].parts).items() if v is None]
        if missing:
            parser.error(f"{name} needs {', '.join(missing)}: pip install -e '.[bench]'")
    os.chdir(ROOT)  # the site is started as a module of this checkout
    with tempfile.TemporaryDirectory(prefix="throughput-", dir=options.work) as work:
        if machine.file_system(Path(work)) in machine.IN_MEMORY:
            parser.error(f"{options.work} lies in memory, where a sync costs nothing: --work DIR")
        try:
            result = measure(options, names, Path(work))
        except ValueError as error:
            parser.error(str(error))
        except (child.ChildFailedError, NotWholeError) as error:
            print(f"run_throughput: {error}", file=sys.stderr)
            return 1
    if options.keep:
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("a") as kept:
            kept.write(json.dumps(result) + "\n")
    print(json.dumps(result) if options.json else table(result))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--against", default="", metavar="NAMES", help=f"of {', '.join(PEERS)}; commas between")
    add("--hosts", type=int, default=50, metavar="N", help="default %(default)s")
    add("--pages", type=int, default=40, metavar="N", help="of each host; default %(default)s")
    add("--size", type=int, default=30, choices=tuple(SIZES), help="KB of a page, default 30")
    add("--runs", type=int, default=3, metavar="N", help="of each crawler; default %(default)s")
    add("--compress", default="none", choices=("none", "gzip"), help="Mercator's; default none")
    add("--threads", type=int, metavar="N", help="Mercator's; default its own")
    add("--work", type=Path, default=ROOT / "bench", metavar="DIR", help="on a real disk")
    add("--json", action="store_true", help="one JSON line on standard output")
    add("--no-keep", dest="keep", action="store_false", help="leaves bench/results as it is")
    return parser


def measure(options: argparse.Namespace, names: list[str], work: Path) -> dict[str, object]:
    """All rounds and their summary. Raises NotWholeError, ChildFailedError, ValueError."""
    runs: dict[str, list[Figures]] = {name: [] for name in names}
    begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    load_before = machine.load_1m()
    with served(work, hosts=options.hosts, pages=options.pages, size_kb=options.size) as site:
        seeds = work / "seeds.txt"
        seeds.write_text("\n".join(site.seeds) + "\n")
        for number in range(1, options.runs + 1):
            for name in names:
                with tempfile.TemporaryDirectory(dir=work) as folder:
                    output = Path(folder, "output.txt")
                    task = Task(
                        site.port, seeds, Path(folder), output, options.compress, options.threads
                    )
                    figures = one_run(name, task, site)
                runs[name].append(figures)
                said = "  ".join(f"{title} {figures[key]:.{n}f}" for title, key, n in COLUMNS)
                print(f"round {number}  {name}: {said}", file=sys.stderr, flush=True)
        page_set = len(site.page_set)
    medians = {name: _medians(figures) for name, figures in runs.items()}
    return {
        "bench": "throughput",
        "at": begun,
        "commit": machine.commit(ROOT),
        "machine": machine.machine(work),
        "versions": machine.versions(sorted({p for n in names for p in CRAWLERS[n].parts})),
        "load_1m_before": load_before,
        "site": {
            "server": "testsite",
            "hosts": options.hosts,
            "pages": options.pages,
            "size_kb": options.size,
            "page_set": page_set,
        },
        "settings": {"compress": options.compress, "threads": options.threads},
        "runs": runs,
        "medians": medians,
        "ratios": {name: _ratios(medians[OURS], medians[name]) for name in names[1:]},
    }


def one_run(name: str, task: Task, site: Served) -> Figures:
    """One crawl from start to end, and what it cost. Raises NotWholeError, ChildFailedError."""
    crawler = CRAWLERS[name]
    # What the last crawl left to be written would be paid for by this one's syncs.
    os.sync()
    site.skip()
    load_1m = machine.load_1m()
    used = child.run(crawler.command(task), cwd=ROOT, output=task.output, timeout_s=TIMEOUT_S)
    crawled = site.crawled(polite=crawler.polite)
    if crawled.faults:
        raise NotWholeError(f"{name}: {'; '.join(crawled.faults)}")
    kept = crawler.kept(task)
    if kept != crawled.pages:
        raise NotWholeError(f"{name} fetched {crawled.pages} pages and kept {kept}")
    figures = {
        "pages_per_s": crawled.pages / crawled.span_s,
        "wall_pages_per_s": crawled.pages / used.wall_s,
        "cpu_s_per_1000": used.cpu_s / crawled.pages * 1000,
        "switches_per_page": used.switches / crawled.pages,
        "peak_rss_mib": used.peak_rss_mib,
        "wall_s": used.wall_s,
        "load_1m": load_1m,
    }
    return {key: round(value, 3) for key, value in figures.items()}


def _medians(runs: list[Figures]) -> Figures:
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def _ratios(ours: Figures, theirs: Figures) -> Figures:
    """How many times as good as the peer, by speed and by CPU: above 1 is better for both."""
    ratios = {
        "pages_per_s": ours["pages_per_s"] / theirs["pages_per_s"],
        "wall_pages_per_s": ours["wall_pages_per_s"] / theirs["wall_pages_per_s"],
        "cpu": theirs["cpu_s_per_1000"] / ours["cpu_s_per_1000"],
    }
    return {key: round(value, 3) for key, value in ratios.items()}


def table(result: dict[str, object]) -> str:
    """The medians for a person."""
    medians, ratios, site = result["medians"], result["ratios"], result["site"]
    assert isinstance(medians, dict)
    assert isinstance(ratios, dict)
    assert isinstance(site, dict)
    head = "".join(f"{title:>15}" for title, _, _ in COLUMNS)
    lines = [
        f"{site['page_set']} pages of {site['size_kb']} KB on {site['hosts']} hosts; medians",
        f"{'':14}{head}{'Mercator is':>15}",
    ]
    for name, figures in medians.items():
        cells = "".join(f"{figures[key]:>15.{digits}f}" for _, key, digits in COLUMNS)
        times = f"{ratios[name]['pages_per_s']:>14.2f}x" if name in ratios else ""
        lines.append(f"{name:14}{cells}{times}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
