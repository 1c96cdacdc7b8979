"""A measured child process: what it took of the machine, from its start to its end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_LOOK_S = 0.01
_TAIL_CHARS = 2000


class Usage(NamedTuple):
    """What one child used, its own children included. `switches` are voluntary and involuntary
    context switches together. Threads: immutable."""

    wall_s: float
    cpu_s: float
    switches: int
    peak_rss_mib: float


class ChildFailedError(Exception):
    """A child ended with an error, or not in time; the text holds the end of what it said."""


def run(command: Sequence[str], *, cwd: Path, output: Path, timeout_s: float) -> Usage:
    """Runs a command to its end, standard output to `output`, standard error beside it (`.err`).

    The peak of memory counts from the exec on, but is never below this process's own at the fork, so
    the caller has to be small. Raises ChildFailedError.
    """
    errors = output.with_suffix(".err")
    # Where byte code is not kept, a crawler run from its source would be compiled at every start, and
    # a peer from site-packages would not.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with output.open("wb") as out, errors.open("wb") as err:
        begun_s = time.monotonic()
        process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=out, stderr=err)
        ended = 0
        # Not Popen.wait: it reaps the child without its resource usage.
        while not ended:
            if time.monotonic() - begun_s > timeout_s:
                os.kill(process.pid, signal.SIGKILL)
            time.sleep(_LOOK_S)
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
        wall_s = time.monotonic() - begun_s
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        said = errors.read_text(errors="replace")[-_TAIL_CHARS:]
        raise ChildFailedError(
            f"{' '.join(command[:6])} ... ended with {process.returncode} after {wall_s:.1f} s: {said}"
        )
    return Usage(
        wall_s=wall_s,
        cpu_s=used.ru_utime + used.ru_stime,
        switches=used.ru_nvcsw + used.ru_nivcsw,
        peak_rss_mib=used.ru_maxrss / 1024,
    )
