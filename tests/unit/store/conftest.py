"""What the tests of the store share: a second process, and a user without rights."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NOBODY = 65534

StartChild = Callable[..., "subprocess.Popen[str]"]
WithoutRights = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def start_child() -> Iterator[StartChild]:
    """Starts `python -c CODE ARGS` and returns when it has printed a line; killed at the end."""
    children: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: object) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    yield start
    for child in children:
        child.send_signal(signal.SIGKILL)
        child.communicate()


@pytest.fixture
def without_rights() -> WithoutRights:
    """A block in which this process may not do what root may; a folder of mode 0 stays shut."""

    @contextmanager
    def block() -> Iterator[None]:
        user = os.geteuid()
        if user == 0:
            os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(user)

    return block
