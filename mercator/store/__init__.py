"""The disk: the tables of a shard, and the documents (bodies and WARC records) beside them.

| file | noun |
|---|---|
| `tables.py` | the map of the disk: every table's key and value in words, the format version, frozen numbers |
| `codec.py`, `url_codec.py` | bytes <-> rows |
| `typed.py` | the typed tables over any ordered key-value transaction; both adapters use it |
| `lmdb_tables.py` | `ports.Tables` on LMDB; the only file that imports lmdb |
| `memory_tables.py` | `ports.Tables` in memory, for tests and notebooks; same contract suite |
| `gate.py` | who is inside an LMDB environment, so that it can be closed or grown while nobody is |
| `folder.py`, `folder_lock.py`, `mount.py` | the store's folder: store.json, lock, refused file systems |
| `warc.py` | one response as WARC 1.1 records: the serialiser |
| `documents.py` | appending records and bodies, syncing them, cutting back at opening |
| `check.py` | do tables and files agree, and what can be mended |

Invariants:

- Whatever a commit names is whole on disk before the commit: documents are synced first. What no
  commit names is cut off when the store is opened.
- A commit is durable (data and meta pages synced) when `write()` has been left without an error;
  with an error nothing of it remains.
- A store that cannot be read is never overwritten: unknown version, damage, a foreign folder and a
  network file system are refused with the mend in the text.
- One process writes a store, guarded by `DIR/lock`; readers of other processes take no lock.

Threads: reads from any thread, each transaction in the thread that began it; one write transaction
at a time. An environment does not survive `fork`: it is refused in the child, which opens its own.

Deliberately absent: threads (the engine owns the writer), the clock (times are handed in), caches
(LMDB's pages are the cache), any repair that happens without being asked for.
"""
