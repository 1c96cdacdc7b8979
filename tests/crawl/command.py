"""The command line in a process of its own, as a person starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testsite.fixture import Site

END_S = 30.0
MERCATOR = (sys.executable, "-m", "mercator")


def local(site: Site, *more: str, delay_s: float = 0.05) -> tuple[str, ...]:
    """The flags of a crawl of the site."""
    gaps = ("--delay", f"{delay_s:g}", "--delay-factor", "0")
    return ("--resolve", site.resolve, "--allow-net", "127.0.0.0/8", *gaps, *more)


def mercator(*argv: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """One command to its end."""
    line = [*MERCATOR, *map(str, argv)]
    return subprocess.run(
        line, capture_output=True, text=True, timeout=END_S, env=_environment(), **options
    )


@contextmanager
def started(*argv: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A command that runs; it is killed when the block is left and it has not ended."""
    process = subprocess.Popen(
        [*MERCATOR, *map(str, argv)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=END_S)


def summary(out: str) -> dict[str, Any]:
    """The one JSON object that is alone on standard output."""
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def one_line(err: str) -> str:
    """The one line on standard error."""
    assert err.startswith("mercator: "), err
    assert err.endswith("\n"), err
    assert err.count("\n") == 1, err
    return err.rstrip("\n")


def _environment() -> dict[str, str]:
    """Without the contact of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if name != "MERCATOR_CONTACT"}
