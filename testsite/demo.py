"""`python -m testsite.demo`: the main job in one command: a real crawl of the bundled test site.

Starts the test site in a process of its own, crawls 60 pages of four hosts through the command line
as a person would, and shows the summary, where the pages are and how to look at them.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

SITE = ["-m", "testsite", "--port", "0", "--hosts", "4", "--pages", "40", "--size", "8"]


def main() -> int:
    """Crawls into the folder `demo-store`; the exit code of the crawl."""
    store = Path("demo-store")
    with subprocess.Popen([sys.executable, *SITE], stdout=subprocess.PIPE, text=True) as site:
        try:
            assert site.stdout is not None
            address = site.stdout.readline().split()[3]
            return _crawl(store, address)
        finally:
            site.terminate()


def _crawl(store: Path, address: str) -> int:
    crawl = ["crawl", "http://h0000.test/", "--scope", "any", "--max-pages", "60"]
    local = ["--resolve", f"*.test={address}", "--allow-net", "127.0.0.0/8"]
    pace = ["--delay", "0.1", "--store", str(store)]
    code = _mercator([*crawl, *local, *pace])
    if code == 0:
        print("\nThe first three pages, with the store's own command:")
        _mercator(["export", str(store), "pages"], lines=3)
    return code


def _mercator(arguments: list[str], lines: int | None = None) -> int:
    print(f"$ python -m mercator {shlex.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "mercator", *arguments]
    if lines is None:
        return subprocess.run(command, check=False).returncode
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print("\n".join(line[:200] for line in output.splitlines()[:lines]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
