"""Probing again and again: the command line of one run, and the loop as a user starts it."""

import json
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.launch.job import run_dir as run_dir_of
from nccltool.monitor import probe_loop
from nccltool.probe.document import to_json
from tests import samples
from tests.lab.monitoring import free_port, get
from tests.support.commands import Command, until

LIMIT_S = 90.0


@pytest.mark.parametrize(
    ("words", "single"),
    [
        (["probe", "--loop", "10min"], ["probe"]),
        (["probe", "--loop=10min", "--nodes", "2"], ["probe", "--nodes", "2"]),
        (["probe", "--serve", ":9779", "-b", "8", "--loop", "1h"], ["probe", "-b", "8"]),
        (["probe", "--sizes", "8", "--serve=:9779"], ["probe", "--sizes", "8"]),
        (["probe", "--cluster", "eu", "--loop", "1h", "--metrics", "x"], ["probe", "--metrics", "x"]),
    ],
)
def test_a_single_run_has_not_our_options(words: list[str], single: list[str]) -> None:
    assert probe_loop.single(words) == single


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--serve", ":9779"], "--serve requires --loop"),
        (["--loop", "soon"], "is not a duration"),
        (["--loop", "1s"], "is too short"),
        (["--loop", "10min", "--op", "nothing"], "unknown operation 'nothing'"),
    ],
)
def test_bad_words(nccltool: Callable[..., object], options: list[str], message: str) -> None:
    said = nccltool("probe", *options)
    assert (said.code, message in said.err) == (2, True)  # type: ignore[attr-defined]


def test_not_inside_a_job_of_a_launcher(nccltool: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "RANK": "0",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
    }.items():
        monkeypatch.setenv(name, value)
    said = nccltool("probe", "--loop", "10min")
    assert (said.code, "must end" in said.err) == (2, True)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("size", "calls", "share"),
    [(2**10, 5, "timed calls of 5 KiB, 0.0512 MB/s"), (2**20, 100, "timed calls of 100 MiB, 1.05e+03 MB/s")],
)
def test_the_share_of_a_small_run_is_not_nothing(tmp_path: Path, size: int, calls: int, share: str) -> None:
    folder = run_dir_of(tmp_path, samples.job())
    row = samples.measurement(bytes=size, iterations=calls)
    folder.finish(to_json(replace(samples.good_run(), measurements=(row,))))
    folder.close()
    loop = probe_loop.ProbeLoop(words=(), every_s=0.1, listen=None, base=tmp_path, say=print)
    assert share in loop._share(0, 0.05)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_measures_serves_and_leaves_nothing(tmp_path: Path, number: signal.Signals, code: int) -> None:
    port = free_port()
    argv = [sys.executable, "-m", "nccltool", "probe", "--nodes", "2", "--op", "all_reduce", "--sizes", "1KiB"]
    with Command([*argv, "-n", "5", "--loop", "5s", "--serve", f"127.0.0.1:{port}"], tmp_path) as command:

        def two_runs() -> bool:
            runs = json.loads(get(port, "/runs") or '{"runs": []}')["runs"]
            return len(runs) >= 2

        assert until(two_runs, LIMIT_S)
        assert "nccltool_bus_bandwidth_bytes_per_second{" in get(port, "/metrics")
        command.send(number)
        ended = command.wait(LIMIT_S)
        assert ended.code == code, ended.said
        assert command.everything_gone()
        assert "on average" in ended.stderr


@pytest.mark.torch
@pytest.mark.slow
def test_a_server_that_cannot_begin_ends_it(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "nccltool", "probe", "--nodes", "2", "--loop", "1h", "--serve", "192.0.2.1:9"]
    with Command(argv, tmp_path) as command:
        ended = command.wait(LIMIT_S)
        assert ended.code == 2, ended.said
        assert "Cannot assign requested address" in ended.stderr
        assert command.everything_gone()
