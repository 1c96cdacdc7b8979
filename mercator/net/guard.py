"""Which addresses the crawler may connect to (design section 3, promise 5)."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Callable, Iterator

from mercator.errors import ConfigError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_REFUSED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network, unspecified (RFC 791)
        "10.0.0.0/8",  # private (RFC 1918)
        "100.64.0.0/10",  # shared by carriers (RFC 6598); Alibaba's metadata at 100.100.100.200
        "127.0.0.0/8",  # loopback (RFC 1122)
        "168.63.129.16/32",  # Azure's wire server: metadata at an address that looks public
        "169.254.0.0/16",  # link-local (RFC 3927), with the clouds' metadata at 169.254.169.254
        "172.16.0.0/12",  # private (RFC 1918)
        "192.0.0.0/24",  # protocol assignments (RFC 6890); Oracle's metadata at 192.0.0.192
        "192.0.2.0/24",  # documentation (RFC 5737)
        "192.88.99.0/24",  # relays of 6to4, given up (RFC 7526)
        "192.168.0.0/16",  # private (RFC 1918)
        "198.18.0.0/15",  # benchmarks (RFC 2544)
        "198.51.100.0/24",  # documentation (RFC 5737)
        "203.0.113.0/24",  # documentation (RFC 5737)
        "224.0.0.0/4",  # multicast (RFC 5771)
        "240.0.0.0/4",  # reserved (RFC 1112), with the broadcast address
    )
)

_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
"""All that IANA has given out as global unicast. Loopback, link-local fe80::/10, unique local
fc00::/7 (with the metadata address fd00:ec2::254) and multicast ff00::/8 lie outside of it."""

_REFUSED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001:2::/48",  # benchmarks (RFC 5180)
        "2001:10::/28",  # hashes, not routed (RFC 4843)
        "2001:20::/28",  # hashes, not routed (RFC 7343)
        "2001:db8::/32",  # documentation (RFC 3849)
        "3fff::/20",  # documentation (RFC 9637)
    )
)

_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")
_TEREDO = ipaddress.IPv6Network("2001::/32")
_LOW_32 = 0xFFFF_FFFF
_MEMO_SIZE = 8192


class AddressGuard:
    """Judges addresses: private, loopback, link-local, multicast, reserved, unspecified, shared and
    metadata addresses are refused, and IPv6 addresses that carry a refused IPv4 address, unless a
    network of `allow_net` holds the address (or the one it carries).

    `allow_net` are networks in CIDR notation; raises ConfigError for what is none.
    Threads: safe from any thread (immutable but for a bounded memo).
    """

    def __init__(self, allow_net: tuple[str, ...]) -> None:
        try:
            self._allowed = tuple(ipaddress.ip_network(network) for network in allow_net)
        except ValueError as error:
            raise ConfigError(f"allow_net: {error}") from error
        self._judged: Callable[[str], bool] = functools.lru_cache(_MEMO_SIZE)(self._judge)

    def refuses(self, address: str) -> bool:
        """Whether the address may not be connected to; text that is no IP address is refused.

        Never raises. IPv6 comes without brackets, a scope (`%eth0`) is ignored.
        """
        return self._judged(address)

    def _judge(self, text: str) -> bool:
        try:
            address: _Address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            return True
        if self._allows(address):
            return False
        if isinstance(address, ipaddress.IPv4Address):
            return _refused_v4(address)
        carried = tuple(_carried_v4(address))
        if not carried:
            return address not in _GLOBAL_V6 or any(address in net for net in _REFUSED_V6)
        return any(not self._allows(v4) and _refused_v4(v4) for v4 in carried)

    def _allows(self, address: _Address) -> bool:
        return any(address in network for network in self._allowed)


def _refused_v4(address: ipaddress.IPv4Address) -> bool:
    return any(address in network for network in _REFUSED_V4)


def _carried_v4(address: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """The IPv4 addresses that packets to this address may end at.

    Mapped (RFC 4291 2.5.5.2), NAT64 (RFC 6052), 6to4 (RFC 3056) and Teredo (RFC 4380: the server,
    and the client with its bits turned). Compatible ones (RFC 4291 2.5.5.1) lie outside
    `_GLOBAL_V6`.
    """
    number = int(address)
    if address in _MAPPED or address in _NAT64:
        yield ipaddress.IPv4Address(number & _LOW_32)
    elif address in _SIX_TO_FOUR:
        yield ipaddress.IPv4Address(number >> 80 & _LOW_32)
    elif address in _TEREDO:
        yield ipaddress.IPv4Address(number >> 64 & _LOW_32)
        yield ipaddress.IPv4Address(~number & _LOW_32)
