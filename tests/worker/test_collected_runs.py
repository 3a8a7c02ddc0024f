"""Real nodes print their streams; what `kubectl logs` would show of them gives the run that node 0 has."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import NCCLTOOL, Command, Ended
from tests.support.streams import forms
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

LIMIT_S = 120.0
SMALL = ("--op", "all_reduce,broadcast", "--sizes", "1KiB,64KiB", "-n", "200", "--timeout", "6", "--events")
COLLECT = (*NCCLTOOL, "collect")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pair(start: Start, *words: str, **env: str) -> tuple[Ended, Ended]:
    """Node 0 and node 1 of a run, as two pods would be."""
    place = ("--nodes", "2", "--rdzv-endpoint", f"127.0.0.1:{free_port()}", *SMALL, *words)
    nodes: list[Command] = [start(*place, "--node-rank", str(node), **env) for node in (0, 1)]
    first, second = (node.wait(LIMIT_S) for node in nodes)
    return first, second


def lines(ended: Ended) -> list[bytes]:
    """Standard output and standard error, as the log of a container has both."""
    return [line.encode() + b"\n" for line in (ended.stdout + ended.stderr).splitlines()]


@pytest.fixture
def collected(start: Start, tmp_path: Path) -> Callable[..., Ended]:
    def collect(data: bytes, *words: str) -> Ended:
        file = tmp_path / "pods.log"
        file.write_bytes(data)
        return start(str(file), *words, argv=COLLECT).wait(LIMIT_S)

    return collect


Collect = Callable[..., Ended]
FORMS = ("one pod after the other", "--prefix --timestamps", "colours", "other lines")


def test_a_good_run(start: Start, collected: Collect) -> None:
    first, second = pair(start)
    assert (first.code, second.code) == (0, 0), first.said + second.said
    for form in FORMS:
        again = collected(forms([lines(first), lines(second)])[form])
        assert (again.code, again.document) == (0, first.document), again.said
        assert again.run.name == first.run.name
        # the table of node 0 stands behind its stream
        assert first.stdout.endswith(again.stdout)
    document = collected(forms([lines(first), lines(second)])["in turn"], "--format", "json")
    assert json.loads(document.stdout) == first.document


@pytest.mark.parametrize(
    ("fault", "words", "code"),
    [
        ("kill:rank=1,size=64KiB", (), 3),
        pytest.param("raise:rank=1,op=broadcast", (), 3, marks=pytest.mark.slow),
        pytest.param("corrupt:rank=1", (), 1, marks=pytest.mark.slow),
        pytest.param("", ("--min-busbw", "10000"), 1, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_went_wrong(
    fault: str, words: tuple[str, ...], code: int, start: Start, collected: Collect
) -> None:
    first, second = pair(start, *words, NCCLTOOL_FAULT=fault)
    assert first.code == code, first.said
    again = collected(forms([lines(first), lines(second)])["--prefix"])
    assert (again.code, again.document) == (code, first.document), again.said


def test_a_node_that_never_came(start: Start, collected: Collect) -> None:
    place = ("--nodes", "2", "--node-rank", "0", "--rdzv-endpoint", f"127.0.0.1:{free_port()}")
    alone = start(*place, "--join-timeout", "3", *SMALL).wait(LIMIT_S)
    assert (alone.code, list(alone.findings)) == (3, ["node-missing"]), alone.said
    again = collected(b"".join(lines(alone)))
    assert (again.code, again.document) == (3, alone.document), again.said


def test_all_nodes_by_one_command(start: Start, collected: Collect) -> None:
    alone = start("--nodes", "2", *SMALL).wait(LIMIT_S)
    assert alone.code == 0, alone.said
    assert collected(b"".join(lines(alone))).document == alone.document


def test_without_the_log_of_a_pod(start: Start, collected: Collect) -> None:
    first, second = pair(start)
    again = collected(b"".join(lines(second)))
    assert (again.code, list(again.findings)) == (3, ["stream-missing"]), again.said
    assert again.document["run"]["id"] == first.document["run"]["id"]
