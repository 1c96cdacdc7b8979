"""What every LinkExchange promises (ports.LinkExchange)."""

from __future__ import annotations

import pytest

from mercator.exchange.local import LocalExchange
from mercator.ports import LinkExchange
from mercator.urls.splitter import shard_of

HOSTS = ["example.org", "www.example.org", "127.0.0.1", "[::1]", "xn--bcher-kva.example", ""]


@pytest.fixture(params=[(LocalExchange, 1)], ids=["local"])
def exchange(request: pytest.FixtureRequest) -> tuple[LinkExchange, int]:
    """An adapter, and how many shards it knows."""
    made, shards = request.param
    return made(), shards


@pytest.mark.parametrize("host", HOSTS)
def test_the_owner_of_a_host_is_a_shard(exchange: tuple[LinkExchange, int], host: str) -> None:
    made, shards = exchange
    assert made.owner(host) in range(shards)


@pytest.mark.parametrize("host", HOSTS)
def test_the_owner_of_a_host_is_the_host_splitters(
    exchange: tuple[LinkExchange, int], host: str
) -> None:
    made, shards = exchange
    assert made.owner(host) == shard_of(host, shards)


def test_the_owner_of_a_host_never_changes(exchange: tuple[LinkExchange, int]) -> None:
    made, _ = exchange
    assert [made.owner(host) for host in HOSTS] == [made.owner(host) for host in HOSTS]
