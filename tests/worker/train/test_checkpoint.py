"""Checkpoints and restarts with real ranks: the losses go on as if nothing had happened."""

import os
import re
import shutil
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from nccltool.launch import events
from nccltool.train import strategies
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import checkpoint
from tests.support.commands import NCCLTOOL, Ended
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch
slow = pytest.mark.slow

TRAIN = (*NCCLTOOL, "train")
HOST = socket.gethostname()
LIMIT_S = 240
MOMENTUM = ("--momentum", "0.9")
"""With it, an optimizer has a state that must be in a checkpoint too."""


def trained(start: Start, *words: str, prefix: tuple[str, ...] = (), **env: str) -> Ended:
    command = start(*words, "--time-steps", "0", "--deadline", "200", argv=(*prefix, *TRAIN), **env)
    ended = command.wait(LIMIT_S)
    assert command.everything_gone(), command.living()
    assert ended.litter == []
    return ended


def the_only(ended: Ended) -> dict[str, Any]:
    (training,) = ended.document["trainings"]
    assert isinstance(training, dict)
    return training


def assert_right(ended: Ended, *steps: int) -> None:
    """These steps were compared, and every one is that of the reference."""
    assert (ended.code, ended.document["status"]) == (0, "pass"), ended.said
    training = the_only(ended)
    oracle = training["oracle"]
    assert (training["status"], oracle["ok"]) == ("pass", True)
    assert [step["step"] for step in training["steps"]] == list(steps)
    for step in training["steps"]:
        assert step["loss"] == pytest.approx(step["reference_loss"], rel=oracle["relative_tolerance"])
    for key in ("loss_error", "gradient_error", "parameter_error"):
        assert 0 <= oracle[key] <= oracle["relative_tolerance"]


def drilled(start: Start, folder: Path, strategy: str, *words: str) -> Ended:
    """Killed in step 5; saved after 2 and 4."""
    drill = ("--kill-rank", "1", "--at-step", "5", "--max-restarts", "1")
    kept = ("--checkpoint", str(folder), "--checkpoint-every", "2")
    return trained(start, strategy, "--nodes", "2", *kept, *drill, *MOMENTUM, *words)


def assert_it_went_on(ended: Ended, strategy: str) -> None:
    assert_right(ended, 1, 2, 3, 4, 5, 6)
    (restart,) = ended.document["restarts"]
    assert restart["lost_s"] > 0
    told = {key: restart[key] for key in ("attempt", "code", "subject", "strategy", "step", "resumed_from")}
    assert told == {
        "attempt": 1,
        "code": "rank-died",
        "subject": {"kind": "rank", "name": "1"},
        "strategy": strategy,
        "step": 5,
        "resumed_from": 4,
    }
    checkpoint = the_only(ended)["checkpoint"]
    assert (checkpoint["saved"], checkpoint["resumed_from"], checkpoint["ranks_then"]) == ([2, 4, 6], 4, 2)
    assert checkpoint["bytes"] > 2 * 800_000  # parameters and momenta


def test_the_losses_go_on_after_a_kill_and_with_another_number_of_ranks(start: Start, tmp_path: Path) -> None:
    """Also when the newest checkpoint was damaged, and another one is half written."""
    folder = tmp_path / "checkpoints"
    assert_it_went_on(drilled(start, folder, "fsdp"), "fsdp")
    newest, half = folder / "fsdp/step-000006", folder / "fsdp/.saving-step-000008-0"
    shutil.copytree(newest, half)
    part = newest / "__1_0.distcp"
    part.write_bytes(part.read_bytes()[:-1000])
    alone = trained(start, "fsdp", "--nproc-per-node", "1", "--steps", "7", "--checkpoint", str(folder), *MOMENTUM)
    assert alone.document["status"] == "warn", alone.said
    (damaged,) = alone.problems
    assert damaged["message"].startswith(f"fsdp: skipped the checkpoint {newest}: __1_0.distcp has ")
    message = alone.findings["checkpoint-unfinished"]["message"]
    assert message.endswith("write was interrupted: .saving-step-000008-0")
    assert alone.findings["resumed"]["message"] == (
        "fsdp resumed after step 4, saved by 2 ranks: the global batch remains 8 sequences, 8 on each of 1 rank"
    )
    training = the_only(alone)
    assert ([step["step"] for step in training["steps"]], training["oracle"]["ok"]) == ([5, 6, 7], True)
    assert training["checkpoint"]["saved"] == [5, 6, 7]
    assert not half.exists()


