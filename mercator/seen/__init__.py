"""Have we met it? URLs by their canonical key (`url_seen.py`), contents by their hash
(`content_seen.py`).

Invariants: the table `urls` *is* the seen set, so a URL is seen exactly when it has a row with a state;
a collision of hashes is found by comparing the URL and costs a second look-up, never a page.

Threads: confined to the writer thread's transaction, which makes test-and-set exact.
Deliberately absent: queues, the network, any probabilistic answer (a Bloom filter may stand in front of
the table to save reads, it never says "seen").
"""
