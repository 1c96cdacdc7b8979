"""URL-seen test: has this URL been met before (step 5)."""

from __future__ import annotations

from typing import NamedTuple

from mercator.errors import StoreDamagedError
from mercator.ports import KeyTaken, Txn
from mercator.rows import Glance
from mercator.urls.url_key import url_key
from mercator.values import UrlKey

PROBES = 8
"""Keys that one URL may have. Two URLs of one host share a key with probability 2^-80."""


class Met(NamedTuple):
    """Where a URL's row is or belongs; `glance` is None for a URL that was never met.

    Threads: immutable.
    """

    key: UrlKey
    glance: Glance | None


def meet(txn: Txn, key_url: str, host: str, first_key: UrlKey | None = None) -> Met:
    """Looks a canonical URL up. `first_key` is `url_key(key_url, host)` where the caller has it.

    Raises StoreDamagedError when all probes are taken by other URLs, which chance does not do.
    """
    for probe in range(PROBES):
        key = first_key if probe == 0 and first_key is not None else url_key(key_url, host, probe)
        try:
            return Met(key, txn.urls.glance(key, key_url))
        except KeyTaken:
            continue
    raise StoreDamagedError(f"{PROBES} other URLs hold the keys of {key_url}; run check")


def meet_unkeyed(txn: Txn, key: UrlKey) -> Met:
    """Looks up a URL text that has no canonical form (too long, a user name, another scheme).

    `key` is made of the whole text; the row keeps a part of it only, so texts are not compared.
    """
    return Met(key, txn.urls.glance(key, ""))
