"""The name of a URL in the tables: 16 bytes, the host's first.

6 bytes of xxh3 over the host name, then 10 over the whole canonical URL (design: on disk). The URLs
of a host lie together, so that inserts and look-ups stay local and a host is one range of keys.

**These functions may never change.** Every store's tables, and the shard that owns a host, are made
of their values; with another hash, byte order or length a store would see all of its URLs as new
and fetch everything again. Golden vectors in the tests pin them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from xxhash import xxh3_64_digest, xxh3_128_digest

from mercator.values import HostId, UrlKey

HOST_ID_BYTES: Final = 6
"""48 bits: among a million hosts two collide once in some 500 crawls. A collision is harmless only
while callers compare names: two such hosts would share one range of keys, never a URL key."""

_URL_BYTES: Final = 10


@lru_cache(maxsize=1 << 16)
def host_id(host: str) -> HostId:
    """The first 6 bytes of xxh3_64 (seed 0, big-endian digest) of the host name in UTF-8.

    `host` is `CanonicalUrl.host`: lower case, without port. Memoised for 65,536 hosts, some 15 MB.
    """
    return HostId(xxh3_64_digest(host.encode())[:HOST_ID_BYTES])


def url_key(key_url: str, host: str, probe: int = 0) -> UrlKey:
    """`host_id(host)` and the first 10 bytes of xxh3_128 of the canonical URL in UTF-8.

    `probe` seeds the hash: where the row under a key is another URL's (`ports.KeyTaken`), the next
    probe gives another key of the same host. 80 bits: even on a host of 10^9 URLs, the chance of
    one collision is under 10^-6.
    """
    return UrlKey(host_id(host) + xxh3_128_digest(key_url.encode(), probe)[:_URL_BYTES])
