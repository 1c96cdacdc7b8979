"""Tables for people, read off the stores.

What lives here: one generator a public table (`pages`, `links`, `failures`, `hosts`, `visits`),
the summary (`status`), the story of one URL (`explain`, `story`), the way from a URL to its row
(`lookup`), JSON lines (`jsonl`), and the line that a running crawl shows (`progress`). All readers
take a sequence of stores, one a shard, and give the records of `mercator/records.py`; `reading` is
how they read.

Invariants:

- no read transaction is open while the caller holds a record: rows are read in batches, so that a
  notebook that looks at a table for an hour does not keep the store from reusing its pages;
- memory is bounded by a batch, the links of one page and a fixed number of remembered keys, however
  large the store is;
- beside a running crawl every batch is the state of one commit.

Threads: generators are confined to the thread that iterates; any number may run side by side.
Deliberately absent: writing (a store is only read here), the clock (callers pass `now`), bodies and
parsers (callers pass how to read and parse), and every format but JSON lines.
"""
