"""The command line against a crawl that plays a script: arguments, output, exit codes, signals."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mercator import cli, flags
from mercator.config import CrawlConfig
from mercator.errors import (
    ConfigError,
    CrawlFailedError,
    MercatorError,
    StoreInUseError,
    StoreMissingError,
    UsageError,
)
from mercator.records import Explanation, HostRecord, LinkRecord, Status
from mercator.testing import ManualClock

FLAGS = (
    "--scope --include --exclude --max-pages --max-depth --max-pages-per-host --max-time "
    "--patience --threads --delay --delay-factor --rate --burst --user-agent --contact --allow-net "
    "--resolve --url-policy --obey-nofollow --content-types --max-body --timeout --max-redirects "
    "--retries --retry-base --retry-cap --warc --no-warc --compress --store --seeds --config "
    "--json --quiet"
)
NOT_YET = "--rate-log --pace --processes --sitemaps --refresh --ca-file"


class FakeCrawl:
    """Ends after `polls` waits and keeps what was asked of it.

    Threads: confined to the main thread.
    """

    made: list[FakeCrawl]
    clock: ManualClock
    polls = 0
    ends = Status(stored=1, stop_reason="finished")
    on_wait: Callable[..., None]
    raises: dict[str, Exception]

    def __init__(self, store: str, seeds: Any = (), config: CrawlConfig | None = None) -> None:
        self.store, self.seeds, self.config = store, list(seeds), config
        self.calls: list[Any] = []
        self.left = self.polls
        self._call("open" if config is None else "make")
        self.made.append(self)

    @classmethod
    def open(cls, store: str) -> FakeCrawl:
        return cls(store)

    def _call(self, name: str, *details: Any) -> None:
        self.calls.append((name, *details) if details else name)
        if name in self.raises:
            raise self.raises[name]

    def start(self) -> None:
        self._call("start")

    def wait(self, timeout_s: float | None = None) -> bool:
        self._call("wait")
        self.clock.advance_s(timeout_s or 0)
        self.on_wait()
        self.left -= 1
        return self.left < 0

    def stop(self, reason: str = "interrupted", wait: bool = True) -> None:
        self._call("stop", reason, wait)

    def status(self) -> Status:
        self._call("status")
        return self.ends

    def links(self) -> Iterator[LinkRecord]:
        for kind in ("a", "img"):
            yield LinkRecord(source="s", target="ü", kind=kind, rel=None, anchor=None)

    def hosts(self) -> Iterator[HostRecord]:
        for host, pending in (("h1.test", 3), ("h2.test", 7200)):
            yield HostRecord(
                host=host,
                stored=0,
                failed=0,
                pending=pending,
                gap_s=1.0,
                gap_reason="delay",
                due_at=None,
                blocked_until=None,
                robots=None,
                robots_at=None,
                addresses=(),
                bytes=0,
            )

    def explain(self, url: str) -> Explanation:
        state = "unknown" if "never" in url else "stored"
        return Explanation(url, url, state, None, ("stored ü", "found: it is a seed"))

    def body(self, url: str) -> bytes:
        self._call("body", url)
        return b"\x00\xffbody"

    def check(self, repair: bool = False) -> Any:
        self._call("check", repair)
        return SimpleNamespace(findings=[] if repair else ["a lost body"], ok=repair)

    def retry(self, reason: str | None = None) -> int:
        self._call("retry", reason)
        return 12


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> type[FakeCrawl]:
    monkeypatch.delenv("MERCATOR_CONTACT", raising=False)
    return type(
        "Door",
        (FakeCrawl,),
        {"made": [], "clock": ManualClock(), "raises": {}, "on_wait": lambda crawl: None},
    )


@pytest.fixture
def run(door: type[FakeCrawl]) -> Callable[..., int]:
    def call(*argv: str) -> int:
        crawl_class: Any = door
        return cli.main(list(argv), crawl_class=crawl_class, clock=door.clock)

    return call


def crawl_flags() -> set[str]:
    (choices,) = (a.choices for a in flags.parser()._actions if isinstance(a.choices, dict))
    options = {option for action in choices["crawl"]._actions for option in action.option_strings}
    return options - {"-h", "--help"}


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """What stands on standard error, which must be one line, with nothing on standard output."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("mercator: ")
    return err


