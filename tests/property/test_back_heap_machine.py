"""The back-queue heap against a model that looks at everything: a list of (time, turn, host)."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mercator.frontier.back_heap import BackHeap
from mercator.values import HostId

hosts = st.integers(0, 7).map(lambda n: HostId(bytes([n]) * 6))
times = st.integers(0, 20).map(float)


class HeapMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.heap = BackHeap()
        self.model: dict[HostId, tuple[float, int]] = {}
        self.turn = 0

    @rule(host=hosts, ready_at_s=times)
    def push(self, host: HostId, ready_at_s: float) -> None:
        self.heap.push(host, ready_at_s)
        self.turn += 1
        if self.model.get(host, (None,))[0] != ready_at_s:
            self.model[host] = (ready_at_s, self.turn)

    @precondition(lambda self: self.model)
    @rule()
    def pop(self) -> None:
        host = min(self.model, key=lambda h: self.model[h])
        entry = self.heap.pop()
        assert (entry.host_id, entry.ready_at_s) == (host, self.model.pop(host)[0])

    @rule(host=hosts)
    def remove(self, host: HostId) -> None:
        assert self.heap.remove(host) == (self.model.pop(host, None) is not None)

    @invariant()
    def first_is_the_earliest(self) -> None:
        first = self.heap.first()
        if not self.model:
            assert first is None
        else:
            assert first is not None
            assert first.ready_at_s == min(self.model.values())[0]

    @invariant()
    def one_entry_a_host(self) -> None:
        assert len(self.heap) == len(self.model)
        assert all(host in self.heap for host in self.model)
        # Lazy deletion must not make the list grow with the number of moves.
        assert len(self.heap._heap) <= 2 * len(self.model) + 17


TestHeap = HeapMachine.TestCase
