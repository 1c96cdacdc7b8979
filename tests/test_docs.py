"""What a person can type is documented: every command and flag stands in the README."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from mercator.flags import config_of, parsed, parser
from testsite.fixture import Site

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


# -- what it shows works ----------------------------------------------------------------------------


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def command_lines(text: str) -> list[list[str]]:
    """The arguments of every `python -m mercator` in a shell block, without what the shell takes."""
    found = []
    for block in blocks(text, "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:3] == ["python", "-m", "mercator"]:
                found.append(words[3 : words.index(">") if ">" in words else None])
    return found


def test_every_shell_command_of_the_readme_parses(
    readme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MERCATOR_CONTACT", raising=False)
    lines = command_lines(readme)
    assert {line[0] for line in lines} == set(commands())
    for line in lines:
        args = parsed(line)
        assert args.command == line[0]
        if args.command == "crawl":
            assert config_of(args).given == {"contact", "max_pages"} & set(vars(args))


def test_the_python_of_the_readme_runs(
    readme: str,
    site_factory: Callable[..., Site],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    site = site_factory(hosts=1, pages=3)
    monkeypatch.chdir(tmp_path)
    local = f'resolve=({site.resolve!r},), allow_net=("127.0.0.0/8",), delay_s=0.0)'
    (code,) = blocks(readme, "python")
    for theirs, ours in (
        ('"https://example.org/"', '"http://h0000.test/"'),
        ("max_pages=500)", f"max_pages=500, {local}"),
    ):
        assert code.count(theirs) == 1
        code = code.replace(theirs, ours)
    exec(compile(code, str(README), "exec"), {"__name__": "__main__"})
    shown = capsys.readouterr().out
    wanted = site.web.reachable("http://h0000.test/").pages
    assert "finished" in shown
    rows = re.findall(r"^(http://\S+) .* (\d+) (\d+)$", shown, re.MULTILINE)
    assert {url for url, _, _ in rows} == set(wanted)
    assert all(int(size) > 0 and int(paragraphs) > 0 for _, size, paragraphs in rows)
    assert [path.name for path in tmp_path.iterdir()] == ["crawl"]