def test_the_flags_of_crawl_are_those_of_the_interface() -> None:
    assert crawl_flags() == set(FLAGS.split())


@pytest.mark.parametrize("flag", NOT_YET.split())
def test_a_flag_that_does_not_work_yet_does_not_exist(run: Any, flag: str) -> None:
    assert run("crawl", "--store", "d", flag, "1") == 2


@pytest.mark.parametrize("command", ["audit", "release", "forget", "frame"])
def test_a_command_that_does_not_work_yet_does_not_exist(run: Any, command: str) -> None:
    assert run(command, "d") == 2


@pytest.mark.parametrize(
    ("argv", "field", "value"),
    [
        ("--scope any", "scope", "any"),
        ("--include a --include b", "include", ("a", "b")),
        ("--exclude a", "exclude", ("a",)),
        ("--max-pages 7", "max_pages", 7),
        ("--max-pages none", "max_pages", None),
        ("--max-depth 0", "max_depth", 0),
        ("--max-depth none", "max_depth", None),
        ("--max-pages-per-host none", "max_pages_per_host", None),
        ("--max-time 1.5", "max_time_s", 1.5),
        ("--max-time none", "max_time_s", None),
        ("--patience 2", "patience_s", 2.0),
        ("--threads 3", "threads", 3),
        ("--delay 0", "delay_s", 0.0),
        ("--delay-factor 0.5", "delay_factor", 0.5),
        ("--rate 20 --burst 3", "burst", 3),
        ("--rate none", "rate_per_s", None),
        ("--user-agent my-bot", "user_agent", "my-bot"),
        ("--contact me@example.org", "contact", "me@example.org"),
        ("--allow-net 127.0.0.0/8", "allow_net", ("127.0.0.0/8",)),
        ("--resolve *.test=127.0.0.1:8099", "resolve", ("*.test=127.0.0.1:8099",)),
        ("--url-policy aggressive", "url_policy", "aggressive"),
        ("--obey-nofollow none", "obey_nofollow", "none"),
        ("--content-types text/html,*xml,", "content_types", ("text/html", "*xml")),
        ("--max-body 10", "max_body_bytes", 10),
        ("--timeout 3", "timeout_s", 3.0),
        ("--max-redirects 0", "max_redirects", 0),
        ("--retries 0", "retries", 0),
        ("--retry-base 0.1", "retry_base_s", 0.1),
        ("--retry-cap 2", "retry_cap_s", 2.0),
        ("--warc", "warc", True),
        ("--no-warc", "warc", False),
        ("--compress none", "compress", "none"),
    ],
)
def test_a_flag_sets_its_field_and_no_other(
    run: Any, door: type[FakeCrawl], argv: str, field: str, value: object
) -> None:
    assert run("crawl", "--store", "d", *argv.split()) == 0
    config = door.made[0].config
    assert config is not None
    assert getattr(config, field) == value
    assert config.given == {field} | ({"rate_per_s"} if field == "burst" else set())


