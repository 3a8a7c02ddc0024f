"""Smoke trainings with real ranks: right ones are right, wrong ones are caught, and ranks in trouble are named."""

import os
import re
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from nccltool.train import strategies
from tests.support.commands import NCCLTOOL, RUNS, Ended, until
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

TRAIN = (*NCCLTOOL, "train")
HOST = socket.gethostname()
LIMIT_S = 240
QUICK = ("--nodes", "2", "--steps", "3", "--time-steps", "0", "--deadline", "200")
WITHOUT_SYNC = {"ddp", "deepspeed", "fsdp", "fsdp1", "moe", "zero1"}
HAS_DEEPSPEED = find_spec("deepspeed") is not None
CACHE = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
ON_GPUS = {"dp"} | (set() if HAS_DEEPSPEED else {"deepspeed"})
"""What `all` leaves out on CPUs."""


def trained(start: Start, *words: str, **env: str) -> Ended:
    command = start(*words, argv=TRAIN, **env)
    ended = command.wait(LIMIT_S)
    assert command.everything_gone(), command.living()
    assert ended.litter == []
    return ended


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
def test_every_strategy_is_right(start: Start, ranks: int) -> None:
    result = trained(start, "all", "--nodes", str(ranks), "--time-steps", "3", "--deadline", "200")
    assert (result.code, result.document["status"], result.problems) == (0, "pass", []), result.said
    found = {training["strategy"]: training for training in result.document["trainings"]}
    assert list(found) == list(strategies.NAMES)
    left_out = ON_GPUS | ({"three_d"} if ranks == 2 else set())
    assert {name for name, training in found.items() if training["status"] == "skip"} == left_out
    for name in sorted(set(found) - left_out):
        training = found[name]
        assert_right(training, ranks, steps=6)
        assert (training["exposed_communication_ratio"] is not None) == (name in WITHOUT_SYNC)
        assert training["throughput_samples_per_s"] > 0
        assert [size > 2**24 for size in training["peak_memory_bytes"]] == [True] * ranks
    shown = re.findall(r"^(\w+) +pass ", result.stdout, re.MULTILINE)
    assert shown == [name for name in strategies.NAMES if name not in left_out]


def assert_right(training: dict[str, Any], ranks: int, steps: int, adds_alike: bool = True) -> None:
    oracle = training["oracle"]
    assert (training["status"], oracle["ok"], oracle["first_step"], oracle["ranks"]) == ("pass", True, None, [])
    assert [step["step"] for step in training["steps"]] == list(range(1, steps + 1))
    for key in ("loss_error", "gradient_error", "parameter_error"):
        assert 0 <= oracle[key] <= oracle["relative_tolerance"]
    # measured: within 1e-6; two ranks add in the order of the reference, where no sequence and no layer is cut
    cut = ("tensor", "tp_fsdp", "tp_moe", "context", "ring", "moe")
    if ranks == 2 and adds_alike and training["strategy"] not in cut:
        assert oracle["loss_error"] == 0


