"""Links that belong to another shard (`ports.LinkExchange`).

Here is the exchange of a store with one shard, to which no link is foreign. Exchanges between
processes and machines take the same port, and nothing but `engine/intake.py` knows about shards.

Invariants: a host has one owner at a time; a link that was sent arrives at least once, and the
owner's URL-seen test drops repeats.
Threads: as the port says, one sender at a time for each shard.
Deliberately absent: deciding who owns a host (`urls/splitter.py`), and any state of the frontier.
"""
