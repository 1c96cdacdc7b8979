"""The politeness room: who may be asked, when, and what an answer means. It judges values only.

- `robots_rules`: a robots.txt file as rules (RFC 9309). Pure.
- `origin`: which robots.txt speaks for a URL. Pure.
- `robots_answer`: what one answer to a request for robots.txt means. Pure.
- `robots_cache`: what is known of each origin's robots.txt, and what to do about it next.
- `failures`: one table, status or failure kind -> store, follow, retry, gone or give up, and what
  it means for the host; Retry-After and back-off.
- `http_date`: the three date forms of RFC 9110. Pure.
- `pace`: the host clock's gap. Pure.
- `token_bucket`: the whole crawl's rate.

Invariants: an unknown robots.txt permits nothing. Nothing here shortens a gap or a block: every
rule can only lengthen one. No robots.txt, header or answer, however broken, raises: what cannot be
read counts as absent. Matching takes time linear in rules and path. Every cache has a bound.

Threads: rules, table, dates and pace are immutable or pure; the cache and the bucket are each
guarded by a lock of their own (leaf, never held while loading, parsing or waiting).

Deliberately absent: the network, the disk, threads and real time. Rows are loaded through a
function that the caller passes, and stored by the caller; time comes from a `Clock`; the bucket
waits through the clock or through a function of its caller.
"""