@pytest.mark.parametrize(
    "words",
    [
        ("ddp,fsdp,fsdp1,zero1", "--accumulate", "2", "--shard", "grad", "--gradient-as-bucket-view"),
        ("ddp", "--comm-hook", "fp16", "--bucket", "0.01", "--static-graph"),
        pytest.param(
            ("ddp,fsdp,pipeline", "-d", "float64", "--schedule", "gpipe", "--seed", "7"), marks=pytest.mark.quick
        ),
        ("ddp,fsdp", "-d", "bfloat16", "--layers", "2"),
        ("moe,tp+moe", "--capacity", "1", "--top-k", "1", "--accumulate", "2", "--clip-norm", "0.2"),
        (
            "ddp,fsdp,fsdp1,model,pipeline,tensor,zero1,tp+fsdp,context,ring",
            *("--recompute", "--shard", "none", "--sequence-parallel", "--schedule", "zbv"),
        ),
        pytest.param(
            ("fsdp1,pipeline", "--shard", "hybrid", "--schedule", "interleaved", "--momentum", "0.5"),
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda words: " ".join(words),
)
def test_ways_to_train(start: Start, words: tuple[str, ...]) -> None:
    result = trained(start, *words, *QUICK)
    assert (result.code, result.problems) == (0, []), result.said
    assert {training["status"] for training in result.document["trainings"]} == {"pass"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("pipeline,3d", "--nodes", "4", "--schedule", "zero-bubble", "--clip-norm", "0.2"),
        ("pipeline,3d", "--nodes", "4", "--schedule", "zero-bubble", "--stages", "2", "--layers", "6"),
        ("pipeline", "--nodes", "4", "--schedule", "interleaved", "--layers", "10", "--stages", "3"),
        ("pipeline,3d", "--nodes", "4", "--schedule", "zbv", "--layers", "6", "-d", "bfloat16"),
        ("fsdp1,fsdp", "--nodes", "4", "--shard", "hybrid", "--accumulate", "2", "--clip-norm", "0.2"),
        ("tp+fsdp", "--nodes", "4", "--accumulate", "2"),
        ("fsdp1,model,context,ring", "--nodes", "4", "-d", "float64"),
        ("ring", "--nodes", "3", "-d", "bfloat16", "--clip-norm", "0.2"),
        ("fsdp1,model", "--nodes", "2", "-d", "float16"),
        ("tensor", "--nodes", "4", "--sequence-parallel", "--clip-norm", "0.2", "--momentum", "0.5"),
        ("moe", "--nodes", "4", "-d", "bfloat16", "--recompute", "--top-k", "3"),
        ("moe", "--nodes", "3", "-d", "float16", "--momentum", "0.5"),
        ("tp+moe", "--nodes", "4", "-d", "bfloat16", "--recompute", "--capacity", "1", "--accumulate", "2"),
        ("tp+moe", "--nodes", "6", "-d", "float16", "--momentum", "0.5", "--clip-norm", "0.2"),
    ],
    ids=lambda words: " ".join(words),
)
def test_more_ways_to_train(start: Start, words: tuple[str, ...]) -> None:
    result = trained(start, *words, "--steps", "3", "--time-steps", "0", "--deadline", "200")
    assert (result.code, result.problems) == (0, []), result.said
    assert {training["status"] for training in result.document["trainings"]} == {"pass"}


SHARED = (
    "tensor,context,pipeline,model",
    "--nodes",
    "2",
    "--nproc-per-node",
    "2",
    "--heads",
    "2",
    "--layers",
    "1",
)
"""Four ranks, of which two have a model between them."""


@pytest.mark.parametrize(
    "words",
    [
        ("--momentum", "0.5", "--clip-norm", "0.2", "--sequence-parallel"),
        pytest.param(("-d", "float16", "--recompute"), marks=pytest.mark.slow),
        pytest.param(("-d", "float64", "--schedule", "gpipe", "--micro-batches", "4"), marks=pytest.mark.slow),
    ],
    ids=lambda words: " ".join(words),
)
def test_replicas_of_a_model_that_ranks_share(start: Start, words: tuple[str, ...]) -> None:
    result = trained(start, *SHARED, *words, "--steps", "3", "--time-steps", "1")
    assert (result.code, result.problems) == (0, []), result.said
    for training in result.document["trainings"]:
        shape = {key: training["model"][key] for key in ("ranks", "replicas", "heads", "layers", "grown")}
        assert shape == {"ranks": 2, "replicas": 2, "heads": 2, "layers": 1, "grown": []}
        assert_right(training, 4, steps=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "drill", ["sum:step=2", "duplicate:rank=3,step=2", "lose:rank=1,step=2", "scale:rank=2,step=2"]
)
def test_wrong_arithmetic_in_one_of_the_replicas_is_caught(start: Start, drill: str) -> None:
    result = trained(start, *SHARED, "--steps", "2", "--time-steps", "0", NCCLTOOL_FAULT=drill)
    assert (result.code, {problem["code"] for problem in result.problems}) == (1, {"train-wrong"}), result.said
    assert {training["status"] for training in result.document["trainings"]} == {"fail"}


@pytest.mark.slow
def test_every_way_to_train_is_done_on_eight_ranks(start: Start) -> None:
    result = trained(
        start, "all", "--nproc-per-node", "8", "--steps", "2", "--time-steps", "0", "--deadline", "230", "-v"
    )
    assert (result.code, result.problems) == (0, []), result.said
    found = {training["strategy"]: training for training in result.document["trainings"]}
    assert {name for name, training in found.items() if training["status"] != "pass"} == ON_GPUS
    grown = {name: training["model"]["grown"] for name, training in found.items() if training["model"]}
    assert {name: sizes for name, sizes in grown.items() if sizes} == {
        "context": ["heads"],
        "model": ["layers"],
        "pipeline": ["layers"],
        "tensor": ["heads"],
    }
    assert "tensor: 8 ranks share a model; enlarged to fit: heads 8\n" in result.stdout


def test_what_was_asked_for_by_its_name_and_cannot_be_done_is_no_pass(start: Start) -> None:
    result = trained(start, "ddp,3d", *QUICK)
    assert (result.code, result.document["status"]) == (4, "unknown"), result.said
    assert [training["status"] for training in result.document["trainings"]] == ["pass", "skip"]


@pytest.mark.slow
@pytest.mark.skipif(not HAS_DEEPSPEED, reason="DeepSpeed is not installed (pip install 'nccltool[deepspeed]')")
@pytest.mark.parametrize("zero", ["1", "2", "3"])
@pytest.mark.parametrize(
    "more", [(), ("--offload", "--accumulate", "2", "--clip-norm", "0.2", "--momentum", "0.5")]
)
def test_deepspeed(start: Start, zero: str, more: tuple[str, ...]) -> None:
    result = trained(start, "deepspeed", "--zero", zero, *more, *QUICK)
    assert (result.code, result.problems) == (0, []), result.said
    (training,) = result.document["trainings"]
    assert_right(training, 2, steps=3, adds_alike=not more)


LARGE_ENOUGH = ("--layers", "1", "--width", "1024", "--context", "8", "--batch", "1")
"""Each rank's part has more than the 1 MiB from which DeepSpeed writes files."""


@pytest.mark.slow
@pytest.mark.skipif(not HAS_DEEPSPEED, reason="DeepSpeed is not installed (pip install 'nccltool[deepspeed]')")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 0),
        (("--offload", "--momentum", "0.5", "--clip-norm", "0.2"), 0),
        (("--kill-rank", "1", "--at-step", "2"), 3),
    ],
    ids=str,
)
def test_deepspeed_with_state_in_files(start: Start, tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    nvme = tmp_path / "nvme"
    nvme.mkdir()
    state = ("--zero", "3", "--offload-dir", str(nvme), *LARGE_ENOUGH, *QUICK)
    # what is compiled once for a user need not be compiled in each test
    command = start("deepspeed", *state, *words, argv=TRAIN, XDG_CACHE_HOME=CACHE)
    assert until(lambda: any(nvme.rglob("*.swp")) or command.process.poll() is not None, LIMIT_S)
    assert any(nvme.rglob("*.swp"))
    result = command.wait(LIMIT_S)
    assert (result.code, list(nvme.iterdir()), result.litter) == (code, [], []), result.said
    if code == 0:
        (training,) = result.document["trainings"]
        assert_right(training, 2, steps=3, adds_alike=not words)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_DEEPSPEED, reason="DeepSpeed is not installed (pip install 'nccltool[deepspeed]')")
