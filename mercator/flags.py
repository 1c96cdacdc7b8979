"""The command line's arguments: one table of flags, and how they become seeds and a `CrawlConfig`.

Each flag takes its kind, choices, default and help from its field of `CrawlConfig`, so that neither
can say what the other does not.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from mercator.config import CrawlConfig, near
from mercator.errors import UsageError
from mercator.program import version
from mercator.values import Reason

SEEDS_MAX_BYTES = 1 << 28
"""Some three million seeds; a file without an end must not fill the memory."""

TABLES = ("pages", "links", "failures", "hosts", "visits")


class Flag(NamedTuple):
    """A flag of `crawl` that sets a field. Its kind, choices, default and help are the field's.

    Threads: immutable.
    """

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
    top.add_argument("--version", action="version", version=f"mercator {version()}")
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
    retry.add_argument(
        "--reason",
        metavar="R",
        choices=[str(reason) for reason in Reason],
        help="only those with R",
    )
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


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments. Raises UsageError for what is unknown, naming the nearest known flag."""
    args, extras = parser().parse_known_args(argv)
    for extra in extras:
        if extra.startswith("-") or args.command != "crawl":
            known = [flag.name for flag in FLAGS] if args.command == "crawl" else []
            name = extra.split("=")[0]
            raise UsageError(f"{args.command} has no option {name}{near(name, known)}")
    # argparse gives back the seeds that stand between or behind options as left over.
    if args.command == "crawl":
        args.seed = [*args.seed, *extras]
    return args


def config_of(args: argparse.Namespace) -> CrawlConfig:
    """Flags over the TOML file over the environment; only what was given. Raises ConfigError."""
    fields: dict[str, Any] = {}
    contact = os.environ.get("MERCATOR_CONTACT")
    if contact:
        fields["contact"] = contact
    if args.config:
        fields.update(CrawlConfig.from_toml(Path(args.config)))
    fields.update({f.field: getattr(args, f.field) for f in FLAGS if hasattr(args, f.field)})
    return CrawlConfig(**fields)


def in_flags(text: str) -> str:
    """A configuration error in the words of the command line: its fields by the flags' names."""
    names = {flag.field: flag.name for flag in FLAGS}
    first, rest = re.match(r"(\w*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    # Elsewhere in a sentence a bare word such as "scope" may be meant as the word.
    rest = re.sub(r"(?<![\w'])\w+_\w+", lambda m: names.get(m.group(), m.group()), rest)
    return names.get(first, first) + rest


def seeds_of(args: argparse.Namespace) -> list[str]:
    """The seeds of the line and of the file. Raises UsageError when the file has none, or no end."""
    if args.seeds is None:
        return list(args.seed)
    try:
        with sys.stdin.buffer if args.seeds == "-" else open(args.seeds, "rb") as file:
            raw = file.read(SEEDS_MAX_BYTES + 1)
        lines = [line.strip() for line in raw.decode("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the seeds {args.seeds}: {error}") from error
    if len(raw) > SEEDS_MAX_BYTES:
        raise UsageError(
            f"the seeds {args.seeds} have more than {SEEDS_MAX_BYTES} bytes; give them in parts"
        )
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise UsageError(f"the seeds {args.seeds} hold no URL")
    return [*args.seed, *found]
