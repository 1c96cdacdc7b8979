"""The only place where rooms meet: two spines, and the threads that run them.

- `intake.py` (steps 1-7): a seed, link or redirect becomes a row with a state.
- `visit.py` (steps 11-20): one ticket, from robots.txt to its links; `robots_visit.py` is the part
  that asks for robots.txt.

Threads: N workers run visits; one writer commits what they finished, and is the only one that moves
queues. Between them: the `Dispatcher` (take, give back, release; one lock, memory only) and the
`Inbox` (finished visits; bounded, because at most 2 x threads tickets are on lease). One CPU stage: a
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