def test_after_deepspeed_the_others_are_right_too(start: Start) -> None:
    result = trained(start, "deepspeed,fsdp,zero1", "--zero", "3", *QUICK)
    assert [training["status"] for training in result.document["trainings"]] == ["pass"] * 3, result.said


def test_the_bubble_of_a_pipeline_stands_beside_its_formula(start: Start) -> None:
    result = trained(start, "pipeline", "--nodes", "2", "--steps", "1", "--time-steps", "3", "-v")
    (training,) = result.document["trainings"]
    bubble = training["bubble"]
    assert {key: bubble[key] for key in ("schedule", "ranks", "micro_batches", "stages_per_rank", "formula")} == {
        "schedule": "1f1b",
        "ranks": 2,
        "micro_batches": 4,
        "stages_per_rank": 1,
        "formula": 0.2,
    }
    assert 0 < bubble["measured"] < 1
    drawn = {(one["rank"], one["stage"], one["micro_batch"], one["kind"]) for one in bubble["passes"]}
    assert drawn == {
        (rank, rank, of, kind) for rank in (0, 1) for of in range(4) for kind in ("forward", "backward")
    }
    assert all(0 <= one["begin_s"] < one["end_s"] for one in bubble["passes"])
    measured = f"{bubble['measured']:.0%} of a step; expected 20% = "
    said = rf"bubble of pipeline \(1f1b, 2 ranks, 4 micro-batches\): {measured}"
    assert re.search(said, result.stdout)
    assert f"pipeline  bubble {bubble['measured']:.0%}\n" in result.stderr


