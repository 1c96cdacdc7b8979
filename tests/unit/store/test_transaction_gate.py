"""The gate: many readers, one writer, and sometimes nobody."""

from __future__ import annotations

import threading

import pytest

from mercator.errors import StateError
from mercator.store import transaction_gate
from mercator.store.transaction_gate import TransactionGate


def test_one_writer_beside_readers() -> None:
    gate = TransactionGate()
    gate.enter(write=False)
    gate.enter(write=True)
    gate.enter(write=False)
    with pytest.raises(StateError, match="one thread writes"):
        gate.enter(write=True)
    gate.leave(write=True)
    gate.enter(write=True)


def test_alone_waits_until_all_have_left_and_keeps_others_out() -> None:
    gate = TransactionGate()
    gate.enter(write=False)
    events: list[str] = []
    asked, inside, finish = threading.Event(), threading.Event(), threading.Event()

    def be_alone() -> None:
        asked.set()
        with gate.alone():
            events.append("alone")
            inside.set()
            finish.wait(10)
            events.append("not alone")

    def come_later() -> None:
        inside.wait(10)
        finish.set()
        gate.enter(write=False)
        events.append("entered")

    threads = [threading.Thread(target=be_alone), threading.Thread(target=come_later)]
    for thread in threads:
        thread.start()
    asked.wait(10)
    events.append("left")
    gate.leave(write=False)
    for thread in threads:
        thread.join()
    assert events == ["left", "alone", "not alone", "entered"]


def test_a_forgotten_transaction_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transaction_gate, "PATIENCE_S", 0.01)
    gate = TransactionGate()
    gate.enter(write=False)
    with pytest.raises(StateError, match=r"open for 0\.01 s"), gate.alone():
        pass
    gate.enter(write=True)  # and nobody is kept out for it
