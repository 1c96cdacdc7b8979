"""Seeds as a person gives them: texts that must be URLs, of sites whose owners can reach that person."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence

from mercator.config import CrawlConfig
from mercator.errors import UsageError
from mercator.net.resolve_map import ResolveMap
from mercator.urls.canonical import Canonicalizer
from mercator.values import CanonicalUrl, RefusedUrl

_HOST_LIKE = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+(?=[:/?#]|\Z)")


def check_contact(seeds: Sequence[str], config: CrawlConfig) -> None:
    """Site owners must be able to write to whoever crawls: no contact, no real site.

    Raises UsageError when a seed's host is real and `config` has no contact, and ConfigError for a bad
    `resolve`, contact or not: what is wrong must be found before anything is written.
    """
    is_local = _local_test(config)
    if config.contact is not None:
        return
    for url in parsed_seeds(seeds, config):
        if isinstance(url, CanonicalUrl) and not is_local(url.host):
            raise UsageError(
                f"{url.host} is a real site: give a contact that its owner can write to "
                "(--contact, contact= or MERCATOR_CONTACT)"
            )


def parsed_seeds(seeds: Sequence[str], config: CrawlConfig) -> list[CanonicalUrl | RefusedUrl]:
    """The seeds as URLs. Raises UsageError for the first that is none."""
    canonicalizer = Canonicalizer(config.url_policy)
    urls: list[CanonicalUrl | RefusedUrl] = []
    for text in seeds:
        if not isinstance(text, str):
            raise UsageError(f"a seed must be a text, not {text!r}")
        url = canonicalizer.parse(text)
        if url is None:
            near = f"; did you mean https://{text}?" if _HOST_LIKE.match(text) else ""
            raise UsageError(f"the seed {text!r} is no URL{near}")
        urls.append(url)
    return urls


def _local_test(config: CrawlConfig) -> Callable[[str], bool]:
    """Whether a host is one that the user has named as local: by `resolve`, or as an address inside
    `allow_net`."""
    resolve = ResolveMap(config.resolve)
    networks = [ipaddress.ip_network(network) for network in config.allow_net]

    def is_local(host: str) -> bool:
        if resolve.answer(host) is not None:
            return True
        try:
            address = ipaddress.ip_address(host.strip("[]"))
        except ValueError:
            return False
        return any(address in network for network in networks)

    return is_local