def test_flags_win_over_the_file_and_the_file_over_the_environment(
    run: Any, door: type[FakeCrawl], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERCATOR_CONTACT", "env@example.org")
    file = tmp_path / "c.toml"
    file.write_text("delay_s = 3\nthreads = 5\n")
    assert run("crawl", "--store", "d", "--config", str(file), "--threads", "9") == 0
    file.write_text('contact = "file@example.org"\n')
    assert run("crawl", "--store", "d", "--config", str(file)) == 0
    first, second = (made.config for made in door.made)
    assert first is not None
    assert second is not None
    assert (first.delay_s, first.threads, first.contact) == (3.0, 9, "env@example.org")
    assert second.contact == "file@example.org"


def test_seeds_come_from_the_line_and_from_the_file_in_order(
    run: Any, door: type[FakeCrawl], tmp_path: Path
) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("\ufeff# mine\nhttp://c.test/#x\r\n\n  http://d.test/  \n", encoding="utf-8")
    assert run("crawl", "http://a.test/", "--store", "d", "--seeds", str(file)) == 0
    assert run("crawl", "--store", "d", "http://a.test/") == 0
    assert run("crawl", "http://a.test/", "--store", "d", "http://b.test/", "--quiet") == 0
    assert [made.seeds for made in door.made] == [
        ["http://a.test/", "http://c.test/#x", "http://d.test/"],
        ["http://a.test/"],
        ["http://a.test/", "http://b.test/"],
    ]


def test_seeds_come_from_standard_input(
    run: Any, door: type[FakeCrawl], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"http://a.test/\n")))
    assert run("crawl", "--store", "d", "--seeds", "-") == 0
    assert door.made[0].seeds == ["http://a.test/"]


@pytest.mark.parametrize("content", [b"", b"# only\n\n", b"\xff\xfe\x00"])
def test_a_seed_file_without_seeds_is_an_error(
    run: Any, door: type[FakeCrawl], tmp_path: Path, capsys: Any, content: bytes
) -> None:
    file = tmp_path / "seeds.txt"
    file.write_bytes(content)
    assert run("crawl", "--store", "d", "--seeds", str(file)) == 2
    assert "seeds" in one_line(capsys)
    assert door.made == []


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("", "COMMAND"),
        ("craw --store d", "craw"),
        ("crawl", "--store"),
        ("crawl --store d --max-page 3", "did you mean '--max-pages'?"),
        ("crawl --store d --max-pages=3 --depth=3", "no option --depth; did you mean"),
        ("crawl --store d --max-pages many", "needs a whole number or none, not 'many'"),
        ("crawl --store d --delay none", "needs a number, not 'none'"),
        ("crawl --store d --delay -1", "--delay must be at least 0"),
        ("crawl --store d --delay nan", "--delay must be a finite number"),
        ("crawl --store d --max-pages 0", "--max-pages must be at least 1"),
        ("crawl --store d --burst 3", "--burst needs --rate"),
        ("crawl --store d --retry-base 9 --retry-cap 3", "--retry-cap must not be below --retry-b"),
        ("crawl --store d --warc --no-warc", "not allowed with"),
        ("crawl --store d --scope all", "--scope"),
        ("crawl --store d --compress zstd", "--compress"),
        ("crawl --store d --include (", "--include"),
        ("crawl --store d --allow-net home", "--allow-net"),
        ("crawl --store d --resolve home", "--resolve must read"),
        ("crawl --store d --user-agent me/1.0", "--user-agent must be"),
        ("crawl --store d --seeds /none/there", "/none/there"),
        ("crawl --store d --config /none/there", "/none/there"),
        ("status", "DIR"),
        ("status d e", "status"),
        ("export d rows", "rows"),
        ("export d pages --format csv", "csv"),
        ("explain d", "URL"),
        ("retry d --reason lost", "lost"),
    ],
)
def test_wrong_usage_is_one_line_and_opens_nothing(
    run: Any, door: type[FakeCrawl], capsys: Any, argv: str, says: str
) -> None:
    assert run(*argv.split()) == 2
    assert says in one_line(capsys)
    assert door.made == []


