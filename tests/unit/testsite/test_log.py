from __future__ import annotations

import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testsite.client import Client
from testsite.fixture import Site
from testsite.log import FLUSH_S, Log, parse_lines, read_log
from testsite.loop import Loop


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(host=st.text(max_size=20), path=st.text(max_size=40))
def test_any_host_and_path_survive_the_log(host: str, path: str) -> None:
    loop = Loop()
    log = Log(loop, keep=True)
    log.add(1.5, 2.25, host, path, 200, "127.0.0.1:9")
    (line,) = log.lines()
    log.close()
    loop.close()
    assert line.isascii()
    assert line.count("\n") == 1
    assert parse_lines([line]) == [
        {"t": 1.5, "t_end": 2.25, "host": host, "path": path, "status": 200, "peer": "127.0.0.1:9"}
    ]


def test_lines_reach_the_file_by_themselves(tmp_path: Path) -> None:
    loop = Loop()
    log = Log(loop, tmp_path / "log")
    log.add(1.0, 2.0, "h", "/", 200, "p")
    assert read_log(tmp_path / "log") == []
    loop.call_later(2 * FLUSH_S, loop.stop)
    loop.run()
    assert len(read_log(tmp_path / "log")) == 1
    log.close()
    loop.close()


def test_close_flushes_and_an_old_file_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("old\n")
    loop = Loop()
    log = Log(loop, path)
    for n in range(1000):
        log.add(n, n, "h", f"/{n}", 200, "p")
    log.close()
    log.close()
    loop.close()
    assert [entry["path"] for entry in read_log(path)] == [f"/{n}" for n in range(1000)]


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    loop = Loop()
    log = Log(loop, path)
    log.add(1.0, 2.0, "h", "/", 200, "p")
    log.close()
    loop.close()
    whole = path.read_text()
    path.write_text(whole + whole[:-3])
    assert len(read_log(path)) == 1


def test_asking_for_the_status_flushes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Site(log_path=path) as site, Client(site.port) as client:
        for n in range(10):
            client.get(f"/page/{n}")
        asked = json.loads(client.get("/status").body)["requests"]
        assert asked == len(read_log(path)) == 10
    assert [entry["path"] for entry in read_log(path)][-1] == "/status"


def test_memory_and_file_tell_the_same(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Site(log_path=path) as site, Client(site.port) as client:
        for n in range(5):
            client.get(f"/page/{n}")
        client.send("/hang/1")
        assert site.status()["in_flight"] == 1
    assert read_log(path) == site.entries()
    assert [entry["status"] for entry in site.entries()] == [200] * 5 + [0]
