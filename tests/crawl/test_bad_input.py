"""What a person gets wrong: one line on standard error, the right exit code, nothing written."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from mercator import Crawl, cli
from tests.crawl.command import END_S, local, mercator, one_line, started, summary
from tests.crawl.whole import judge, pages, run, served, until
from testsite.fixture import Site

SEED = "http://h0000.test/"
Main = Callable[..., tuple[int, str, str]]


@pytest.fixture
def main(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command line inside this process: exit code, standard output, standard error."""
    monkeypatch.delenv("MERCATOR_CONTACT", raising=False)

    def call(*argv: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main([str(arg) for arg in argv])
        return (code, *capsys.readouterr())

    return call


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "there is no store"),
        (["nonsense"], "'nonsense' is no URL"),
        (["example.org"], "did you mean https://example.org"),
        (["http://[::bad/"], "is no URL"),
        ([SEED, "--max-pagse", "3"], "did you mean '--max-pages'"),
        ([SEED, "--max-pages", "many"], "--max-pages"),
        ([SEED, "--max-pages", "0"], "--max-pages must be at least 1"),
        ([SEED, "--delay", "-1"], "--delay must be at least 0"),
        ([SEED, "--delay", "nan"], "--delay must be a finite number"),
        ([SEED, "--scope", "world"], "--scope"),
        ([SEED, "--include", "("], "--include"),
        ([SEED, "--allow-net", "300.0.0.0/8"], "--allow-net"),
        ([SEED, "--resolve", "h0000.test"], "--resolve"),
        ([SEED, "--resolve", "*.test=127.0.0.1:99999"], "--resolve"),
        ([SEED, "--user-agent", "two words"], "--user-agent"),
        ([SEED, "--retry-base", "9", "--retry-cap", "3"], "--retry-cap"),
        ([SEED, "--burst", "5"], "--burst"),
        ([SEED, "--warc", "--no-warc"], "--no-warc"),
        ([SEED, "--config", "missing.toml"], "missing.toml"),
        ([SEED, "--seeds", "missing.txt"], "missing.txt"),
        (["http://real.example.org/"], "give a contact"),
    ],
)
def test_wrong_usage_writes_nothing(main: Main, tmp_path: Path, argv: list[str], says: str) -> None:
    store = tmp_path / "store"
    resolve = [] if "--resolve" in argv else ["--resolve", "*.test=127.0.0.1:1"]
    code, out, err = main("crawl", *argv, "--store", store, *resolve)
    assert says in one_line(err)
    assert (code, out) == (3 if not argv else 2, "")
    assert not store.exists()


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n  # comments\n", "\ufeff"])
def test_a_seed_file_without_seeds(main: Main, tmp_path: Path, text: str) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(text, encoding="utf-8")
    code, out, err = main("crawl", "--store", tmp_path / "store", "--seeds", seeds)
    assert "hold no URL" in one_line(err)
    assert (code, out) == (2, "")
    assert os.listdir(tmp_path) == ["seeds.txt"]


def test_a_seed_file_that_is_no_text(main: Main, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_bytes(b"\xff\xfe\x00garbage")
    code, _, err = main("crawl", "--store", tmp_path / "store", "--seeds", seeds)
    assert (code, "cannot read the seeds" in one_line(err)) == (2, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_pagse = 3\n", "did you mean 'max_pages'"),
        ("max_pages = 'many'\n", "--max-pages"),
        ("max_pages = \n", "cannot read the configuration"),
        ("[crawl]\nmax_pages = 3\n", "unknown configuration key 'crawl'"),
        ("retries = 1.5\n", "--retries"),
    ],
)
def test_a_configuration_file_that_is_wrong(
    main: Main, tmp_path: Path, text: str, says: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text, encoding="utf-8")
    code, out, err = main("crawl", SEED, "--store", tmp_path / "store", "--config", config)
    assert says in one_line(err)
    assert (code, out) == (2, "")
    assert os.listdir(tmp_path) == ["config.toml"]


READERS = (
    ("status",),
    ("export", "pages"),
    ("explain", SEED),
    ("body", SEED),
    ("check",),
    ("retry",),
)