def test_an_unknown_configuration_key_names_the_nearest(
    run: Any, door: type[FakeCrawl], tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "c.toml"
    file.write_text("delay = 3\n")
    assert run("crawl", "--store", "d", "--config", str(file)) == 2
    assert "did you mean 'delay_s'?" in one_line(capsys)
    assert door.made == []


@pytest.mark.parametrize("argv", [["--help"], ["crawl", "--help"], ["--version"]])
def test_help_and_version_are_results(run: Any, capsys: Any, argv: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run(*argv)
    assert end.value.code == 0
    out, err = capsys.readouterr()
    assert "mercator" in out
    assert err == ""


def test_the_help_of_crawl_tells_every_default(run: Any, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        run("crawl", "--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "--max-pages-per-host N" in text
    assert "(default: 100000)" in text
    assert "from the end of a request (default: 1)" in text
    assert "key_url (default: none)" in text
    assert "sha256 (default: on)" in text
    assert "--no-warc" in text
    assert text.count("(default:") == len(flags.FLAGS)


def test_the_summary_as_json_is_alone_on_standard_output(
    run: Any, door: type[FakeCrawl], capsys: Any
) -> None:
    door.polls = 100
    assert run("crawl", "--store", "d", "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == door.ends.as_dict()
    assert out.count("\n") == 1
    assert err != ""


def test_a_person_gets_the_store_and_the_commands_to_look_at_it(
    run: Any, door: type[FakeCrawl], capsys: Any
) -> None:
    door.ends = Status(stored=1, pending=2, stop_reason="max_pages")
    assert run("crawl", "--store", "my store", "--quiet") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "max_pages" in out
    assert "python -m mercator export 'my store' pages" in out
    assert "python -m mercator crawl --store 'my store'" in out


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status(stored=1, failed=9, stop_reason="finished"), 0),
        (Status(stop_reason="finished"), 0),
        (Status(refused=4, redirects=1, stop_reason="finished"), 0),
        (Status(failed=1, stop_reason="finished"), 4),
        (Status(gone=1, stop_reason="finished"), 4),
        (Status(robots_refused=1, stop_reason="finished"), 4),
        (Status(pending=1, stop_reason="patience"), 4),
        (Status(stored=1, pending=1, stop_reason="patience"), 0),
        (Status(stored=1, pending=1, stop_reason="deadline"), 0),
        (Status(pending=1, stop_reason="deadline"), 4),
        (Status(stored=1, stop_reason="error"), 1),
        (Status(stored=1, stop_reason="disk_full"), 3),
    ],
)
def test_the_exit_code_follows_from_the_last_status(
    run: Any, door: type[FakeCrawl], status: Status, code: int
) -> None:
    door.ends = status
    assert run("crawl", "--store", "d") == code


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_crawl_once_and_its_summary_is_printed(
    run: Any, door: type[FakeCrawl], capsys: Any, number: int, code: int
) -> None:
    sent: list[int] = []

    def on_wait(crawl: FakeCrawl) -> None:
        if not sent:
            sent.append(number)
            os.kill(os.getpid(), number)

    door.polls = 5
    door.on_wait = on_wait
    door.ends = Status(stored=1, stop_reason="interrupted")
    before = signal.getsignal(number)
    assert run("crawl", "--store", "d", "--json") == code
    assert signal.getsignal(number) is before
    (crawl,) = door.made
    assert crawl.calls.count(("stop", "interrupted", False)) == 1
    assert crawl.calls[-2:] == [("stop", "interrupted", True), "status"]
    assert json.loads(capsys.readouterr().out)["stop_reason"] == "interrupted"


def test_a_second_signal_exits_at_once(
    run: Any, door: type[FakeCrawl], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(BaseException):
        pass

    def leave(code: int) -> None:
        raise Gone(code)

    monkeypatch.setattr(os, "_exit", leave)
    door.polls = 5
    door.on_wait = lambda crawl: os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Gone, match="143"):
        run("crawl", "--store", "d")


def test_a_signal_that_comes_after_the_end_changes_nothing(run: Any, door: type[FakeCrawl]) -> None:
    door.on_wait = lambda crawl: os.kill(os.getpid(), signal.SIGINT)
    assert run("crawl", "--store", "d") == 0


def test_progress_is_a_line_every_ten_seconds(run: Any, door: type[FakeCrawl], capsys: Any) -> None:
    door.polls = round(35 / cli.POLL_S)
    assert run("crawl", "--store", "d") == 0
    assert capsys.readouterr().err.count("1 stored") == 3


def test_the_log_goes_to_standard_error_while_the_crawl_runs_and_no_longer(
    run: Any, door: type[FakeCrawl], capsys: Any
) -> None:
    logger = logging.getLogger("mercator")
    before = list(logger.handlers)
    door.on_wait = lambda crawl: logger.warning("the disk is slow")
    assert run("crawl", "--store", "d", "--json") == 0
    out, err = capsys.readouterr()
    assert "WARNING the disk is slow" in err
    assert "slow" not in out
    assert logger.handlers == before


def test_quiet_silences_progress(run: Any, door: type[FakeCrawl], capsys: Any) -> None:
    door.polls = round(35 / cli.POLL_S)
    assert run("crawl", "--store", "d", "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_on_a_terminal_progress_is_one_line_rewritten(
    run: Any, door: type[FakeCrawl], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    door.polls = round(3 / cli.POLL_S)
    assert run("crawl", "--store", "d") == 0
    err = capsys.readouterr().err
    assert err.count("\r\x1b[K") == 4
    assert "\n" not in err


def test_a_crawl_outlives_whoever_read_its_progress(
    run: Any, door: type[FakeCrawl], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    door.polls = round(35 / cli.POLL_S)
    monkeypatch.setattr(sys, "stderr", Gone())
    assert run("crawl", "--store", "d") == 0
    assert door.made[0].left < 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("'x' is no URL"), 2),
        (ConfigError("url_policy is fixed"), 2),
        (StoreInUseError("process 7 has it open", pid=7), 3),
        (StoreMissingError("there is no store"), 3),
        (MercatorError("not now"), 1),
    ],
)
@pytest.mark.parametrize("call", ["make", "start"])
def test_an_error_before_the_crawl_is_one_line(
    run: Any, door: type[FakeCrawl], capsys: Any, error: Exception, code: int, call: str
) -> None:
    door.raises[call] = error
    assert run("crawl", "http://a.test/", "--store", "d", "--json") == code
    assert one_line(capsys).endswith(str(error).replace("url_policy", "--url-policy") + "\n")


def test_a_crawl_that_fails_reports_where_and_prints_its_summary(
    run: Any, door: type[FakeCrawl], capsys: Any
) -> None:
    error = CrawlFailedError("the writer died")
    error.__cause__ = ZeroDivisionError("by zero")
    door.raises["wait"] = error
    assert run("crawl", "--store", "d", "--json") == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["stored"] == 1
    assert "ZeroDivisionError: by zero" in err
    assert err.splitlines()[-1].startswith("mercator: a fault of mercator itself")


@pytest.mark.parametrize("argv", ["crawl --store d", "status d"])
def test_a_fault_is_reported_with_its_place(
    run: Any, door: type[FakeCrawl], capsys: Any, argv: str
) -> None:
    door.raises["status"] = RuntimeError("a bug")
    assert run(*argv.split()) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" in err
    assert "a fault of mercator itself" in err


def test_a_full_disk_is_no_fault_of_the_program(
    run: Any, door: type[FakeCrawl], capsys: Any
) -> None:
    door.raises["status"] = OSError(28, "No space left on device")
    assert run("status", "d") == 3
    assert "disk is full" in one_line(capsys)


def test_an_interrupt_without_a_crawl_leaves_no_traceback(
    run: Any, door: type[FakeCrawl], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(argv: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parsed", interrupt)
    assert run("status", "d") == 130
    assert one_line(capsys) == "mercator: interrupted\n"


def test_status_for_a_person_names_what_the_rest_will_cost(
    run: Any, door: type[FakeCrawl], capsys: Any
) -> None:
    door.ends = Status(pending=7203)
    assert run("status", "d") == 0
    out = capsys.readouterr().out
    assert out.startswith("Status\n")
    assert "2:00:00 more" in out
    assert "h2.test has 7200 URLs" in out


def test_status_as_json(run: Any, door: type[FakeCrawl], capsys: Any) -> None:
    assert run("status", "d", "--json") == 0
    assert json.loads(capsys.readouterr().out) == door.ends.as_dict()


def test_every_reader_closes_what_it_opened(run: Any, door: type[FakeCrawl]) -> None:
    for argv in ("status d", "export d links", "explain d u", "body d u", "check d", "retry d"):
        run(*argv.split())
    assert len(door.made) == 6
    for crawl in door.made:
        assert crawl.calls[0] == "open"
        assert crawl.calls[-1] == ("stop", "interrupted", True)
        assert "start" not in crawl.calls


LINKS = (
    '{"source": "s", "target": "ü", "kind": "a", "rel": null, "anchor": null}\n'
    '{"source": "s", "target": "ü", "kind": "img", "rel": null, "anchor": null}\n'
)


def test_export_writes_json_lines(run: Any, capsys: Any) -> None:
    assert run("export", "d", "links", "--format", "jsonl") == 0
    assert capsys.readouterr() == (LINKS, "")


def test_export_into_a_file(run: Any, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "links.jsonl"
    assert run("export", "d", "links", "--output", str(file)) == 0
    assert file.read_text(encoding="utf-8") == LINKS
    assert [path.name for path in tmp_path.iterdir()] == ["links.jsonl"]
    assert capsys.readouterr() == ("", "")


def test_export_into_a_folder_that_is_not_there(run: Any, tmp_path: Path, capsys: Any) -> None:
    assert run("export", "d", "links", "--output", str(tmp_path / "no" / "links")) == 2
    assert "cannot write" in one_line(capsys)


def test_explain_tells_the_story(run: Any, capsys: Any) -> None:
    assert run("explain", "d", "http://a.test/") == 0
    assert capsys.readouterr().out.splitlines() == [
        "http://a.test/",
        "stored ü",
        "found: it is a seed",
    ]


def test_explain_of_a_url_that_was_never_seen_exits_1(run: Any, capsys: Any) -> None:
    assert run("explain", "d", "http://never.test/", "--json") == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["state"] == "unknown"
    assert err == ""


def test_letters_that_the_terminal_lacks_are_escaped(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert run("explain", "d", "http://a.test/") == 0
    out.flush()
    assert b"stored \\xfc" in raw.getvalue()


def test_body_is_bytes(run: Any, capsysbinary: Any) -> None:
    assert run("body", "d", "http://a.test/") == 0
    assert capsysbinary.readouterr().out == b"\x00\xffbody"


def test_check_lists_what_it_found(run: Any, door: type[FakeCrawl], capsys: Any) -> None:
    assert run("check", "d") == 3
    assert "a lost body" in capsys.readouterr().out
    assert run("check", "d", "--repair") == 0
    assert "whole" in capsys.readouterr().out


def test_retry_says_how_many(run: Any, door: type[FakeCrawl], capsys: Any) -> None:
    assert run("retry", "d", "--reason", "timeout") == 0
    assert ("retry", "timeout") in door.made[0].calls
    assert re.match(r"12 URLs", capsys.readouterr().out)


DOOR = """
import itertools, sys
from mercator import cli
from mercator.records import LinkRecord, Status
link = LinkRecord(source='s', target='t', kind='a', rel=None, anchor=None)
class Door:
    def __init__(self, *args):
        sys.stdin.read()
    open = classmethod(lambda cls, store: cls())
    start = lambda self: None
    wait = lambda self, timeout_s: True
    stop = lambda self: None
    status = lambda self: Status(stop_reason='finished', failed=1)
    links = lambda self: itertools.repeat(link)
sys.exit(cli.main(sys.argv[1:], crawl_class=Door))
"""


@pytest.mark.parametrize(
    ("argv", "read_first", "code"),
    [
        ("export d links", True, 0),
        ("export d links", False, 0),
        ("status d", False, 0),
        ("crawl --store d", False, 4),
        ("crawl --store d --json", False, 4),
    ],
)
def test_a_reader_that_has_gone_is_no_error(argv: str, read_first: bool, code: int) -> None:
    # Unbuffered output would leave nothing to be flushed at the exit, where the trouble lies.
    environment = {name: v for name, v in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [sys.executable, "-c", DOOR, *argv.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        if read_first:
            process.stdin.close()
            assert process.stdout.readline().startswith(b'{"source"')
        process.stdout.close()
        process.stdin.close()
        assert process.wait(timeout=60) == code
        assert process.stderr.read() == b""
