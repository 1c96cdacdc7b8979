"""`python -m testsite`: serves the site until SIGINT or SIGTERM, or tests it."""

from __future__ import annotations

import argparse
import resource
import signal
import sys
from pathlib import Path

from testsite.generator import SIZES, Web
from testsite.server import Server


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m testsite",
        description="A deterministic test web on loopback for h0000.test, h0001.test, ...",
    )
    add = parser.add_argument
    add("--port", type=int, default=8099, help="0 takes a free one; default %(default)s")
    add("--hosts", type=int, default=10, metavar="N", help="default %(default)s")
    add("--pages", type=int, default=100, metavar="N", help="of each host; default %(default)s")
    add("--size", type=int, default=8, choices=tuple(SIZES), help="KB of a page, default 8")
    add("--latency-ms", type=float, default=0, metavar="MS", help="before each answer; default 0")
    add("--seed", type=int, default=0, metavar="N", help="of the pages; default %(default)s")
    add("--specials", action="store_true", help="link to the special paths from /")
    add("--tls-port", type=int, metavar="P", help="serve TLS too (needs trustme)")
    add("--log", type=Path, metavar="FILE", help="a JSON line a request; an old file is emptied")
    add("--self-test", action="store_true", help="check the promises over sockets and end")
    return parser


_READY_S = 1.0
"""Time for making pages before the first request; some ten thousand of 8 KB."""


def main() -> int:
    """Exit codes: 0 stopped by a signal or self-test passed, 1 it failed, 2 wrong usage."""
    parser = _parser()
    options = parser.parse_args()
    if options.self_test:
        from testsite.selftest import self_test

        return self_test()
    _raise_file_limit()
    try:
        web = Web(options.hosts, options.pages, options.size, options.seed, options.specials)
        server = Server(
            web,
            port=options.port,
            tls_port=options.tls_port,
            latency_s=options.latency_ms / 1000,
            log_path=options.log,
        )
    except (OSError, OverflowError, ValueError, ImportError) as error:
        print(f"testsite: cannot start: {error}", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.loop.stop())
    server.make_ready(_READY_S)
    line = f"testsite listening on 127.0.0.1:{server.port} hosts={web.hosts} pages={web.pages}"
    if server.authority is not None:
        line += f" tls=127.0.0.1:{server.tls_port} ca={server.authority.ca_path}"
    print(line, flush=True)
    try:
        server.loop.run()
    finally:
        server.close()
    return 0


def _raise_file_limit() -> None:
    """As many open files as are allowed: a crawl keeps a connection open to every host."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        pass  # some systems refuse their own limit; then fewer hosts fit


if __name__ == "__main__":
    sys.exit(main())
