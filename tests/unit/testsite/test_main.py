from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testsite.checks import CHECKS, OPTIONS
from testsite.client import Client
from testsite.fixture import Site
from testsite.load import page_requests, run
from testsite.log import read_log
from testsite.process import running


def started(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "testsite", *options], capture_output=True, text=True, timeout=60
    )


def test_it_says_where_it_listens_and_ends_with_a_complete_log(tmp_path: Path) -> None:
    with running(tmp_path, "--hosts", "2", "--pages", "3") as site, Client(site.port) as client:
        assert client.get("/page/2", "h0001.test").status == 200
        assert client.get("/page/3", "h0001.test").status == 404
        client.send("/hang/1")
        assert b'"in_flight": 2' in site.ask("/status", "status.test")[1]
        site.process.send_signal(signal.SIGTERM)
        assert site.process.wait(20) == 0
    entries = [(entry["path"], entry["status"]) for entry in read_log(site.log_path)]
    assert entries == [("/page/2", 200), ("/page/3", 404), ("/status", 200), ("/hang/1", 0)]


def test_sigint_ends_it_in_good_order(tmp_path: Path) -> None:
    with running(tmp_path) as site:
        site.process.send_signal(signal.SIGINT)
        assert site.process.wait(20) == 0


def test_tls_is_named_on_the_line() -> None:
    command = [sys.executable, "-m", "testsite", "--port", "0", "--tls-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        ca_path = Path(line.split("ca=")[1].strip())
        assert " tls=127.0.0.1:" in line
        assert ca_path.exists()
        process.terminate()
    assert process.returncode == 0
    assert not ca_path.exists()


def test_a_port_that_is_taken_is_one_clear_line(site: Site) -> None:
    ended = started("--port", str(site.port))
    assert ended.returncode == 2
    assert ended.stderr.startswith("testsite: cannot start: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        ("--hosts", "0"),
        ("--pages", "0"),
        ("--size", "9"),
        ("--port", "70000"),
        ("--port", "0", "--log", "/nowhere/at/all"),
        ("--latency-ms", "-1"),
        ("--unknown",),
    ],
)
def test_wrong_usage_ends_with_2(options: tuple[str, ...]) -> None:
    ended = started(*options)
    assert ended.returncode == 2
    assert ended.stdout == ""


def test_the_load_generator_counts_what_it_asks(site: Site) -> None:
    load = run(site.port, page_requests(3, 12), clients=4, count=72)
    assert (load.requests, load.bad) == (72, 12)  # pages 10 and 11 do not exist
    assert load.bytes > 60 * 7000
    assert len(site.entries()) == 72
    assert len({entry["peer"] for entry in site.entries()}) == 4


@pytest.mark.long
def test_the_checks_of_the_self_test_hold(tmp_path: Path) -> None:
    with running(tmp_path, *OPTIONS) as site:
        for check in CHECKS:
            check(site)
