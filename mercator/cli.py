"""The command line: arguments become a `CrawlConfig`, the config a `Crawl`, the rest is printing.

The only owner of argparse, signals, logging set-up and the environment. It has nothing that the
library lacks: each command is one call on `Crawl`. Results go to standard output, progress and logs
to standard error. Exit codes: 0 done, 1 a fault of the program (or a "no" of `explain`), 2 wrong
usage, 3 store unusable or not whole, 4 nothing stored and something failed, 130/143 by signal.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import json
import logging
import os
import re
import shlex
import signal
import sys
import threading
import traceback
import types
import typing
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from mercator.clock import RealClock
from mercator.config import CrawlConfig
from mercator.errors import ConfigError, MercatorError, StoreFullError, UsageError
from mercator.ports import Clock
from mercator.records import Status
from mercator.report import jsonl
from mercator.report.hosts import lower_bound
from mercator.report.progress import CLEAR_LINE, Progress
from mercator.report.status import summary
from mercator.values import Reason

if TYPE_CHECKING:
    from mercator.crawl import Crawl

POLL_S = 0.25
"""How long the main thread waits for the crawl before it looks for a signal: a handler may not call
`Crawl.stop` itself, since the lock that it needs may be held by the very thread it interrupted."""

TABLES = ("pages", "links", "failures", "hosts", "visits")


class Flag(NamedTuple):
    """A flag of `crawl` that sets a field. Its kind, choices, default and help are the field's."""

    name: str
    field: str
    metavar: str | None = None


FLAGS = (
    Flag("--scope", "scope"),
    Flag("--include", "include", "RE"),
    Flag("--exclude", "exclude", "RE"),
    Flag("--max-pages", "max_pages", "N"),
    Flag("--max-depth", "max_depth", "N"),
    Flag("--max-pages-per-host", "max_pages_per_host", "N"),
    Flag("--max-time", "max_time_s", "S"),
    Flag("--patience", "patience_s", "S"),
    Flag("--threads", "threads", "N"),
    Flag("--delay", "delay_s", "S"),
    Flag("--delay-factor", "delay_factor", "K"),
    Flag("--rate", "rate_per_s", "R"),
    Flag("--burst", "burst", "B"),
    Flag("--user-agent", "user_agent", "TOKEN"),
    Flag("--contact", "contact", "URL-OR-MAIL"),
    Flag("--allow-net", "allow_net", "CIDR"),
    Flag("--resolve", "resolve", "NAME=ADDRESS[:PORT]"),
    Flag("--url-policy", "url_policy"),
    Flag("--obey-nofollow", "obey_nofollow"),
    Flag("--content-types", "content_types", "LIST"),
    Flag("--max-body", "max_body_bytes", "BYTES"),
    Flag("--timeout", "timeout_s", "S"),
    Flag("--max-redirects", "max_redirects", "N"),
    Flag("--retries", "retries", "N"),
    Flag("--retry-base", "retry_base_s", "S"),
    Flag("--retry-cap", "retry_cap_s", "S"),
    Flag("--warc", "warc"),
    Flag("--compress", "compress"),
)

_TYPES = typing.get_type_hints(CrawlConfig)
_FIELDS = CrawlConfig.__dataclass_fields__


