"""The command line: arguments become a `CrawlConfig`, the config a `Crawl`, the rest is printing.

The arguments themselves are `flags.py`. Here are the signals and the logging set-up, and nothing that
the library lacks: each command is one call on `Crawl`. Results go to standard output, progress and
logs to standard error. Exit codes: 0 done, 1 a fault of the program (or a "no" of `explain`), 2 wrong
usage, 3 store unusable or not whole, 4 nothing stored and something failed, 130/143 by signal.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import logging
import os
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercator.clock import RealClock
from mercator.errors import ConfigError, MercatorError, StoreFullError
from mercator.flags import config_of, in_flags, parsed, seeds_of
from mercator.ports import Clock
from mercator.records import Status
from mercator.report import jsonl
from mercator.report.hosts import lower_bound
from mercator.report.progress import CLEAR_LINE, Progress
from mercator.report.status import summary

if TYPE_CHECKING:
    from mercator.crawl import Crawl

POLL_S = 0.25
"""How long the main thread waits for the crawl before it looks for a signal: a handler may not call
`Crawl.stop` itself, since the lock that it needs may be held by the very thread it interrupted."""


# -- crawl -------------------------------------------------------------------------------------


class _Signals:
    """Remembers the first SIGINT or SIGTERM; the second ends the process at once.

    Threads: confined to the main thread (elsewhere Python sets no handlers, and neither does this).
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _: object) -> None:
        if self.number:
            os._exit(128 + number)
        self.number = number


@contextlib.contextmanager
def _logging(progress: Progress) -> Iterator[None]:
    """Mercator's log on standard error for as long as the crawl runs."""
    handler = logging.StreamHandler(sys.stderr)
    clear = CLEAR_LINE if progress.live else ""
    handler.setFormatter(logging.Formatter(f"{clear}%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("mercator")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _crawl(args: argparse.Namespace, door: type[Crawl], clock: Clock) -> int:
    config, seeds = config_of(args), seeds_of(args)
    failure: MercatorError | None = None
    progress = Progress(sys.stderr, clock, quiet=args.quiet)
    with _Signals() as signals, _logging(progress):
        crawl = door(args.store, seeds, config)
        crawl.start()
        try:
            _follow(crawl, signals, progress)
        except MercatorError as error:
            failure = error
        finally:
            crawl.stop()
            progress.close()
    status = crawl.status()
    try:
        _say(json.dumps(status.as_dict()) if args.json else summary(status, args.store))
    except BrokenPipeError:
        _mute()
    if failure is not None:
        return _complain(failure)
    return exit_code(status, signals.number)


def _follow(crawl: Crawl, signals: _Signals, progress: Progress) -> None:
    """Waits for the end of the crawl; a signal stops it once, and the wait goes on."""
    stopping = False
    while not crawl.wait(timeout_s=POLL_S):
        if signals.number and not stopping:
            stopping = True
            crawl.stop(reason="interrupted", wait=False)
        progress.tick(crawl.status)


def exit_code(status: Status, signal_number: int = 0) -> int:
    """The exit code of a crawl that ended with this status, after this signal (0: none)."""
    if status.stop_reason == "interrupted" and signal_number:
        return 128 + signal_number
    if status.stop_reason in ("error", "disk_full"):
        return 1 if status.stop_reason == "error" else 3
    lost = status.failed + status.gone + status.robots_refused + status.pending
    return 4 if lost and not status.stored else 0


# -- the other commands ------------------------------------------------------------------------


@contextlib.contextmanager
def _opened(args: argparse.Namespace, door: type[Crawl]) -> Iterator[Crawl]:
    crawl = door.open(args.store)
    try:
        yield crawl
    finally:
        crawl.stop()


def _status(args: argparse.Namespace, door: type[Crawl]) -> int:
    with _opened(args, door) as crawl:
        status = crawl.status()
        bound = "" if args.json or not status.pending else lower_bound(crawl.hosts())
    _say(json.dumps(status.as_dict()) if args.json else repr(status))
    if bound:
        _say(f"  at least    {bound}")
    return 0


def _export(args: argparse.Namespace, door: type[Crawl]) -> int:
    with _opened(args, door) as crawl:
        rows = getattr(crawl, args.table)()
        if args.output in (None, "-"):
            jsonl.write(rows, sys.stdout.buffer)
        else:
            jsonl.write_file(rows, Path(args.output))
    return 0


def _explain(args: argparse.Namespace, door: type[Crawl]) -> int:
    with _opened(args, door) as crawl:
        found = crawl.explain(args.url)
    _say(json.dumps(found.as_dict()) if args.json else f"{found.url}\n{found}")
    return 1 if found.state == "unknown" else 0


def _body(args: argparse.Namespace, door: type[Crawl]) -> int:
    with _opened(args, door) as crawl:
        sys.stdout.buffer.write(crawl.body(args.url))
    return 0


def _check(args: argparse.Namespace, door: type[Crawl]) -> int:
    with _opened(args, door) as crawl:
        report = crawl.check(repair=args.repair)
    for finding in report.findings:
        _say(str(finding))
    _say("the store is whole" if report.ok else "the store is not whole; see check --repair")
    return 0 if report.ok else 3


def _retry(args: argparse.Namespace, door: type[Crawl]) -> int:
    with _opened(args, door) as crawl:
        count = crawl.retry(args.reason)
    _say(f"{count} URLs are pending again; crawl --store {shlex.quote(args.store)} asks for them")
    return 0


_COMMANDS = {
    "status": _status,
    "export": _export,
    "explain": _explain,
    "body": _body,
    "check": _check,
    "retry": _retry,
}


# -- the way in and the way out ----------------------------------------------------------------


def _say(text: str) -> None:
    """A result on standard output; letters that its encoding lacks are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def _complain(error: Exception) -> int:
    """One line on standard error, with a report where a fault of the program was; the exit code."""
    code = getattr(error, "exit_code", 1)
    text = in_flags(str(error)) if isinstance(error, ConfigError) else str(error)
    if code == 1 and (error.__cause__ is not None or not isinstance(error, MercatorError)):
        traceback.print_exception(error)
        text = f"a fault of mercator itself, reported above; the store is whole: {text}"
    print(f"mercator: {' '.join(text.split())}", file=sys.stderr)
    return code


def _mute() -> None:
    """The reader of standard output has gone: nothing may be flushed into the pipe at the exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(
    argv: Sequence[str] | None = None,
    *,
    crawl_class: type[Crawl] | None = None,
    clock: Clock | None = None,
) -> int:
    """Runs one command; gives the exit code. `crawl_class` and `clock` are for tests."""
    _open_standard_streams()
    try:
        args = parsed(argv)
        door = crawl_class or _door()
        if args.command == "crawl":
            return _crawl(args, door, clock or RealClock())
        code = _COMMANDS[args.command](args, door)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _mute()
        return 0
    except KeyboardInterrupt:
        print("mercator: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except Exception as error:
        # The last place that can turn a fault into an exit code and a report of where it was.
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            return _complain(StoreFullError("the disk is full; what was written is not whole"))
        return _complain(error)


def _open_standard_streams() -> None:
    """A daemon may be started with its standard streams closed: then nobody reads, and stdin is
    empty."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (for good)


def _door() -> type[Crawl]:
    # Not at the top: a typing error is answered without loading parsers, TLS and LMDB.
    from mercator.crawl import Crawl

    return Crawl
