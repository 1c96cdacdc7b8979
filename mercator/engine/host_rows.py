"""The host rows that one transaction touches, read once and written once."""

from __future__ import annotations

from mercator.engine.host_clock import HostClock
from mercator.ports import Txn
from mercator.rows import HostRow
from mercator.values import HostId


class HostRows:
    """A transaction's view of `hosts`: counters are summed here and flushed before the commit.

    Threads: confined to the writer thread, one per transaction.
    """

    def __init__(self, txn: Txn) -> None:
        self._txn = txn
        self._rows: dict[HostId, HostRow] = {}
        self._changed: set[HostId] = set()

    def row(self, txn: Txn, host_id: HostId, host: str) -> HostRow:
        """The host's row; a new one when the host was never met."""
        row = self._rows.get(host_id)
        if row is None:
            row = txn.hosts.get(host_id) or HostRow(host)
            self._rows[host_id] = row
        return row

    def stored(self, host_id: HostId) -> int:
        """Pages stored of a host, 0 for one that was never met."""
        row = self._rows.get(host_id) or self._txn.hosts.get(host_id)
        return row.stored if row else 0

    def add(
        self,
        host_id: HostId,
        host: str,
        *,
        pending: int = 0,
        stored: int = 0,
        failed: int = 0,
        body_bytes: int = 0,
    ) -> None:
        """Moves the host's counters."""
        row = self.row(self._txn, host_id, host)
        self._rows[host_id] = row._replace(
            pending=row.pending + pending,
            stored=row.stored + stored,
            failed=row.failed + failed,
            body_bytes=row.body_bytes + body_bytes,
        )
        self._changed.add(host_id)

    def set_clock(self, host_id: HostId, host: str, clock: HostClock) -> None:
        """The host's clock as of the latest request that this transaction knows."""
        self._rows[host_id] = clock.onto(self.row(self._txn, host_id, host))
        self._changed.add(host_id)

    def forgive(self, host_id: HostId, host: str) -> None:
        """The host's failures in a row count from nought again; what it has to wait stands."""
        self._rows[host_id] = self.row(self._txn, host_id, host)._replace(
            strikes=0, unreachable=0, unreachable_since=0.0, unreachable_kind=None
        )
        self._changed.add(host_id)

    def flush(self) -> None:
        """Writes what changed; the queues may route to these hosts afterwards."""
        for host_id in self._changed:
            self._txn.hosts.put(host_id, self._rows[host_id])
        self._changed.clear()
