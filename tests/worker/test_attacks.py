"""A stranger at the port of a real run: nothing of the result changes, and the stranger is counted."""

import socket
from pathlib import Path

import pytest
from benchmarks import attacks
from benchmarks.strangers import ATTACKS

from tests.support.commands import Command
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

LIMIT_S = 120.0
QUICK = (
    "a forged verdict: rank 1 was killed",
    "what a process of the run has sent, again",
    "a flood of connections",
)
SMALL = ("--op", "all_reduce", "--sizes", "1KiB", "-n", "4", "--nproc-per-node", "1")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in ATTACKS]
)
def test_an_attack(name: str) -> None:
    outcome = attacks.under(ATTACKS[name])
    assert outcome.is_unharmed, (outcome.codes, outcome.document.get("findings"))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def test_commands_of_somebody_else_at_the_same_port(start: Start, tmp_path: Path) -> None:
    """A second node 1 is refused, a second node 0 finds the port taken, and the run goes on with its own."""
    place = ("--nodes", "2", "--rdzv-endpoint", f"127.0.0.1:{free_port()}", *SMALL)

    def node(number: int, owner: str) -> Command:
        file = tmp_path / owner
        file.touch(mode=0o600)
        file.write_text(owner * 8)
        return start(*place, "--node-rank", str(number), "--rdzv-secret-file", str(file))

    ours = [node(0, "ours")]
    theirs = [node(1, "theirs")]
    refused = theirs[0].wait(LIMIT_S)
    assert (refused.code, list(refused.findings)) == (3, ["rdzv-secret"]), refused.said
    theirs.append(node(0, "theirs"))
    taken = theirs[1].wait(LIMIT_S)
    assert (taken.code, list(taken.findings)) == (3, ["port-in-use"]), taken.said
    ours.append(node(1, "ours"))
    first, second = (command.wait(LIMIT_S) for command in ours)
    assert (first.code, second.code) == (0, 0), first.said + second.said
    assert "strangers-refused" in first.findings
    assert first.document["exit_code"] == 0
