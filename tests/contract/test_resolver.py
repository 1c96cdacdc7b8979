"""What every Resolver promises (ports.Resolver)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mercator.clock import RealClock
from mercator.net.guard import AddressGuard
from mercator.net.resolve_map import ResolveMap
from mercator.net.resolver import SystemResolver
from mercator.ports import Resolver
from mercator.testing import FixedResolver
from mercator.values import FailureKind, Resolution

GOOD = Resolution(("93.184.216.34",), 0, None, "")


def _getaddrinfo(host: str, port: None, type: int) -> list[tuple[Any, ...]]:  # noqa: A002
    if host == "good.test":
        return [(socket.AF_INET, type, 6, "", (GOOD.addresses[0], 0))]
    raise socket.gaierror(socket.EAI_NONAME, "no such name")


@pytest.fixture(params=["system", "fixed"])
def resolver(request: pytest.FixtureRequest) -> Iterator[Resolver]:
    if request.param == "fixed":
        fixed = FixedResolver({"good.test": GOOD, "127.0.0.1": _refused()}, default=None)
        yield fixed
        fixed.close()
        return
    with ThreadPoolExecutor(max_workers=2) as pool:
        system = SystemResolver(
            AddressGuard(()), ResolveMap(()), RealClock(), pool, getaddrinfo=_getaddrinfo
        )
        yield system
        system.close()


def _refused() -> Resolution:
    return Resolution((), 0, FailureKind.ADDRESS_REFUSED, "refused")


def _answered(resolver: Resolver, host: str) -> Resolution:
    called: list[int] = []
    answered = threading.Event()
    resolver.request(host, _both(lambda: called.append(1), answered.set))
    assert answered.wait(10)
    assert called == [1]
    known = resolver.lookup(host)
    assert known is not None
    return known


def _both(first: Callable[[], object], second: Callable[[], object]) -> Callable[[], None]:
    def both() -> None:
        first()
        second()

    return both


def test_a_name_is_known_once_it_was_answered(resolver: Resolver) -> None:
    assert _answered(resolver, "good.test") == GOOD
    assert resolver.lookup("good.test") == GOOD
    assert _answered(resolver, "good.test") == GOOD


def test_an_unknown_name_is_asked_for_and_then_a_failure(resolver: Resolver) -> None:
    assert resolver.lookup("none.test") is None
    known = _answered(resolver, "none.test")
    assert (known.addresses, known.failure) == ((), FailureKind.DNS_NXDOMAIN)
    assert "none.test" in known.error


def test_a_refused_literal_is_known_without_asking(resolver: Resolver) -> None:
    known = resolver.lookup("127.0.0.1")
    assert known is not None
    assert (known.addresses, known.failure) == ((), FailureKind.ADDRESS_REFUSED)


def test_either_addresses_or_a_failure(resolver: Resolver) -> None:
    for host in ("good.test", "none.test", "127.0.0.1"):
        known = _answered(resolver, host)
        assert bool(known.addresses) is (known.failure is None)
        assert bool(known.error) is (known.failure is not None)


def test_closing_twice_is_once(resolver: Resolver) -> None:
    resolver.close()
    resolver.close()
