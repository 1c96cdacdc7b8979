"""The host splitter: which shard owns a host.

**It may never change.** Pending URLs, clocks and pins of a host lie in the shard that owned it when
they were written; another function would send its links to a shard that has never heard of it, and
two shards would then ask the host at the same time. Golden vectors in the tests pin it.
"""

from __future__ import annotations

from mercator.urls.url_key import host_id


def shard_of(host: str, shards: int) -> int:
    """The host's hash modulo the number of shards, which is fixed when a store is made.

    By host name, not by URL or address: all of a host's URLs share one clock. Raises ValueError
    when there is no shard.
    """
    if shards < 1:
        raise ValueError(f"a store has at least one shard, not {shards}")
    return int.from_bytes(host_id(host), "big") % shards