def test_a_run_is_kept_and_shown_again(start: Start) -> None:
    result = trained(start, "ddp", *QUICK)
    shown = start(str(result.run), argv=RUNS).wait(LIMIT_S)
    assert (shown.code, shown.stdout) == (0, result.stdout)


# ---- wrong on purpose

DRILLS: dict[str, dict[str, str | None]] = {
    "sum:step=2": {"ddp": None, "fsdp": None, "pipeline": None},
    "duplicate:rank=1,step=2": {"ddp": "1", "fsdp": "1", "pipeline": "1"},
    "lose:rank=1,step=2": {"ddp": "1", "fsdp": "1", "pipeline": "1"},
    "scale:rank=1,step=2": {"ddp": "1", "fsdp": "1", "pipeline": "1"},
    "corrupt:rank=1,step=2": {"ddp": "1", "fsdp": "1", "pipeline": "1"},
}
"""Which rank is named; None where all ranks do it."""


@pytest.mark.parametrize(
    "drill",
    [
        pytest.param(drill, marks=pytest.mark.quick if drill.startswith("sum") else pytest.mark.slow)
        for drill in DRILLS
    ],
)
def test_wrong_arithmetic_is_caught(start: Start, drill: str) -> None:
    result = trained(start, "ddp,fsdp,pipeline", *QUICK, NCCLTOOL_FAULT=drill)
    assert (result.code, result.document["status"]) == (1, "fail"), result.said
    found = {problem["message"].partition(":")[0]: problem for problem in result.problems}
    assert {problem["code"] for problem in result.problems} == {"train-wrong"}
    assert list(found) == ["ddp", "fsdp", "pipeline"]
    for training in result.document["trainings"]:
        name = training["strategy"]
        assert training["oracle"]["first_step"] == 2
        assert found[name]["message"].endswith(" from the reference in step 2")
        subject = found[name]["subject"]
        assert (subject["name"] if subject["kind"] == "rank" else None) == DRILLS[drill][name], result.said


@pytest.mark.slow
@pytest.mark.parametrize("drill", DRILLS)
@pytest.mark.parametrize(
    "words",
    [
        ("context,ring,fsdp1,model,moe,tensor,tp+fsdp,zero1", "--nodes", "2"),
        ("context,ring,fsdp1,model,moe,pipeline,3d,tp+fsdp,tp+moe", "--nodes", "4"),
        *(
            ("pipeline", "--nodes", "2", "--schedule", name)
            for name in ("gpipe", "interleaved", "zero-bubble", "zbv")
        ),
        ("tensor", "--nodes", "2", "--sequence-parallel"),
        pytest.param(
            ("deepspeed", "--nodes", "2", "--zero", "2"),
            marks=pytest.mark.skipif(not HAS_DEEPSPEED, reason="DeepSpeed is not installed"),
        ),
    ],
    ids=lambda words: " ".join(words),
)
def test_wrong_arithmetic_is_caught_in_every_way_to_train(
    start: Start, words: tuple[str, ...], drill: str
) -> None:
    result = trained(start, *words, "--steps", "2", "--time-steps", "0", NCCLTOOL_FAULT=drill)
    assert (result.code, {problem["code"] for problem in result.problems}) == (1, {"train-wrong"}), result.said
    assert {training["status"] for training in result.document["trainings"]} == {"fail"}


@pytest.mark.parametrize("drill", ["swap:step=2", pytest.param("misroute:step=2", marks=pytest.mark.slow)])
def test_tokens_at_the_wrong_experts_are_caught(start: Start, drill: str) -> None:
    result = trained(start, "moe", *QUICK, NCCLTOOL_FAULT=drill)
    (problem,) = result.problems
    assert (result.code, problem["code"], problem["subject"]["name"]) == (1, "train-wrong", "1"), result.said
    assert problem["message"] == "moe: the loss of rank 1 differs from the reference in step 2"


def test_a_drill_of_one_strategy_leaves_the_others_alone(start: Start) -> None:
    result = trained(start, "ddp,zero1", *QUICK, NCCLTOOL_FAULT="corrupt:rank=0,op=zero1,step=3")
    assert [training["status"] for training in result.document["trainings"]] == ["pass", "fail"]
    (problem,) = result.problems
    assert problem["message"] == "zero1: the gradient of rank 0 differs from the reference in step 3"


# ---- ranks in trouble

