"""What a page asks of robots: meta elements and header fields, added up.

Rules for all robots and rules for this one count together, and none lifts another: the more
restrictive one applies (Google's specification of the robots meta tag, draft-illyes-repext).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_MAX_RULES_CHARS = 16_384
_MAX_RULES = 1000
_WITH_VALUE = frozenset(
    ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
)
"""Rules that are written with a colon of their own: the word before it is no robot's name."""

_NAMED = re.compile(r"[\t ]*([!#$%&'*+.^_`|~0-9A-Za-z/-]+)[\t ]*:(.*)", re.DOTALL)
_WORD = re.compile(r"[^\s,;]+")


class RobotsFlags(NamedTuple):
    """What the page asks not to be done with it. Threads: immutable."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


def robots_flags(
    metas: Iterable[str], headers: Iterable[tuple[str, str]], user_agent: str
) -> RobotsFlags:
    """The sum of all rules for this robot.

    `metas` are the contents of the metas that are named robots, * or as the robot
    (`PageElements.robots_metas`), `headers` a response's fields, of which X-Robots-Tag and the
    structured Robots-Tag are read, `user_agent` is the product token. Names and rules are compared
    without regard to case; unknown rules are passed over. `unavailable_after` is not judged: it
    needs a clock.
    """
    rules: set[str] = set()
    for content in metas:
        rules.update(_words(content))
    for name, value in headers:
        field = name.lower()
        if field == "x-robots-tag":
            rules.update(x_robots_rules(value, user_agent))
        elif field == "robots-tag":
            rules.update(robots_tag_rules(value, user_agent))
    if not rules:
        return RobotsFlags()
    none = "none" in rules
    return RobotsFlags(
        none or "noindex" in rules, none or "nofollow" in rules, "noarchive" in rules
    )


def x_robots_rules(value: str, user_agent: str) -> list[str]:
    """The rules for this robot in one X-Robots-Tag field, in lower case.

    A name with a colon begins the rules of that robot, up to the next name; what stands before the
    first name is for all.
    """
    rules: list[str] = []
    ours = True
    for part in value[:_MAX_RULES_CHARS].split(",", _MAX_RULES)[:_MAX_RULES]:
        named = _NAMED.match(part)
        if named is not None and named[1].lower() not in _WITH_VALUE:
            ours = _is_ours(named[1], user_agent)
            part = named[2]
        if ours:
            rules.extend(_words(part))
    return rules


def robots_tag_rules(value: str, user_agent: str) -> list[str]:
    """The rules for this robot in one Robots-Tag field: a list of `token;rule;rule`.

    A rule may be written as true (`noindex=?1`); one that is false does not count.
    Source: draft-illyes-repext-03; RFC 9651 for the syntax.
    """
    rules: list[str] = []
    for member in value[:_MAX_RULES_CHARS].split(",", _MAX_RULES)[:_MAX_RULES]:
        token, *parameters = (part.strip().lower() for part in member.split(";"))
        if _is_ours(token.strip('"'), user_agent):
            rules.extend(parameter.removesuffix("=?1") for parameter in parameters)
    return rules


def _is_ours(name: str, user_agent: str) -> bool:
    """A robot's name may come with a version, as in `bot/2.1`."""
    return name.partition("/")[0].lower() in ("*", "robots", user_agent.lower())


def _words(rules: str) -> list[str]:
    """Rules are set apart by commas; blanks alone are taken for commas too, as pages write them."""
    return _WORD.findall(rules[:_MAX_RULES_CHARS].lower())