# -- arguments ---------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """argparse with errors of one line. Threads: confined to the main thread."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def parser() -> argparse.ArgumentParser:
    """The parser of every command that works."""
    top = _Parser(
        prog="mercator",
        description="A polite, durable web crawler for researchers.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"mercator {_version()}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, text: str, *positionals: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        for positional in positionals:
            dest = {"DIR": "store", "URL": "url"}[positional]
            added.add_argument(dest, metavar=positional)
        return added

    _crawl_arguments(command("crawl", "crawl into a store; without seeds, go on with it"))
    status = command("status", "the summary of a store, also beside a running crawl", "DIR")
    export = command("export", "a table, one JSON object a line", "DIR")
    export.add_argument("table", choices=TABLES)
    export.add_argument("--format", choices=("jsonl",), default="jsonl", help="default: jsonl")
    export.add_argument("--output", metavar="FILE", help="default: standard output")
    explain = command("explain", "what became of a URL, and why; exit 1: never seen", "DIR", "URL")
    for one in (status, explain):
        one.add_argument("--json", action="store_true", help="as one JSON object")
    command("body", "the body of a stored page, as bytes", "DIR", "URL")
    check = command("check", "is the store whole; exit 3 when it is not", "DIR")
    check.add_argument("--repair", action="store_true", help="mend what can be mended")
    retry = command("retry", "give given-up URLs another chance", "DIR")
    retry.add_argument("--reason", metavar="R", choices=tuple(Reason), help="only those with R")
    return top


def _crawl_arguments(crawl: argparse.ArgumentParser) -> None:
    crawl.add_argument("seed", nargs="*", metavar="SEED", help="a URL to begin with")
    crawl.add_argument("--store", metavar="DIR", required=True, help="the store's folder")
    crawl.add_argument(
        "--seeds", metavar="FILE", help="one URL a line, '#' comments; '-' is standard input"
    )
    for flag in FLAGS:
        _add_flag(crawl, flag)
    crawl.add_argument("--config", metavar="FILE.toml", help="fields of CrawlConfig; flags win")
    crawl.add_argument("--json", action="store_true", help="the summary as one JSON object")
    crawl.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _add_flag(crawl: argparse.ArgumentParser, flag: Flag) -> None:
    """Adds the flag as its field's type wants it. A flag that is not given leaves no attribute."""
    type_ = _TYPES[flag.field]
    reason = _FIELDS[flag.field].metadata["reason"]
    options: dict[str, Any] = {
        "dest": flag.field,
        "default": argparse.SUPPRESS,
        "help": f"{reason} (default: {_default(flag.field)})".replace("%", "%%"),
    }
    if type_ is bool:
        pair = crawl.add_mutually_exclusive_group()
        pair.add_argument(flag.name, action="store_true", **options)
        options["help"] = f"switches {flag.name} off"
        pair.add_argument(flag.name.replace("--", "--no-"), action="store_false", **options)
        return
    if flag.metavar:
        options["metavar"] = flag.metavar
    liftable = typing.get_origin(type_) is types.UnionType
    if liftable:
        type_ = next(part for part in typing.get_args(type_) if part is not type(None))
    if typing.get_origin(type_) is typing.Literal:
        options["choices"] = typing.get_args(type_)
    elif flag.field == "content_types":
        options["type"] = _listed
    elif typing.get_origin(type_) is tuple:
        options["action"] = "append"
    elif type_ is not str:
        options["type"] = _number(type_, liftable)
    crawl.add_argument(flag.name, **options)


def _default(field: str) -> str:
    value = _FIELDS[field].default
    if value is True:
        return "on"
    text = ",".join(value) if isinstance(value, tuple) else str("" if value is None else value)
    return text.removesuffix(".0") or "none"


def _number(type_: type[int] | type[float], liftable: bool) -> typing.Callable[[str], float | None]:
    noun = "a whole number" if type_ is int else "a number"

    def parse(text: str) -> float | None:
        if liftable and text == "none":
            return None
        try:
            return type_(text)
        except ValueError:
            wanted = f"{noun} or none" if liftable else noun
            raise argparse.ArgumentTypeError(f"needs {wanted}, not {text!r}") from None

    return parse


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _nearest(text: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(text, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments. Raises UsageError for what is unknown, naming the nearest known flag."""
    args, extras = parser().parse_known_args(argv)
    for extra in extras:
        if extra.startswith("-") or args.command != "crawl":
            known = [flag.name for flag in FLAGS] if args.command == "crawl" else []
            name = extra.split("=")[0]
            raise UsageError(f"{args.command} has no option {name}{_nearest(name, known)}")
    # argparse gives back the seeds that stand between or behind options as left over.
    if args.command == "crawl":
        args.seed = [*args.seed, *extras]
    return args


def _version() -> str:
    try:
        return metadata.version("mercator")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _config(args: argparse.Namespace) -> CrawlConfig:
    """Flags over the TOML file over the environment; only what was given. Raises ConfigError."""
    fields: dict[str, Any] = {}
    contact = os.environ.get("MERCATOR_CONTACT")
    if contact:
        fields["contact"] = contact
    if args.config:
        fields.update(CrawlConfig.from_toml(Path(args.config)))
    fields.update({f.field: getattr(args, f.field) for f in FLAGS if hasattr(args, f.field)})
    return CrawlConfig(**fields)


def _in_flags(text: str) -> str:
    """A configuration error in the words of the command line: its fields by the flags' names."""
    names = {flag.field: flag.name for flag in FLAGS}
    first, rest = re.match(r"(\w*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    # Elsewhere in a sentence a bare word such as "scope" may be meant as the word.
    rest = re.sub(r"(?<![\w'])\w+_\w+", lambda m: names.get(m.group(), m.group()), rest)
    return names.get(first, first) + rest


def _seeds(args: argparse.Namespace) -> list[str]:
    """The seeds of the line and of the file. Raises UsageError when the file has none."""
    if args.seeds is None:
        return list(args.seed)
    try:
        raw = sys.stdin.buffer.read() if args.seeds == "-" else Path(args.seeds).read_bytes()
        lines = [line.strip() for line in raw.decode("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the seeds {args.seeds}: {error}") from error
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise UsageError(f"the seeds {args.seeds} hold no URL")
    return [*args.seed, *found]


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
    config, seeds = _config(args), _seeds(args)
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
    text = _in_flags(str(error)) if isinstance(error, ConfigError) else str(error)
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
    try:
        args = _parsed(argv)
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


def _door() -> type[Crawl]:
    # Not at the top: a typing error is answered without loading parsers, TLS and LMDB.
    from mercator.crawl import Crawl

    return Crawl