WAITS = {
    "ddp": "backward: all_reduce of the gradients",
    "fsdp": "backward: all_gather of the parameters, reduce_scatter of the gradients",
    "pipeline": "forward and backward: send_recv of activations and of their gradients",
    "tensor": "backward: all_reduce of the gradients of their inputs",
}


@pytest.mark.parametrize(
    ("drill", "strategy", "code", "how"),
    [
        ("kill", "ddp", "rank-died", "was killed by SIGKILL"),
        ("kill", "pipeline", "rank-died", "was killed by SIGKILL"),
        (
            "raise",
            "fsdp",
            "rank-error",
            "raised InjectedFault: injected fault: NCCLTOOL_FAULT told rank 1 to raise",
        ),
        pytest.param(
            "raise",
            "pipeline",
            "rank-error",
            "raised InjectedFault: injected fault: NCCLTOOL_FAULT told rank 1 to raise",
            marks=pytest.mark.slow,
        ),
        pytest.param("hang", "ddp", "rank-hung", r"made no progress for \d+ s", marks=pytest.mark.slow),
        pytest.param("hang", "pipeline", "rank-hung", r"made no progress for \d+ s", marks=pytest.mark.slow),
        ("stop", "tensor", "rank-hung", r"made no progress for \d+ s"),
    ],
)
def test_a_rank_in_trouble_is_named_with_step_and_collective(
    start: Start, drill: str, strategy: str, code: str, how: str
) -> None:
    fault = f"{drill}:rank=1,step=2"
    result = trained(start, strategy, *QUICK, "--timeout", "8", NCCLTOOL_FAULT=fault)
    assert (result.code, result.document["status"]) == (3, "incomplete"), result.said
    (error,) = result.problems
    assert (error["code"], error["subject"]) == (code, {"kind": "rank", "name": "1"}), result.said
    phase = "computing a micro-batch" if strategy == "pipeline" else "between forward and backward"
    who = rf"rank 1 on {re.escape(HOST)} \(node 1, pid \d+\)"
    assert re.fullmatch(rf"{who} {how} in step 2 of {strategy} \({phase}\)", error["message"]), error["message"]
    assert f"rank 0 waited in step 2 of {strategy} ({WAITS[strategy]})" in error["evidence"], error["evidence"]
    (training,) = result.document["trainings"]
    assert [step["step"] for step in training["steps"]] == [1]  # what was compared before is kept
    assert training["oracle"]["ok"] is None


def test_a_rank_that_comes_late_to_the_backward_pass(start: Start) -> None:
    words = ("--steps", "2", "--time-steps", "2")
    result = trained(start, "pipeline,fsdp", "--nodes", "2", *words, NCCLTOOL_FAULT="slow:rank=1,ms=60")
    assert (result.code, result.document["status"]) == (1, "fail"), result.said
    (error,) = result.problems
    assert (error["code"], error["subject"]) == ("late-rank", {"kind": "rank", "name": "1"})
    who = rf"rank 1 on {re.escape(HOST)} \(node 1\)"
    assert re.match(rf"{who} arrived late in fsdp, by a median of \S+ ms; ", error["message"]), error["message"]
    pipeline, fsdp = result.document["trainings"]  # stages of a pipeline wait for each other by nature
    assert ([one["rank"] for one in fsdp["late_ranks"]], pipeline["late_ranks"]) == ([1], None)


# ---- what cannot be done


@pytest.mark.parametrize(
    ("words", "reasons"),
    [
        (
            ("dp,model", "--nproc-per-node", "1"),
            [
                "dp was left out: it splits a batch across the GPUs of one process, which has 0",
                "model was left out: its layers need two devices: two ranks, or one on a host with two GPUs",
            ],
        ),
        pytest.param(
            ("dp,pipeline,tensor", "--nodes", "3", "--layers", "3", "--heads", "2", "--schedule", "zbv"),
            [
                "dp was left out: it runs in one process, but there are 3 ranks: use --nproc-per-node 1",
                "pipeline was left out: 3 layers and both ends make 5 stages, but 6 are needed (--layers)",
                "tensor was left out: 2 attention heads cannot be split across 3 ranks (--heads)",
            ],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_cannot_be_done_here_is_said_and_is_no_pass(
    start: Start, words: tuple[str, ...], reasons: list[str]
) -> None:
    result = trained(start, *words, "--time-steps", "0")
    assert (result.code, result.document["status"]) == (4, "unknown"), result.said
    found = [finding["message"] for finding in result.document["findings"] if finding["code"] == "left-out"]
    assert found == reasons
