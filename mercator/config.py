"""The configuration: one frozen, flat value in named sections.

Every field has a type, a unit in its name, a default and a reason. Field names are the flags' names
with the unit last, and the keys of a TOML file are the same. An unknown key is an error that names
the nearest known one. What a run does not give is the store's last setting (`over`), so a value
remembers which of its fields were given.
"""

from __future__ import annotations

import dataclasses
import difflib
import ipaddress
import math
import re
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mercator.errors import ConfigError

Scope = Literal["host", "domain", "prefix", "any"]
UrlPolicy = Literal["conservative", "standard", "aggressive"]
ObeyNofollow = Literal["page", "all", "none"]
Compress = Literal["gzip", "none"]

FIXED_FIELDS = ("url_policy",)
"""Settings that a store is made with; giving another value later is an error."""


_LONGEST_S = 1e9
"""31 years: longer times cannot be meant, and clocks and sockets cannot hold any."""


def _f(
    default: Any,
    reason: str,
    *,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
) -> Any:
    return field(
        default=default, metadata={"reason": reason, "low": low, "above": above, "high": high}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlConfig:
    """All settings of a crawl. `CrawlConfig(contact="me@example.org")` is a complete one.

    Raises ConfigError (one line: what is wrong, how to mend it) for an unknown field, a wrong type,
    a value out of range, or values that contradict each other.
    Threads: immutable.
    """

    # -- who asks ------------------------------------------------------------------------------
    user_agent: str = _f(
        "mercator", "product token; sent as TOKEN/VERSION (+CONTACT) and matched in robots.txt"
    )
    contact: str | None = _f(
        None, "URL or mail address that site owners can write to; needed for any real site"
    )

    # -- what is crawled -----------------------------------------------------------------------
    scope: Scope = _f("host", "hosts of the seeds: nothing that was not asked for is crawled")
    include: tuple[str, ...] = _f((), "regular expressions; one must be found in the key_url")
    exclude: tuple[str, ...] = _f((), "regular expressions; none may be found in the key_url")
    url_policy: UrlPolicy = _f(
        "standard", "which URLs are one page; fixed when the store is made, its keys depend on it"
    )
    obey_nofollow: ObeyNofollow = _f(
        "page", "meta robots and X-Robots-Tag are the page's wish; rel=nofollow is about ranking"
    )
    content_types: tuple[str, ...] = _f(
        ("text/*", "application/xhtml+xml", "*xml", "*json", "application/pdf"),
        "Content-Types that are stored; an answer without one is stored too",
    )

    # -- how much ------------------------------------------------------------------------------
    max_pages: int | None = _f(None, "stop at exactly so many stored pages, all runs", low=1)
    max_depth: int | None = _f(None, "links away from a seed; a redirect is no step", low=0)
    max_pages_per_host: int | None = _f(
        100_000, "a host without end must not eat the crawl; stored pages, all runs", low=1
    )
    max_time_s: float | None = _f(None, "stop after so many seconds of this run", above=0)
    patience_s: float = _f(
        600.0, "stop when nothing but paused hosts is left and no page came for so long", low=0
    )

    # -- politeness ----------------------------------------------------------------------------
    delay_s: float = _f(1.0, "smallest gap per host, from the end of a request", low=0)
    delay_factor: float = _f(
        1.0, "gap at least so many times the last fetch's duration", low=0, high=1e6
    )
    rate_per_s: float | None = _f(None, "requests a second of the whole crawl", above=0)
    burst: int = _f(1, "releases that the whole crawl's bucket may hold", low=1)
    retries: int = _f(2, "further attempts after the first", low=0)
    retry_base_s: float = _f(1.0, "back-off before attempt n+1: uniform in 0..base*2^n", above=0)
    retry_cap_s: float = _f(300.0, "ceiling of the back-off", above=0)
    max_retry_after_s: float = _f(86_400.0, "ceiling of a server's Retry-After: a day", above=0)
    robots_max_age_s: float = _f(86_400.0, "RFC 9309 2.4: a copy is good for at most 24 h", above=0)
    robots_keep_s: float = _f(
        7 * 86_400.0, "how long the last good copy stays in force while none can be had", low=0
    )
    robots_give_up_s: float = _f(
        7 * 86_400.0, "after so long without an answer to robots.txt its URLs fail", above=0
    )
    unreachable_after_s: float = _f(
        3600.0,
        "a host that cannot be reached fails after so long (or when nothing else is left)",
        low=0,
    )

    # -- what a request may cost ---------------------------------------------------------------
    timeout_s: float = _f(30.0, "whole request, from connecting to the last byte", above=0)
    max_body_bytes: int = _f(10_485_760, "decompressed; a longer body is cut there", low=1)
    max_redirects: int = _f(5, "hops of one chain", low=0)
    max_links_per_page: int = _f(10_000, "links read off one page; a bound, not a policy", low=1)

    # -- network -------------------------------------------------------------------------------
    allow_net: tuple[str, ...] = _f((), "networks that the address guard would refuse (CIDR)")
    resolve: tuple[str, ...] = _f((), "NAME=ADDRESS[:PORT]; NAME may start with '*.'")

    # -- performance and memory ----------------------------------------------------------------
    threads: int = _f(32, "fetch threads; on one core more cost more than they bring", low=1)
    max_active_hosts: int = _f(4096, "back queues in memory at once; each a few kilobytes", low=1)
    front_levels: int = _f(8, "front queues, level 1 is drawn most often", low=1)
    front_weights: tuple[int, ...] = _f(
        (), "draws of each level, first to last; empty: halving from level to level"
    )
    body_memory_bytes: int = _f(
        67_108_864, "all bodies in memory together; the rest lies in temporary files", low=0
    )
    map_bytes: int = _f(
        1 << 36, "room of the LMDB map; sparse, so it costs no disk until used", low=1 << 20
    )
    commit_puts: int = _f(1000, "rows after which a group of visits is committed", low=1)
    commit_s: float = _f(0.1, "longest time that a finished visit waits for its commit", low=0)
    random_seed: int | None = _f(None, "seed of the back-off's jitter; None: from the system")

    # -- what is kept --------------------------------------------------------------------------
    warc: bool = _f(True, "every response as WARC 1.1; without it bodies lie in bodies/ by sha256")
    compress: Compress = _f("gzip", "of WARC records, one member a record")
    warc_file_bytes: int = _f(1_000_000_000, "size at which a new WARC file begins", low=1)

    given: frozenset[str] = field(init=False, compare=False, repr=False)

    if not TYPE_CHECKING:

        def __new__(cls, *args: object, **fields: object) -> CrawlConfig:
            unknown = fields.keys() - _TYPES.keys()
            if unknown:
                raise ConfigError(unknown_key(sorted(unknown)[0], _TYPES))
            config = object.__new__(cls)
            object.__setattr__(config, "given", frozenset(fields))
            return config

    def __post_init__(self) -> None:
        for name, type_ in _TYPES.items():
            value = _checked(name, getattr(self, name), type_)
            object.__setattr__(self, name, value)
        _check_together(self)

    def over(self, stored: Mapping[str, object]) -> CrawlConfig:
        """This value's given fields over the store's last settings, over the defaults.

        Fields that the store knows and this version does not are ignored.
        Raises ConfigError when a fixed field was given and differs from the store's.
        """
        for name in FIXED_FIELDS:
            if name in self.given and name in stored and getattr(self, name) != stored[name]:
                raise ConfigError(
                    f"{name} is {stored[name]!r} in this store and cannot change to "
                    f"{getattr(self, name)!r}; leave it out, or crawl into a new store"
                )
        fields: dict[str, Any] = {k: v for k, v in stored.items() if k in _TYPES}
        fields.update({name: getattr(self, name) for name in self.given})
        merged = CrawlConfig(**fields)
        object.__setattr__(merged, "given", self.given)
        return merged

    def as_dict(self) -> dict[str, Any]:
        """Every field by name, made of plain values (tuples as lists), for TOML, JSON and `meta`."""
        values = ((name, getattr(self, name)) for name in _TYPES)
        return {name: list(v) if isinstance(v, tuple) else v for name, v in values}

    @classmethod
    def from_toml(cls, path: Path) -> dict[str, Any]:
        """The fields of a TOML file, checked for unknown keys; flags are laid over them.

        Raises ConfigError when the file cannot be read or parsed.
        """
        try:
            fields = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            # A plain ValueError is a number of more digits than Python turns into one.
            raise ConfigError(f"cannot read the configuration {path}: {error}") from error
        for name in fields:
            if name not in _TYPES:
                raise ConfigError(f"{path}: {unknown_key(name, _TYPES)}")
        return fields


_TYPES: dict[str, Any] = {
    name: type_
    for name, type_ in typing.get_type_hints(CrawlConfig).items()
    if name in {f.name for f in dataclasses.fields(CrawlConfig) if f.init}
}
_FIELDS = {f.name: f for f in dataclasses.fields(CrawlConfig)}


def unknown_key(name: str, known: Iterable[str]) -> str:
    """One line that names the unknown key and the nearest known one."""
    return f"unknown configuration key {name!r}{near(name, known)}"


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'max_pages'?`, or "" when nothing known is like it."""
    like = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {like[0]!r}?" if like else ""


def _checked(name: str, value: Any, type_: Any) -> Any:
    """The value in the field's type. Raises ConfigError."""
    value = _converted(name, value, type_)
    meta = _FIELDS[name].metadata
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise ConfigError(f"{name} must be a finite number, not {value}")
        if meta["low"] is not None and value < meta["low"]:
            raise ConfigError(f"{name} must be at least {meta['low']:g}, not {value:g}")
        if meta["above"] is not None and value <= meta["above"]:
            raise ConfigError(f"{name} must be more than {meta['above']:g}, not {value:g}")
        high = _LONGEST_S if name.endswith("_s") and name != "rate_per_s" else meta["high"]
        if high is not None and value > high:
            raise ConfigError(f"{name} must be at most {high:g}, not {value:g}")
    return value


def _converted(name: str, value: Any, type_: Any) -> Any:
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        # No row of the store can hold it, and Python makes no text of some thousand digits.
        raise ConfigError(f"{name} must be a number of at most 64 bits")
    origin = typing.get_origin(type_)
    if origin is types.UnionType:
        if value is None or value == "none":
            return None  # TOML has no null, so "none" lifts a limit there as on the command line
        (type_,) = (part for part in typing.get_args(type_) if part is not type(None))
        origin = typing.get_origin(type_)
    if origin is Literal:
        choices = typing.get_args(type_)
        if value not in choices:
            raise ConfigError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        return value
    if origin is tuple:
        (inner, _) = typing.get_args(type_)
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ConfigError(f"{name} must be a list, not {value!r}")
        return tuple(_converted(name, item, inner) for item in value)
    if type_ is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type_:
        raise ConfigError(f"{name} must be of type {type_.__name__}, not {value!r}")
    return value


_TOKEN = re.compile(r"[A-Za-z_-]+")
_CONTACT = re.compile(r"https?://[!#-'*-~]+|(mailto:)?[!#-'*-;=?A-~]+@[!#-'*-;=?A-~]+")
"""A URL or a mail address, in characters that a comment of a header field may hold."""
_TYPE_PATTERN = re.compile(r"[!#$&^_.+*/a-z0-9-]*[/*][!#$&^_.+*/a-z0-9-]*")
_RESOLVE = re.compile(r"(\*\.)?[^=\s*]+=(\[[0-9A-Fa-f:.]+\]|[^:\s]+|[0-9A-Fa-f:.]+?)(:\d{1,5})?")


def _check_together(config: CrawlConfig) -> None:
    """What a single field's type cannot say. Raises ConfigError."""
    if not _TOKEN.fullmatch(config.user_agent):
        raise ConfigError(
            f"user_agent must be a product token of letters, '-' and '_' (RFC 9309), "
            f"not {config.user_agent!r}"
        )
    if config.contact is not None and not _CONTACT.fullmatch(config.contact):
        raise ConfigError(f"contact must be a URL or a mail address, not {config.contact!r}")
    if not config.content_types:
        raise ConfigError("content_types must name a type; `*` stores them all")
    for pattern in config.content_types:
        if not _TYPE_PATTERN.fullmatch(pattern):
            raise ConfigError(f"content_types: {pattern!r} is no type such as text/* or *json")
    for name in ("include", "exclude"):
        for pattern in getattr(config, name):
            try:
                re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as error:
                # A count beyond the C type, and groups nested deeper than the compiler goes.
                raise ConfigError(
                    f"{name}: {pattern!r} is no regular expression: {error}"
                ) from error
    for network in config.allow_net:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise ConfigError(f"allow_net: {error}") from error
    for entry in config.resolve:
        if not _RESOLVE.fullmatch(entry):
            raise ConfigError(f"resolve must read NAME=ADDRESS[:PORT], not {entry!r}")
    if config.front_weights and (
        len(config.front_weights) != config.front_levels or min(config.front_weights) < 1
    ):
        raise ConfigError(
            f"front_weights needs one weight of at least 1 for each of the "
            f"{config.front_levels} front levels"
        )
    if config.front_levels > 255:
        raise ConfigError("front_levels must be at most 255")
    if config.retry_cap_s < config.retry_base_s:
        raise ConfigError("retry_cap_s must not be below retry_base_s")
    if config.burst > 1 and config.rate_per_s is None:
        raise ConfigError("burst needs rate_per_s: without a rate there is no bucket")
