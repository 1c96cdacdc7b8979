"""The only place where rooms meet: two spines, and the threads that run them.

| file | noun |
|---|---|
| `intake.py` | spine 1, steps 1-7: a seed, link or redirect becomes a row with a state |
| `visit.py`, `robots_visit.py` | spine 2, steps 11-20: one ticket; asking for robots.txt |
| `worker.py`, `lease.py` | a fetch thread's loop, and its hold on one host |
| `dispatch.py` | where workers wait for the host that is ready first |
| `gate.py` | the only way to the fetcher: address, global bucket, fetch |
| `host_clock.py`, `ledger.py` | when a host may be asked next; the ledger's rows |
| `outcome.py`, `inbox.py` | what a visit hands to the writer, and where |
| `writer.py`, `recorder.py`, `host_rows.py` | the transaction; what a visit changes in it |
| `drains.py`, `readmission.py`, `owed.py` | work that takes several transactions |
| `engine.py`, `ending.py`, `stats.py` | the threads; when a crawl ends, and why; the figures |

Threads: N workers run visits; one writer commits what they finished, and is the only one that moves
queues. Between them: the `Dispatcher` (take, give back, release; one lock, memory only) and the
`Inbox` (finished visits; bounded by the leases, and by one piece of seeds a group). One CPU stage: a
lock around parsing and canonicalising, because threads that leave the interpreter lock
for microseconds at a time slow all of them down.

Locks, all leaves (none is taken while another is held): the dispatcher's, the inbox's, the CPU stage,
and those inside `RobotsCache`, `TokenBucket`, `BodyMemory`, the resolver and the fetcher. No file or
socket is touched under the dispatcher's or the inbox's lock.

Order of a commit: WARC bytes are written and synced, then the transaction that names them commits,
then the schedule learns of it. A crash between any two of these leaves a WARC tail that opening cuts
off, or a lease that opening gives back.

Deliberately absent: LMDB, urllib3, signals, logging set-up, printing.
"""
