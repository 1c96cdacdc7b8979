"""Which URL next, and which host may be asked.

The way of a URL through this room: the prioritizer gives it a level, it waits in the front queue of
that level, the selector draws levels with a bias to the high ones, the router moves the URL to the
back queue of its host, and the heap hands out the host that is ready first.

Invariants (each a property test on a manual clock, `tests/property/test_frontier_machine.py`):

- a pending URL lies in exactly one of `front`, `back` and `delayed`; one on lease stays in `back`
  until the commit of its visit, so that a crash gives it back by itself;
- a host has at most one back queue and a back queue one host: the pin is a row of `pins`;
- the heap holds exactly one entry for each back queue that has something in hand, is not in flight
  and may lease (its host's page budget allows one more);
- a host has at most one request in flight; nothing is handed out before its time;
- refill ends, and keeps the order of URLs of one host and level.

Two halves. The *schedule* (`schedule.py`, `back_heap.py`) is memory: workers take and give back there,
in O(log active hosts), and nothing in it touches the disk. The *queues* (`front_queues.py`,
`back_queues.py`, `back_router.py`, `delayed.py`) are rows: only the writer thread moves them, inside its
transaction. `frontier.py` joins both: what a transaction changed is published to the schedule after
its commit.

Memory: a back queue has at most `HAND` tickets in memory and at most `max_active_hosts` back queues are
active, however many URLs and hosts wait.

Threads: the schedule is confined to the dispatcher's lock, the queues to the writer thread.
Deliberately absent: time (callers pass `now_s`), politeness (callers pass when a host is ready),
the network, LMDB.
"""
