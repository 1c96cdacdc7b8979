"""Re-admission: URLs that ended with a reason get another chance, a bounded piece a commit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice

from mercator.engine.host_rows import HostRows
from mercator.engine.inbox import Readmit
from mercator.engine.intake import Intake
from mercator.engine.owed import RULES
from mercator.engine.recorder import Recorder
from mercator.frontier.lifecycle import RULE_REFUSALS
from mercator.politeness.robots_cache import origin_of
from mercator.ports import Txn
from mercator.rows import UrlRow
from mercator.urls.url_key import host_id
from mercator.values import CanonicalUrl, Reason, State, UrlKey

_PER_COMMIT = 1000


class Readmission:
    """Walks table `dead` once for each order. Threads: confined to the writer thread."""

    def __init__(self, intake: Intake, recorder: Recorder) -> None:
        self._intake = intake
        self._recorder = recorder
        self._orders: deque[Readmit] = deque()
        self._after: UrlKey | None = None
        self._count = 0

    def active(self) -> bool:
        """True while an order is being worked off."""
        return bool(self._orders)

    def add(self, order: Readmit) -> None:
        """Enters an order; orders are worked off one after the other."""
        self._orders.append(order)

    def add_opened(self, txn: Txn, places: set[bytes]) -> None:
        """The scope reaches further, at hosts or (b"") anywhere: what it had refused there is judged
        anew. A row of `meta` stands for it until all orders are done, should the run end before."""
        if not places or not txn.dead.count():
            return
        waiting = {order.prefix for order in islice(self._orders, 1, None) if order.rules}
        for place in sorted(places - waiting):
            self._orders.append(Readmit(None, True, lambda count: None, place))
        txn.meta.put(RULES, True)

    def step(self, txn: Txn, hosts: HostRows) -> list[Callable[[], None]]:
        """Looks at up to 1,000 rows; gives what is to be called after the commit."""
        done: list[Callable[[], None]] = []
        left = _PER_COMMIT
        while self._orders and left > 0:
            order = self._orders[0]
            looked, at_end = self._walk(txn, order, hosts, left)
            left -= looked + 1
            if not at_end:
                break
            self._orders.popleft()
            if order.rules and not any(other.rules for other in self._orders):
                txn.meta.delete(RULES)
            done.append(partial(order.done, self._count))
            self._count, self._after = 0, None
        return done

    def _walk(self, txn: Txn, order: Readmit, hosts: HostRows, limit: int) -> tuple[int, bool]:
        """Goes on with an order; how many rows were looked at, and whether they were the last."""
        piece: list[tuple[UrlKey, Reason]] = []
        for key, dead in txn.dead.scan(prefix=order.prefix, after=self._after):
            piece.append((key, dead.reason))
            if len(piece) == limit:
                break
        for key, reason in piece:
            self._after = key
            if self._wanted(order, reason):
                self._count += self._take_back(txn, key, order, hosts)
        return len(piece), len(piece) < limit

    def _wanted(self, order: Readmit, reason: Reason) -> bool:
        if order.rules:
            return reason in RULE_REFUSALS
        return order.reason is None or reason == order.reason

    def _take_back(self, txn: Txn, key: UrlKey, order: Readmit, hosts: HostRows) -> bool:
        row = txn.urls.get(key)
        assert row is not None, "a dead URL has a row"
        if row.state is State.REFUSED:
            return row.reason in RULE_REFUSALS and self._recorder.take_back(txn, key, row, hosts)
        if order.rules or (order.reason is None and row.state is not State.FAILED):
            return False
        self._retry(txn, key, row, hosts)
        return True

    def _retry(self, txn: Txn, key: UrlKey, row: UrlRow, hosts: HostRows) -> None:
        """A given-up URL starts anew; its host too, except that nothing shortens a wait."""
        url = self._intake.canonicalizer.parse(row.url)
        assert isinstance(url, CanonicalUrl), "what was tried has a canonical form"
        if row.reason is Reason.ROBOTS_UNKNOWN:
            txn.robots.delete(origin_of(row.url))
        hosts.forgive(host_id(url.host), url.host)
        self._intake.readmit(txn, key, row._replace(attempts=0, status=0), hosts, url.host)