@pytest.mark.slow
def test_a_model_that_grew_for_its_ranks_stays_as_it_is_with_others(start: Start, tmp_path: Path) -> None:
    """Six heads for three ranks, then shared by two, then by three again."""
    for ranks, steps in ((3, 2), (2, 4), (3, 6)):
        words = ("--nodes", str(ranks), "--steps", str(steps), "--checkpoint", str(tmp_path), *MOMENTUM)
        ended = trained(start, "tensor,pipeline", *words)
        assert (ended.code, ended.problems) == (0, []), ended.said
        for training in ended.document["trainings"]:
            assert [step["step"] for step in training["steps"]] == [steps - 1, steps]
            assert training["checkpoint"]["saved"] == [steps - 1, steps]
        tensor = ended.document["trainings"][0]
        assert (tensor["model"]["heads"], tensor["model"]["ranks"]) == (6, ranks)


# ---- an error of the program that looks like one of communication

BROKEN = """
import importlib.abc, importlib.util, sys
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "nccltool.worker.train.strategies.ddp":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module
        def patched(module):
            run(module)
            import torch
            class Fails(torch.autograd.Function):
                @staticmethod
                def forward(context, tensor): return tensor.clone()
                @staticmethod
                def backward(context, gradient): raise RuntimeError("CUDA error: device-side assert triggered")
            before = module.Training.scores
            module.Training.scores = lambda self, inputs: Fails.apply(before(self, inputs))
        spec.loader.exec_module = patched
        return spec
sys.meta_path.insert(0, Finder())
"""


