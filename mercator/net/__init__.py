"""The network: names to vetted addresses, one GET at a time, bodies within a budget.

Way of a request: `resolver.SystemResolver` turns a host name into addresses that
`guard.AddressGuard` lets pass (`resolve_map.ResolveMap` answers before any DNS);
`fetcher.HttpFetcher` connects to one of these addresses and to no other, sends one GET
(`connection`, `idle_connections`), reads the head (`answer`), takes the body off its framing
(`framing`), undoes its codings (`decoding`) and fills a `body.SpooledBody`. Whatever goes wrong on
that way becomes a `FailureKind` by the one table in `faults`.

Invariants:

- Nothing is connected to but an address of `FetchRequest.addresses`: a name is never looked up
  again between the guard's check and the connection, so an answer that changes in between is
  harmless.
- Nothing that a server sends raises out of `fetch`, and everything that it sends is bounded: time
  (one deadline from connecting to the last byte), head, body after decoding, codings on top of one
  another, memory of all bodies together.
- Certificates are always checked against the URL's host name.
- A caller is never kept waiting by a name: `lookup` answers from memory, `request` calls back.

Threads: every public class is safe from any thread, but for a body, which has one owner at a time.
The room starts no thread: look-ups run on the executor that it is handed. Locks are leaves and
never held over I/O or a callback.

Deliberately absent: redirects (each hop is a frontier row), cookies, proxies of the environment,
retries, HTTP/2, caches of answers, DNS of our own.
"""
