"""The answers of `--resolve NAME=ADDRESS[:PORT]`, which stand before any DNS."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from mercator.errors import ConfigError

_NAME = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_TARGET = re.compile(r"\[(?P<v6>[^\]]*)\](?P<v6_port>:.*)?|(?P<v4>[^:]+)(?P<v4_port>:.*)?")


class ResolveMap:
    """Names to address and port. An exact name wins over wildcards, the longest wildcard over
    shorter ones; `*.test` matches at any depth below `test`, not `test` itself.

    Raises ConfigError, one line that names the entry, for what does not read NAME=ADDRESS[:PORT]
    and for a name with two different answers.
    Threads: immutable.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._exact: dict[str, tuple[str, int]] = {}
        self._below: dict[str, tuple[str, int]] = {}
        for entry in entries:
            name, answer = _parsed(entry)
            table, key = (self._below, name[2:]) if name.startswith("*.") else (self._exact, name)
            if table.setdefault(key, answer) != answer:
                raise ConfigError(f"resolve names {name!r} twice with different answers: {entry!r}")

    def answer(self, host: str) -> tuple[str, int] | None:
        """The address (IPv6 without brackets) and the port to connect to, 0 for the URL's own; None
        when no entry names the host. Case and a final dot do not count. O(labels of the host)."""
        host = host.rstrip(".").lower()
        found = self._exact.get(host)
        if found is not None or not self._below:
            return found
        dot = host.find(".")
        while dot >= 0:
            found = self._below.get(host[dot + 1 :])
            if found is not None:
                return found
            dot = host.find(".", dot + 1)
        return None


def _parsed(entry: str) -> tuple[str, tuple[str, int]]:
    """Name in lower case without final dot, and its answer. Raises ConfigError."""
    name, equals, target = entry.partition("=")
    name = name.strip().rstrip(".").lower()
    target = target.strip()
    if not equals or not name or not target:
        raise ConfigError(f"resolve must read NAME=ADDRESS[:PORT], not {entry!r}")
    if not _NAME.fullmatch(name) and not _is_address(name):
        raise ConfigError(
            f"resolve: {name!r} in {entry!r} is no host name in ASCII form, nor '*.' before one"
        )
    return name, _answer(entry, target)


def _answer(entry: str, target: str) -> tuple[str, int]:
    """Address and port of the right side. Raises ConfigError."""
    if target.count(":") > 1 and not target.startswith("["):
        address, port_text = (
            target,
            None,
        )  # a bare IPv6 address: its colons leave no room for a port
    else:
        match = _TARGET.fullmatch(target)
        if match is None:
            raise ConfigError(f"resolve must read NAME=ADDRESS[:PORT], not {entry!r}")
        if match["v6"] is not None:
            address, port_text = match["v6"], match["v6_port"]
        else:
            address, port_text = match["v4"], match["v4_port"]
    if not _is_address(address) or (target.startswith("[") and ":" not in address):
        raise ConfigError(f"resolve: {address!r} in {entry!r} is no IP address")
    if port_text is None:
        return address, 0
    digits = port_text[1:]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5 and 0 < int(digits) < 65536):
        raise ConfigError(f"resolve: the port in {entry!r} must be a number from 1 to 65535")
    return address, int(digits)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
