"""A training under torchrun's elastic agents: one is killed, another joins, and losses stay right."""

import json
import os
import re
import shlex
import signal
import socket
from pathlib import Path

import pytest

from tests.support.commands import NCCLTOOL, TORCHRUN, Command, until

pytestmark = [pytest.mark.torch, pytest.mark.slow]
LIMIT_S = 240.0
STEP = re.compile(r"ddp +step (\d+) .* loss (\S+)  reference (\S+)")
# without it, ranks of a round read in the store what those of the round before wrote there
OWN_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
SOON = "last_call_timeout=2,keep_alive_interval=1,keep_alive_max_attempt=3"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def agent(name: str, port: int, folder: Path, has_store: bool = False, drill: str = "") -> Command:
    """Which of them has the store is said: of two agents on one host, it would be the one that is faster.

    `drill`: of its second rank, whatever number that gets.
    """
    train = (
        *(*NCCLTOOL, "train", "ddp", "--steps", "5000", "--time-steps", "0", "--momentum", "0.9"),
        *("--checkpoint", str(folder / "checkpoints"), "--checkpoint-every", "3"),
    )
    fault = f'[ "$LOCAL_RANK" = 0 ] || export NCCLTOOL_FAULT={drill}:rank=$RANK; ' if drill else ""
    argv = (
        *(*TORCHRUN, "--nnodes", "1:2", "--nproc-per-node", "2", "--max-restarts", "3", "--rdzv-backend", "c10d"),
        *("--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "elastic"),
        *("--rdzv-conf", f"{SOON},is_host={str(has_store).lower()}"),
        *("--no-python", "bash", "-c", f"{fault}exec {shlex.join(train)}"),
    )
    return Command(argv, folder / name, env=OWN_STORE)


def newest(folder: Path) -> tuple[int, int]:
    """(ranks, step) of the newest checkpoint."""
    for mark in sorted((folder / "checkpoints/ddp").glob("step-*/complete.json"), reverse=True):
        try:
            saved = json.loads(mark.read_text())
        except FileNotFoundError:  # it made room for a newer one
            continue
        return saved["ranks"], saved["step"]
    return 0, 0


def said(*agents: Command) -> str:
    return "".join((one.folder / name).read_text() for one in agents for name in ("stdout", "stderr"))


def test_a_lost_agent_and_a_new_one_change_no_loss(tmp_path: Path) -> None:
    port = free_port()
    with agent("first", port, tmp_path, has_store=True) as first:
        with agent("lost", port, tmp_path) as lost:
            # of a job that dies amid its first checkpoint, nobody knows how far it came
            assert until(lambda: newest(tmp_path) >= (4, 6), LIMIT_S), said(first, lost)
            for pid in lost.living():
                os.kill(pid, signal.SIGKILL)
        assert until(lambda: newest(tmp_path)[0] == 2, LIMIT_S), said(first, lost)
        with agent("new", port, tmp_path) as new:
            assert until(lambda: newest(tmp_path)[0] == 4, LIMIT_S), said(first, new)
            text = said(first, lost, new)
    steps = STEP.findall(text)
    assert all(abs(float(loss) - float(alone)) < 1e-3 for _, loss, alone in steps)
    assert "train-wrong" not in text
    smaller = re.search(r"after step (\d+), saved by 4 ranks: .* 16 sequences, 8 on each of 2 ranks", text)
    assert smaller is not None, text
    assert {int(step) for step, *_ in steps} >= set(range(1, int(smaller[1]) + 2))
    assert re.search(r"(no step|\d+ steps?) lost; \S+ \S+ since the last step", text), text


@pytest.mark.parametrize(
    ("drill", "wrong"),
    [
        ("lose", r"the gradient of all ranks \(the part from rank [13] is wrong\) differs"),
        ("forget", "the updated parameters of rank [13] differ"),
    ],
)
def test_a_fault_that_comes_with_a_new_agent_is_found(drill: str, wrong: str, tmp_path: Path) -> None:
    """A rank whose share of the data is dropped, or that has no state of the optimizer, since it joined."""
    port = free_port()
    with agent("first", port, tmp_path, has_store=True) as first:
        assert until(lambda: newest(tmp_path)[0] == 2, LIMIT_S), said(first)
        assert "train-wrong" not in said(first)
        with agent("new", port, tmp_path, drill=drill) as new:
            found = re.compile(f"^ERROR train-wrong: ddp: {wrong} from the reference in step", re.MULTILINE)
            assert until(lambda: bool(found.search(said(first, new))), LIMIT_S), said(first, new)
