"""GPUs that are slow and whole, on a paper machine: a row, and no hang."""

from pathlib import Path

import pytest

from tests.papergpu.machines import paper
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

LIMIT_S = 120.0
PAIR = ("--nodes", "1", "--nproc-per-node", "2", "--backend", "nccl", "--op", "all_reduce", "--sizes", "1KiB")
TIMEOUT_S = 2.0


def rows(start: Start, tmp_path: Path, *words: str, **machine: float) -> list[tuple[str, int]]:
    """How the calls of each row came to the device, and how many there were."""
    env = paper("dgx", **machine).write(tmp_path / "machine")
    command = start(*PAIR, "--timeout", f"{TIMEOUT_S:g}", *words, **env)
    ended = command.wait(LIMIT_S)
    assert command.everything_gone()
    assert ended.code == 0, ended.said
    return [(row["launched"], row["iterations"]) for row in ended.document["measurements"]]


def test_a_batch_and_a_communicator_that_take_longer_than_the_timeout(start: Start, tmp_path: Path) -> None:
    """Fifty calls of 60 ms are queued at once; each is seen when the device is done with it."""
    calls = ("-n", "50", "-w", "0")  # nobody knows how long they take
    assert rows(start, tmp_path, *calls, first_call_s=4.0, slow_call_s=0.06) == [("queued", 50)]


@pytest.mark.slow
def test_a_driver_that_starts_cold(start: Start, tmp_path: Path) -> None:
    assert rows(start, tmp_path, "-n", "5", "-w", "2", start_s=5.0) == [("queued", 5)]


def test_a_graph_is_replayed(start: Start, tmp_path: Path) -> None:
    assert rows(start, tmp_path, "-n", "5", "-w", "2", "--cuda-graph") == [("graph", 5)]
