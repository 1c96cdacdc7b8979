"""The disk: the tables of a shard, and the documents (bodies and WARC records) beside them.

| file | noun |
|---|---|
| `tables.py` | the map of the disk: every table in words, format version, frozen numbers |
| `codec.py`, `url_codec.py` | bytes <-> rows |
| `typed.py` | the typed tables over any ordered key-value transaction; both adapters use it |
| `lmdb_tables.py` | `ports.Tables` on LMDB; the only file that imports lmdb |
| `lmdb_errors.py` | what LMDB says no to, in the words of the error tree |
| `transaction_gate.py` | who is inside an environment: it grows and closes while nobody is |
| `memory_tables.py` | `ports.Tables` in memory, for tests and notebooks; same contract suite |
| `folder.py`, `folder_lock.py`, `mount.py` | the store's folder: store.json, lock, refused file systems |
| `disk.py` | what the file system says no to, and writes that are whole |
| `warc.py`, `warc_reader.py` | the serialiser of WARC 1.1 records, and reading them back |
| `documents.py`, `warc_files.py` | `ports.Documents`: append, sync, and cut back at opening |
| `bodies.py` | the same without WARC: one file a body |
| `prepared.py`, `stored_bodies.py` | a response ready for the disk; a stored body by its place |
| `check.py` and `check_*.py`, `checkup.py` | do tables and files agree, and what can be mended |
| `findings.py`, `sorted_records.py` | what a check found; sorting more than fits in memory |

Invariants:

- Whatever a commit names is whole on disk before the commit: documents are synced first. What no
  commit names is cut off when the store is opened.
- A commit is durable (data and meta pages synced) when `write()` has been left without an error;
  with an error nothing of it remains.
- A store that cannot be read is never overwritten: unknown version, damage, a foreign folder and a
  network file system are refused with the mend in the text.
- One process writes a store, guarded by `DIR/lock`; readers of other processes take no lock.

Threads: reads from any thread, each transaction in the thread that began it; one write transaction
at a time. An environment does not survive `fork`: the child is refused; start it with spawn.

Deliberately absent: threads (the engine owns the writer), the clock (times are handed in), caches
(LMDB's pages are the cache), any repair that happens without being asked for.
"""
