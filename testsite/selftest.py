"""`--self-test`: starts the site in a process of its own and checks its promises."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from testsite.checks import CHECKS, OPTIONS, BrokenPromiseError, expect
from testsite.load import page_requests, run
from testsite.log import read_log
from testsite.process import running

REQUESTS_PER_S = 5_000
_ROUNDS = 5
_ROUND_REQUESTS = 20_000
_CLIENTS = 64


def measure(folder: Path, size_kb: int = 8, rounds: int = _ROUNDS) -> tuple[float, list[float]]:
    """Requests/s with the log on, from this process against one server process: the first time that
    its 2,000 pages are asked (they are made then), and `rounds` rounds over ready pages."""
    asked = page_requests(50, 40)
    with running(folder, "--hosts", "50", "--pages", "40", "--size", str(size_kb)) as site:
        first = run(site.port, asked, clients=_CLIENTS, count=len(asked))
        rates = []
        for _ in range(rounds):
            load = run(site.port, asked, clients=_CLIENTS, count=_ROUND_REQUESTS)
            expect(load.bad == 0, f"{load.bad} answers were not 200")
            rates.append(load.requests_per_s)
    logged = len(read_log(site.log_path))
    expect(logged == len(asked) + rounds * _ROUND_REQUESTS, f"{logged} lines in the log")
    return first.requests_per_s, rates


def self_test() -> int:
    """Runs all checks, prints a line each, and gives the exit code."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="testsite-") as name:
        folder = Path(name)
        with running(folder, *OPTIONS) as site:
            for check in CHECKS:
                failed += _checked(check.__doc__ or check.__name__, partial(check, site))

        def fast() -> str:
            first, rates = measure(folder)
            figures = ", ".join(f"{rate:,.0f}" for rate in rates)
            expect(median(rates) >= REQUESTS_PER_S, f"only {figures} requests/s")
            return f"{figures}; pages made on the way: {first:,.0f}"

        failed += _checked(f"At least {REQUESTS_PER_S:,} requests/s, 8 KB, log on", fast)
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


def _checked(name: str, check: Callable[[], str | None]) -> bool:
    """Runs one check and prints its line; whether it failed."""
    try:
        figures = check()
    except (BrokenPromiseError, OSError, RuntimeError, StopIteration) as error:
        print(f"FAIL {name}: {error}", flush=True)
        return True
    print(f"ok   {name}" + (f": {figures}" if figures else ""), flush=True)
    return False
