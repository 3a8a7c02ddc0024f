"""A run that failed has its own logs judged: real ranks whose library has something to say."""

from pathlib import Path

import pytest

from tests.support.commands import NCCLTOOL, PROBE, Ended
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch
LIMIT_S = 90
LIBRARY = """
import os, sys
if "nccltool.worker" in sys.orig_argv:
    text = "Error: failed to extend /dev/shm/nccl-Qx81aZ to 33030532 bytes, error: No space left on device (28)"
    print(f"vm:{os.getpid()}:{os.getpid()} [0] misc/shmutils.cc:87 NCCL WARN {text}", file=sys.stderr, flush=True)
"""
"""Prints what NCCL would, when Python starts."""
PROBED = ("--nodes", "2", "--op", "all_reduce", "--sizes", "1KiB", "--timeout", "5", "-n", "4")
TRAINED = ("ddp", "--nodes", "2", "--steps", "2", "--time-steps", "0", "--timeout", "10")


def notes(result: Ended) -> list[str]:
    return [finding["message"] for finding in result.document["findings"] if finding["code"] == "triage"]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("argv", "words"),
    [(PROBE, PROBED), pytest.param((*NCCLTOOL, "train"), TRAINED, marks=pytest.mark.slow)],
    ids=["probe", "train"],
)
def test_a_cause_in_the_log_is_told_beside_the_culprit(
    argv: tuple[str, ...], words: tuple[str, ...], start: Start, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(LIBRARY)
    fault = "exit:rank=1,at=enter"
    result = start(*words, argv=argv, NCCLTOOL_FAULT=fault, PYTHONPATH=str(tmp_path)).wait(LIMIT_S)
    assert (result.code, [problem["code"] for problem in result.problems]) == (3, ["rank-died"]), result.said
    (message,) = notes(result)
    assert message.startswith("the logs show shm-size, file /dev/shm (confidence 0."), message
    assert f"INFO triage: {message}\n" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("action", ["kill", "raise"])
def test_what_the_run_knows_is_not_said_twice(action: str, start: Start) -> None:
    result = start(*PROBED, NCCLTOOL_FAULT=f"{action}:rank=1,at=enter").wait(LIMIT_S)
    assert result.code == 3, result.said
    assert notes(result) == []
