"""The names that `import mercator` gives: exactly those of the interface, section 5."""

from __future__ import annotations

import subprocess
import sys

import mercator

NAMES = {
    "Crawl",
    "CrawlConfig",
    "Explanation",
    "MercatorError",
    "PageRecord",
    "Status",
    "canonicalize",
}


def test_the_public_names_are_exactly_these() -> None:
    assert set(mercator.__all__) == NAMES
    assert len(mercator.__all__) == len(NAMES)
    for name in NAMES:
        assert getattr(mercator, name).__name__ == name


def test_importing_the_library_starts_and_configures_nothing() -> None:
    code = (
        "import logging, signal, threading\n"
        "def state():\n"
        "    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)\n"
        "    return handlers, list(logging.root.handlers), threading.active_count()\n"
        "before = state()\n"
        "import mercator; mercator.Crawl; mercator.canonicalize\n"
        "assert state() == before, (before, state())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
