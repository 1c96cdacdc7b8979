"""The link exchange of a store with one shard."""

from __future__ import annotations

from collections.abc import Sequence

from mercator.values import CanonicalUrl


class LocalExchange:
    """Owns every host, so nothing is ever sent.

    Threads: immutable.
    """

    def owner(self, host: str) -> int:
        """Shard 0, whatever the host."""
        return 0

    def send(self, shard: int, urls: Sequence[CanonicalUrl]) -> None:
        """Raises AssertionError: a link that some caller holds for foreign would be lost here."""
        raise AssertionError(f"one shard owns every host; {len(urls)} links were sent to {shard}")
