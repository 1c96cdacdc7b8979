"""Who is inside an LMDB environment: its map may be changed, and it may be closed, by nobody else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from mercator.errors import StateError

PATIENCE_S = 10.0
"""Longest wait for open transactions to end. They are short; one that is open for so long has been
forgotten, or belongs to the very thread that waits."""


class TransactionGate:
    """Counts open transactions, lets one write at a time in, and all stay out for a moment.

    LMDB needs all three: a second write transaction of the same thread would wait for itself, and
    changing or closing the map under an open transaction ends the process (jnwatson/py-lmdb#379).

    Threads: safe from any thread; fields guarded by `_lock` (leaf, never held over I/O).
    """

    def __init__(self) -> None:
        self._lock = threading.Condition(threading.Lock())
        self._open = 0
        self._writing = False
        self._shut = False

    def enter(self, write: bool) -> None:
        """Before a transaction begins. Raises StateError for a second write transaction."""
        with self._lock:
            while self._shut:
                self._lock.wait()
            if write:
                if self._writing:
                    raise StateError(
                        "a write transaction is open already; one thread writes at a time"
                    )
                self._writing = True
            self._open += 1

    def leave(self, write: bool) -> None:
        """After the transaction has ended."""
        with self._lock:
            self._open -= 1
            if write:
                self._writing = False
            if self._shut and not self._open:
                self._lock.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps new transactions waiting until the block ends; begins when none is open.

        Raises StateError when one has been open for PATIENCE_S.
        """
        with self._lock:
            while self._shut:
                self._lock.wait()
            self._shut = True
            if not self._lock.wait_for(lambda: not self._open, PATIENCE_S):
                self._reopen_locked()
                raise StateError(
                    f"a transaction has been open for {PATIENCE_S:g} s; "
                    f"leave its with block before the map grows or closes"
                )
        try:
            yield
        finally:
            with self._lock:
                self._reopen_locked()

    def _reopen_locked(self) -> None:
        self._shut = False
        self._lock.notify_all()
