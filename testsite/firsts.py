"""Which special paths have been asked before: the only state behind the answers."""

from __future__ import annotations

from collections import OrderedDict


class Firsts:
    """Remembers which (host, path) has been asked; forgets the oldest beyond a bound.

    Threads: confined to the server's thread.
    """

    def __init__(self, bound: int = 100_000) -> None:
        self._bound = bound
        self._asked: OrderedDict[tuple[str, str], None] = OrderedDict()

    def first(self, host: str, path: str) -> bool:
        """Whether this is the first request for it."""
        if (host, path) in self._asked:
            return False
        self._asked[host, path] = None
        if len(self._asked) > self._bound:
            self._asked.popitem(last=False)
        return True

    def forget(self) -> None:
        """Every next request is a first one again."""
        self._asked.clear()
