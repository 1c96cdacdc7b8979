"""What a person can type is documented: every command and flag stands in the README."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from mercator.flags import parser

README = Path(__file__).parent.parent / "README.md"


def commands() -> dict[str, argparse.ArgumentParser]:
    (choices,) = (
        action.choices
        for action in parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return dict(choices)


def flags() -> list[tuple[str, str]]:
    tops = [("", option) for action in parser()._actions for option in action.option_strings]
    subs = [
        (name, option)
        for name, command in commands().items()
        for action in command._actions
        for option in action.option_strings
    ]
    return [(name, option) for name, option in tops + subs if option not in ("-h", "--help")]


@pytest.fixture
def readme() -> str:
    if not README.exists():
        pytest.skip("there is no README.md yet")
    return README.read_text(encoding="utf-8")


@pytest.mark.parametrize(("command", "flag"), flags())
def test_every_flag_is_in_the_readme(readme: str, command: str, flag: str) -> None:
    assert re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", readme), f"{command} {flag}"


@pytest.mark.parametrize("command", commands())
def test_every_command_is_in_the_readme(readme: str, command: str) -> None:
    assert re.search(rf"mercator {command}\b", readme)
