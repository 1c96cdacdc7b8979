"""The address guard by table."""

from __future__ import annotations

import json
from pathlib import Path
from timeit import timeit

import pytest

from mercator.errors import ConfigError
from mercator.net.guard import AddressGuard

TABLE = json.loads((Path(__file__).parents[2] / "vectors" / "addresses.json").read_text())


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["address"] or "empty")
def test_the_table(case: dict[str, object]) -> None:
    guard = AddressGuard(())
    assert guard.refuses(str(case["address"])) is case["refused"], case["about"]
    assert guard.refuses(str(case["address"])) is case["refused"]


@pytest.mark.parametrize(
    ("allowed", "address", "refused"),
    [
        ("127.0.0.0/8", "127.9.9.9", False),
        ("127.0.0.0/8", "::ffff:127.0.0.1", False),
        ("127.0.0.0/8", "64:ff9b::7f00:1", False),
        ("127.0.0.0/8", "2002:7f00:1::1", False),
        ("127.0.0.0/8", "::1", True),
        ("127.0.0.0/8", "10.0.0.1", True),
        ("::1/128", "::1", False),
        ("::1/128", "127.0.0.1", True),
        ("fd00::/8", "fd00:ec2::254", False),
        ("fd00::/8", "fe80::1%eth0", True),
        ("fe80::/10", "fe80::1%eth0", False),
        ("0.0.0.0/0", "169.254.169.254", False),
        ("0.0.0.0/0", "::1", True),
    ],
)
def test_what_is_allowed_by_name(allowed: str, address: str, refused: bool) -> None:
    assert AddressGuard((allowed,)).refuses(address) is refused


def test_a_network_that_is_none() -> None:
    with pytest.raises(ConfigError, match="localhost"):
        AddressGuard(("localhost",))


def test_a_verdict_is_cheap() -> None:
    guard = AddressGuard(("127.0.0.0/8",))
    guard.refuses("93.184.216.34")
    assert timeit(lambda: guard.refuses("93.184.216.34"), number=10_000) / 10_000 < 20e-6
