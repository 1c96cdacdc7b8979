"""One shard owns everything, and nothing is ever sent."""

from __future__ import annotations

import pytest

from mercator.exchange.local import LocalExchange
from mercator.ports import LinkExchange
from mercator.urls.splitter import shard_of
from mercator.values import CanonicalUrl


def test_every_host_is_its_own() -> None:
    exchange: LinkExchange = LocalExchange()
    for host in ("example.org", "[::1]", ""):
        assert exchange.owner(host) == shard_of(host, 1) == 0


def test_a_link_that_is_sent_is_a_fault_of_the_caller() -> None:
    with pytest.raises(AssertionError, match="1 links were sent to 0"):
        LocalExchange().send(0, [CanonicalUrl("http://a.test/", "http://a.test/", "a.test")])
