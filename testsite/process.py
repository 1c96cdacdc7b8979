"""The site in a process of its own, as a bench or a crash test needs it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from testsite.client import Client

END_S = 20.0
_READY = re.compile(r"testsite listening on 127\.0\.0\.1:(\d+) hosts=\d+ pages=\d+(?: |$)")


class Running(NamedTuple):
    """A site in another process. Threads: immutable."""

    port: int
    log_path: Path
    process: subprocess.Popen[str]

    @property
    def resolve(self) -> str:
        """The crawler's `--resolve`."""
        return f"*.test=127.0.0.1:{self.port}"

    def ask(self, path: str, host: str = "h0000.test", *fields: str) -> tuple[int, bytes]:
        """Status and body over a new connection."""
        with Client(self.port) as client:
            answer = client.get(path, host, *fields)
        return answer.status, answer.body


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Running]:
    """`python -m testsite` on a free port, ended by SIGTERM. Raises RuntimeError if it fails."""
    log_path = folder / "site.log"
    command = [sys.executable, "-m", "testsite", "--port", "0", "--log", str(log_path), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = _READY.match(line.rstrip("\n"))
        if found is None:
            raise RuntimeError(f"the site said {line!r} instead of that it listens")
        yield Running(int(found[1]), log_path, process)
    finally:
        process.terminate()
        process.wait(END_S)
        if process.stdout is not None:
            process.stdout.close()
