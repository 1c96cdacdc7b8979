"""`python -m tests`: everything that has to hold, in one command; the first that fails ends it.

Format, lint, types, the import contract, the test site's own promises, then the suite.
Further arguments go to pytest (`python -m tests -m long`).
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent

CHECKS = (
    [str(BIN / "ruff"), "format", "--check", "--quiet", "."],
    [str(BIN / "ruff"), "check", "--quiet", "."],
    [sys.executable, "-m", "mypy"],
    [str(BIN / "lint-imports"), "--no-cache"],
    [sys.executable, "-m", "testsite", "--self-test"],
)


def main() -> int:
    """Runs the checks and the suite; the exit code of the first that fails, else 0."""
    pytest = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    for command in (*CHECKS, pytest):
        print("$", " ".join([Path(command[0]).name, *command[1:]]), flush=True)
        began_s = time.monotonic()
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        print(f"  {time.monotonic() - began_s:.1f} s, exit code {code}", flush=True)
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