def test_an_error_of_the_program_in_its_backward_pass_is_its_own(start: Start, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    ended = trained(start, "ddp", "--nodes", "2", PYTHONPATH=path)
    assert ended.code == 3, ended.said
    (problem,) = ended.problems
    assert problem["code"] == "rank-error"
    pattern = (
        rf"rank [01] on {re.escape(HOST)} \(node [01], pid \d+\) raised RuntimeError: CUDA error: device-side "
    )
    assert re.match(pattern + r"assert triggered in step 1 of ddp \(backward", problem["message"]), ended.said


# ---- SIGTERM


@pytest.mark.parametrize(
    ("ranks", "whom"),
    [
        (2, "rank 1"),
        pytest.param(2, "ranks", marks=pytest.mark.slow),
        pytest.param(2, "command", marks=pytest.mark.slow),
        pytest.param(4, "rank 2", marks=pytest.mark.slow),
        pytest.param(8, "command", marks=pytest.mark.slow),
    ],
)
def test_sigterm_saves_the_same_step_on_all_ranks(start: Start, tmp_path: Path, ranks: int, whom: str) -> None:
    small = ("ddp", "--nodes", str(ranks), "--layers", "1", "--width", "16", "--time-steps", "0", *MOMENTUM)
    kept = ("--checkpoint", str(tmp_path / "c"), "--checkpoint-every", "9999", "--deadline", "200")
    command = start(*small, *kept, "--steps", "9999", "--grace", "60", argv=TRAIN)
    command.wait_for("trained-step", number=2)
    if whom == "command":
        command.send(signal.SIGTERM)
    for event in command.events():
        if event["event"] == "spawned" and whom in ("ranks", f"rank {event['rank']}"):
            os.kill(event["pid"], signal.SIGTERM)
    ended = command.wait(LIMIT_S)
    (problem,) = (one for one in ended.problems if one["severity"] == "error")
    assert (ended.code, problem["code"]) == (130 if whom == "command" else 3, "emergency-checkpoint"), ended.said
    steps = len(the_only(ended)["steps"])
    assert f"all ranks saved step {steps}, " in problem["message"]
    assert_right(trained(start, *small, *kept, "--steps", str(steps + 2)), steps + 1, steps + 2)


@slow
def test_a_grace_that_is_too_short_is_told(start: Start, tmp_path: Path) -> None:
    words = ("ddp", "--nodes", "2", "--steps", "9999", "--checkpoint", str(tmp_path), "--checkpoint-every", "9999")
    fault = {"NCCLTOOL_FAULT": "hang:rank=1,at=save"}
    command = start(*words, "--grace", "3", "--time-steps", "0", "--deadline", "200", argv=TRAIN, **fault)
    command.wait_for("trained-step", number=2)
    command.send(signal.SIGTERM)
    ended = command.wait(LIMIT_S)
    assert (ended.code, {one["code"] for one in ended.problems}) == (130, {"grace-too-short"}), ended.said
    assert not [path for path in (tmp_path / "ddp").iterdir() if path.name.startswith("step")]


# ---- second looks


@slow
@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_twenty_drills_in_a_row(start: Start, tmp_path: Path, strategy: str) -> None:
    for number in range(20):
        assert_it_went_on(drilled(start, tmp_path / str(number), strategy), strategy)


@slow
@pytest.mark.parametrize("before, after", [("4", "2"), ("2", "4")])
def test_every_strategy_goes_on_with_other_ranks(start: Start, tmp_path: Path, before: str, after: str) -> None:
    kept = ("--checkpoint", str(tmp_path / "c"), *MOMENTUM)
    saved = trained(start, "all", "--nodes", before, "--steps", "3", "--checkpoint-every", "3", *kept)
    assert saved.code == 0, saved.said
    ended = trained(start, "all", "--nodes", after, "--steps", "6", *kept)
    assert (ended.code, ended.document["status"]) == (0, "pass"), ended.said
    went_on = [
        one for one in ended.document["trainings"] if one["status"] == "pass" and one["checkpoint"]["resumed_from"]
    ]
    assert {"ddp", "fsdp", "zero1", "pipeline", "tensor"} <= {one["strategy"] for one in went_on}
    assert {one["strategy"] for one in ended.document["trainings"]} == set(strategies.NAMES)
    for training in went_on:
        assert [step["step"] for step in training["steps"]] == [4, 5, 6]
        assert training["checkpoint"]["ranks_then"] == int(before)


@slow
def test_files_go_on_with_other_ranks_and_no_other_files_do(start: Start, tmp_path: Path) -> None:
    """Five steps make an epoch, so two of the epochs begin on other numbers of ranks."""
    files, others = tmp_path / "files", tmp_path / "others"
    for folder, size in ((files, 43), (others, 44)):
        folder.mkdir()
        (folder / "tokens").write_bytes(bytes(number * number % 251 for number in range(size * 17)))
    kept = ("--checkpoint", str(tmp_path / "c"), "--layers", "1", "--context", "16")
    done = 0
    for ranks, batch, steps in ((2, 4, 3), (4, 4, 7), (1, 4, 12)):
        words = ("--nodes", str(ranks), "--batch", str(batch), "--steps", str(steps), "--data", str(files))
        ended = trained(start, "ddp", *words, "--data-workers", str(ranks % 2), *kept, TMPDIR="/tmp")
        assert_right(ended, *range(done + 1, steps + 1))
        done = steps
    for given, why in (((), "it was trained with --data"), (("--data", str(others)), "--data had other files")):
        ended = trained(start, "ddp", "--nodes", "2", "--steps", "13", *given, *kept)
        message = ended.findings["left-out"]["message"]
        assert (ended.code, message.rpartition("different training run: ")[2]) == (4, why), ended.said


@slow
@pytest.mark.parametrize(
    ("fault", "strategy", "code"),
    [
        ("hang:rank=1,step=3,attempt=0", "ddp", "rank-hung"),
        ("stop:rank=0,step=3,attempt=0", "fsdp", "rank-hung"),
        ("raise:rank=1,step=3,attempt=0", "pipeline", "rank-error"),
        ("exit:rank=1,step=3,attempt=0", "zero1", "rank-died"),
        ("kill:rank=1,step=3,at=save,attempt=0", "tensor", "rank-died"),
        ("kill:rank=0,step=3,attempt=0", "context", "rank-died"),
    ],
)
def test_every_kind_of_end_is_restarted(
    start: Start, tmp_path: Path, fault: str, strategy: str, code: str
) -> None:
    words = ("--nodes", "2", "--steps", "4", "--max-restarts", "2", "--timeout", "6", *MOMENTUM)
    ended = trained(start, strategy, *words, "--checkpoint", str(tmp_path), NCCLTOOL_FAULT=fault)
    assert_right(ended, 1, 2, 3, 4)
    (restart,) = ended.document["restarts"]
    assert (restart["code"], restart["step"], restart["resumed_from"]) == (code, 3, 2), ended.said
    assert sorted(path.name for path in (tmp_path / strategy).iterdir()) == [
        f"step-00000{number}" for number in (2, 3, 4)
    ]


@slow
def test_when_no_restart_is_left_the_culprit_is_named(start: Start, tmp_path: Path) -> None:
    words = ("--nodes", "2", "--checkpoint", str(tmp_path), "--max-restarts", "2")
    ended = trained(start, "ddp", *words, NCCLTOOL_FAULT="kill:rank=1,step=3")
    assert (ended.code, len(ended.document["restarts"])) == (3, 2), ended.said
    (problem,) = ended.problems
    assert problem["code"] == "rank-died"
    assert problem["message"].endswith(" was killed by SIGKILL in step 3 of ddp (between forward and backward)")


@slow
def test_without_checkpoints_it_begins_anew(start: Start) -> None:
    drill = ("--kill-rank", "0", "--at-step", "4", "--max-restarts", "1")
    ended = trained(start, "ddp", "--nodes", "2", *drill)
    assert_right(ended, 1, 2, 3, 4, 5, 6)
    assert [restart["resumed_from"] for restart in ended.document["restarts"]] == [0]


@slow
def test_a_file_system_that_takes_no_more(start: Start, tmp_path: Path) -> None:
    limited = ("prlimit", "--fsize=300000")
    words = ("--nodes", "2", "--checkpoint", str(tmp_path), "--max-restarts", "1")
    ended = trained(start, "fsdp", *words, prefix=limited)
    assert (ended.code, ended.document["restarts"]) == (3, []), ended.said
    (problem,) = ended.problems
    assert problem["code"] == "checkpoint-unusable"
    assert problem["message"].endswith(
        "cannot be written: the write was incomplete: the file system is full, or a quota or limit was reached"
    )
    assert [*(tmp_path / "fsdp").iterdir()] == []


@slow
def test_float16_goes_on_with_its_scale(start: Start, tmp_path: Path) -> None:
    words = ("--nodes", "2", "-d", "float16", "--clip-norm", "0.5", "--checkpoint", str(tmp_path))
    assert_right(trained(start, "ddp", *words, "--steps", "3"), 1, 2, 3)
    assert_right(trained(start, "ddp", *words, "--steps", "5"), 4, 5)
    ended = trained(start, "ddp", *words, "--steps", "5")
    assert ended.code == 0
    assert "no steps were left to run" in ended.findings["resumed"]["message"]


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")  # torch's own
def test_a_file_in_place_of_the_folder_is_told_and_nothing_else_is_raised(tmp_path: Path) -> None:
    """Of another host, only its ranks can tell."""
    (tmp_path / "file").touch()
    reading, writing = os.pipe()
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        injector = FaultInjector(None, 0)
        tools = RankTools(torch.device("cpu"), ProgressPage(), Channel(writing, None), injector)
        with pytest.raises(checkpoint.CheckpointsFailed):
            checkpoint.Checkpoints(str(tmp_path / "file"), tools).meet()
    finally:
        dist.destroy_process_group()
        os.close(writing)
    with os.fdopen(reading, "rb") as said:
        event = events.decode(said.readline())
    assert isinstance(event, events.Reported)
    assert event.finding.code == "checkpoint-unusable"
    assert event.finding.message.endswith("/file cannot be created: File exists")
