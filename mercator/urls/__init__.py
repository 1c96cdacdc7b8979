"""Text to canonical URL, and what the URL alone decides. Pure: no clock, no network, no disk.

The way of a link: `canonical` resolves it against its page and gives two spellings, the one that is
fetched (as found, WHATWG-parsed, without fragment) and the key under the store's policy (`policy`,
with the names it drops in `policy_lists`). `plain_links` is the short way for the links that need
no URL parser, `query_encoding` the one part of the standard that the parser leaves to its caller.
Then `scope` and `traps` say whether the URL may be crawled, `splitter` which shard owns its host,
and `url_key` what it is called in the tables.

Invariants, each with a property test: a canonical URL is its own canonical URL under every policy;
URLs that are one under a policy are one under each stronger one; the short way gives what the
parser gives, for every input; no text raises; the keys of a host share its `HostId`; golden
vectors pin keys and shards, because stores on disk are made of them.

Threads: everything here is immutable or a bounded cache of the interpreter's own, safe from any
thread. ada-url gives the interpreter lock up on every call, so callers keep one thread at a time in
the stage that canonicalises.

Deliberately absent: fetching, robots, judgements that need a page's content or a host's history
(template novelty, budgets), and Unicode forms of host names: a host is what DNS is asked for.
"""