@pytest.mark.parametrize("command", [("crawl", SEED), *READERS], ids=lambda c: c[0])
def test_a_store_that_is_a_file(main: Main, tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "file"
    path.write_text("precious")
    argv = _with_store(command, path)
    code, out, err = main(*argv)
    assert "is a file" in one_line(err)
    assert (code, out, path.read_text()) == (3, "", "precious")


@pytest.mark.parametrize("command", [("crawl",), *READERS], ids=lambda c: c[0])
def test_a_store_that_is_not_there(main: Main, tmp_path: Path, command: tuple[str, ...]) -> None:
    code, out, err = main(*_with_store(command, tmp_path / "store"))
    assert "there is no store at" in one_line(err)
    assert (code, out) == (3, "")
    assert os.listdir(tmp_path) == []


def test_a_folder_with_other_things_in_it(main: Main, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    code, _, err = main(*_with_store(("crawl", SEED), tmp_path))
    assert (code, "thesis.tex" in one_line(err)) == (3, True)
    assert os.listdir(tmp_path) == ["thesis.tex"]


@pytest.mark.parametrize("damage", ["version", "json", "types", "missing", "tables"])
@pytest.mark.parametrize("command", [("crawl",), *READERS], ids=lambda c: c[0])
def test_a_store_that_cannot_be_read_is_left_as_it_is(
    main: Main, site: Site, tmp_path: Path, damage: str, command: tuple[str, ...]
) -> None:
    store = tmp_path / "store"
    run(site, store, ["http://h0000.test/page/1"], max_depth=0)
    path = store / "store.json"
    fields = json.loads(path.read_text())
    if damage == "version":
        path.write_text(json.dumps({**fields, "format_version": 999}))
    elif damage == "json":
        path.write_text("{")
    elif damage == "types":
        path.write_text(json.dumps({**fields, "shards": "one"}))
    elif damage == "missing":
        path.unlink()
    else:
        data = store / "shards" / "0000" / "data.mdb"
        data.write_bytes(b"not a database" * 1000)
    before = _content(store)
    code, out, err = main(*_with_store(command, store))
    line = one_line(err)
    assert (code, out) == (3, "")
    assert "999" in line if damage == "version" else str(store) in line
    assert _content(store) == before


def test_a_store_in_use_names_the_process(
    main: Main, site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=1, pages=20)
    store = tmp_path / "store"
    flags = local(site, "--quiet", "--json", delay_s=0.2)
    with started("crawl", SEED, "--store", store, *flags) as process:
        until(lambda: len(served(site)) >= 1)
        for command in (("crawl",), ("check",), ("retry",)):
            code, out, err = main(*_with_store(command, store))
            assert f"process {process.pid}" in one_line(err)
            assert (code, out) == (3, "")
        code, out, _ = main("status", store, "--json")
        assert (code, summary(out)["stop_reason"]) == (0, None)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=END_S)
        assert (process.returncode, err) == (130, "")
        assert summary(out)["stop_reason"] == "interrupted"
    judge(Crawl(store), site, 0.2)


def test_json_is_alone_on_standard_output_and_quiet_is_quiet(site: Site, tmp_path: Path) -> None:
    line = mercator("crawl", SEED, "--store", tmp_path / "a", "--json", "--quiet", *local(site))
    assert (line.returncode, line.stderr) == (0, "")
    assert line.stdout.count("\n") == 1
    told = summary(line.stdout)
    assert told == Crawl(tmp_path / "a").status().as_dict()
    assert told["reasons"]["robots_refused"] == told["robots_refused"] > 0


def test_a_map_that_is_full_ends_with_exit_3_and_a_whole_store(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    site = site_factory(hosts=10, pages=60)
    store, config = tmp_path / "store", tmp_path / "config.toml"
    config.write_text(f"map_bytes = {1 << 20}\n")
    line = mercator(
        *("crawl", SEED, "--store", store, "--scope", "any", "--config", config, "--json"),
        *local(site, delay_s=0.001),
    )
    assert line.returncode == 3, line.stderr
    assert "map_bytes" in one_line(line.stderr)
    assert summary(line.stdout)["stop_reason"] == "disk_full"
    judge(Crawl(store), site, 0.001)
    before = set(pages(Crawl(store)))
    config.write_text(f"map_bytes = {1 << 28}\n")
    again = mercator("crawl", "--store", store, "--config", config, "--json")
    assert again.returncode == 0, again.stderr
    assert before <= set(pages(Crawl(store))) == set(site.web.reachable(SEED).pages)
    judge(Crawl(store), site, 0.001)


def test_a_disk_that_is_full_ends_with_exit_3_and_a_whole_store(
    site_factory: Callable[..., Site], tmp_path: Path
) -> None:
    """A limit on the size of files stands for the disk: WARC files meet it first."""
    site = site_factory(hosts=2, pages=40, size_kb=30)
    store = tmp_path / "store"

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    flags = local(site, "--scope", "any", "--json", delay_s=0.01)
    config = tmp_path / "config.toml"
    config.write_text(f"map_bytes = {1 << 28}\n")
    first = mercator(
        "crawl", SEED, "--store", store, *flags, "--max-pages", "1", "--config", config
    )
    assert first.returncode == 0, first.stderr
    line = mercator(
        "crawl", "--store", store, "--max-pages", "none", "--json", preexec_fn=small_files
    )
    assert line.returncode == 3, line.stderr
    one_line(line.stderr)
    judge(Crawl(store), site, 0.01)
    again = mercator("crawl", "--store", store, "--json")
    assert again.returncode == 0, again.stderr
    assert set(pages(Crawl(store))) == set(site.web.reachable(SEED).pages)
    judge(Crawl(store), site, 0.01)


def _with_store(command: tuple[str, ...], store: Path) -> list[str | Path]:
    if command[0] == "crawl":
        return [*command, "--store", store, "--resolve", "*.test=127.0.0.1:1"]
    return [command[0], store, *command[1:]]


def _content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("lock", "lock.mdb")
    }
