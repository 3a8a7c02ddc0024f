"""Options of smoke trainings with real ranks: compressed, clipped, scaled, offloaded; files that they leave."""

import gzip
import importlib.util
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from nccltool.train import strategies
from tests.support.commands import NCCLTOOL, Ended
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

TRAIN = (*NCCLTOOL, "train")
LIMIT_S = 240
QUICK = ("--nodes", "2", "--steps", "4", "--time-steps", "0", "--deadline", "200")
LIMITED = ("--clip-norm", "0.2")
"""Gradients of the first steps are three times as long."""
SMALL = ("--layers", "2", "--width", "16", "--context", "8")
"""CPUs without instructions for it are slow in float16."""


def trained(start: Start, *words: str, **env: str) -> Ended:
    ended = start(*words, argv=TRAIN, **env).wait(LIMIT_S)
    assert ended.litter == []
    return ended


def right(ended: Ended) -> dict[str, dict[str, Any]]:
    assert (ended.code, ended.problems) == (0, []), ended.said
    return {training["strategy"]: training for training in ended.document["trainings"]}


@pytest.mark.parametrize(
    "words",
    [
        ("ddp,fsdp", "-d", "half", *LIMITED, *SMALL),
        pytest.param(("all", "-d", "half", *LIMITED, *SMALL, "--nodes", "4"), marks=pytest.mark.slow),
        pytest.param(("all", *LIMITED, "--nodes", "4"), marks=pytest.mark.slow),
        pytest.param(("ddp,fsdp", *LIMITED, "--accumulate", "2", "--nodes", "3"), marks=pytest.mark.slow),
        pytest.param(("fsdp", "--offload", *LIMITED, "--shard", "hybrid"), marks=pytest.mark.slow),
        pytest.param(("fsdp", "--param-dtype", "bf16", "--reduce-dtype", "fp32"), marks=pytest.mark.slow),
        pytest.param(("fsdp", "--param-dtype", "fp16", "--accumulate", "2", *LIMITED), marks=pytest.mark.slow),
        pytest.param(
            ("fsdp", "--param-dtype", "bf16", "--recompute", "--time-steps", "2"), marks=pytest.mark.slow
        ),
    ],
    ids=lambda words: " ".join(words),
)
def test_ways_to_train(start: Start, words: tuple[str, ...]) -> None:
    trainings = right(trained(start, *QUICK, *words))
    assert {training["status"] for training in trainings.values()} <= {"pass", "skip"}
    assert {step["overflowed"] for training in trainings.values() for step in training["steps"]} <= {False}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [(), ("--no-reshard",), ("--wrap", "model"), ("--offload",)], ids=lambda words: " ".join(words)
)
def test_how_parameters_are_gathered_changes_no_number(start: Start, words: tuple[str, ...]) -> None:
    (training,) = right(trained(start, "fsdp", *words, *QUICK)).values()
    errors = [training["oracle"][name] for name in ("loss_error", "gradient_error", "parameter_error")]
    assert errors == [0, 0, 0]


def losses(training: dict[str, Any]) -> list[float]:
    return [step["loss"] for step in training["steps"]]


@pytest.mark.slow
def test_powersgd_is_held_against_powersgd(start: Start) -> None:
    """zero1, which does not take the option, has the losses of exact gradients."""
    trainings = right(trained(start, "ddp,zero1", "--comm-hook", "powersgd", "--bucket", "0.05", *QUICK))
    assert trainings["ddp"]["oracle"]["loss_error"] == 0
    assert losses(trainings["ddp"])[:3] == losses(trainings["zero1"])[:3]  # two steps are exact
    assert losses(trainings["ddp"])[3] != losses(trainings["zero1"])[3]
    assert "(PowerSGD)" in trainings["ddp"]["oracle"]["rule"]
    assert "(PowerSGD)" not in trainings["zero1"]["oracle"]["rule"]


@pytest.mark.parametrize("hook", [pytest.param("topk", marks=pytest.mark.slow), "int8"])
def test_compression_is_held_against_what_it_may_lose(start: Start, hook: str) -> None:
    words = ("--comm-hook", hook, "--bucket", "0.01", *SMALL, *QUICK, "--nodes", "4")
    (training,) = right(trained(start, "ddp", *words)).values()
    oracle = training["oracle"]
    assert (oracle["loss_error"], oracle["gradient_error"]) == (0, 0)
    assert 0 < oracle["compression_error"] < oracle["compression_bound"] < 1


@pytest.mark.parametrize(
    "words",
    [
        ("--accumulate", "2"),
        pytest.param(("--nodes", "4", "--momentum", "0.5", "--time-steps", "2"), marks=pytest.mark.slow),
        pytest.param(("--nodes", "8", "-d", "bfloat16"), marks=pytest.mark.slow),
        pytest.param(("-d", "half"), marks=pytest.mark.slow),
    ],
    ids=lambda words: " ".join(words),
)
def test_batch_norms_of_all_ranks(start: Start, words: tuple[str, ...]) -> None:
    right(trained(start, "ddp", "--sync-batch-norm", *SMALL, *QUICK, *words))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("oom:rank=1,step=2", ()),
        pytest.param(
            "oom:rank=3,step=3", ("--nodes", "4", "--accumulate", "2", "--time-steps", "2"), marks=pytest.mark.slow
        ),
        pytest.param("oom:rank=7,step=1", ("--nodes", "8", "-d", "bfloat16", *LIMITED), marks=pytest.mark.slow),
        pytest.param("oom:rank=0,step=4", ("--adamw", "-d", "half", "--recompute"), marks=pytest.mark.slow),
    ],
)
def test_all_ranks_halve_their_micro_batches_when_one_runs_out_of_memory(
    start: Start, fault: str, words: tuple[str, ...]
) -> None:
    ended = trained(start, "ddp", "--halve-on-oom", *SMALL, *QUICK, *words, NCCLTOOL_FAULT=fault)
    (problem,) = ended.problems
    rank, step = fault[9], fault[-1]
    assert (ended.code, problem["code"], problem["subject"]["name"]) == (0, "micro-batch-halved", rank), ended.said
    assert f"ran out of memory in step {step} of ddp; all ranks repeated" in problem["message"]
    (training,) = ended.document["trainings"]
    assert (training["status"], len(training["steps"])) == ("pass", 4)


@pytest.mark.slow
def test_a_rank_that_has_too_little_memory_for_one_sequence_is_named(start: Start) -> None:
    words = ("ddp", "--halve-on-oom", "--batch", "1", *SMALL, *QUICK)
    ended = trained(start, *words, NCCLTOOL_FAULT="oom:rank=1,step=2")
    (problem,) = ended.problems
    assert (ended.code, problem["code"], problem["subject"]["name"]) == (3, "rank-error", "1"), ended.said
    assert "OutOfMemoryError: injected fault: out of memory in step 2 of ddp" in problem["message"]


VALIDATED = ("--validate", "7", "--patience", "2", "--steps", "12", "--learning-rate", "1")


@pytest.mark.parametrize(
    "words",
    [
        ("ddp",),
        pytest.param(
            ("ddp,fsdp,zero1", "--nodes", "4", "--batch", "1", "--validate", "11"), marks=pytest.mark.slow
        ),
        pytest.param(("ddp,fsdp,zero1", "--nodes", "8", "--validate", "9"), marks=pytest.mark.slow),
        pytest.param(("ddp,fsdp", "-d", "bfloat16", "--nodes", "3"), marks=pytest.mark.slow),
    ],
    ids=lambda words: " ".join(words),
)
def test_all_ranks_stop_when_one_process_would(start: Start, words: tuple[str, ...]) -> None:
    trainings = right(trained(start, words[0], *SMALL, *QUICK, *VALIDATED, *words[1:])).values()
    for training in trainings:
        losses = [step["validation_loss"] for step in training["steps"]]
        assert losses == pytest.approx([step["reference_validation_loss"] for step in training["steps"]], rel=0.1)
        assert training["stopped_after"] == len(losses) < 12
        assert min(losses) == losses[-3]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["mean:step=2", "alone:rank=0,step=3", "alone:rank=1,step=2"])
def test_a_wrong_validation_is_found(start: Start, fault: str) -> None:
    ended = trained(start, "ddp", *SMALL, *QUICK, "--validate", "7", NCCLTOOL_FAULT=fault)
    (problem,) = ended.problems
    assert (ended.code, problem["code"]) == (1, "train-wrong"), ended.said
    assert (
        f"the validation loss of {'all ranks' if 'mean' in fault else f'rank {fault[11]}'} " in problem["message"]
    )


ACCUMULATED = ("--accumulate", "4", "--nodes", "3", "--batch", "8")


@pytest.mark.parametrize("words", [("ddp",), pytest.param(("zero1", "-d", "half"), marks=pytest.mark.slow)])
def test_the_noise_of_gradients_is_that_of_the_reference(start: Start, words: tuple[str, ...]) -> None:
    (training,) = right(trained(start, *words, *SMALL, *QUICK, *ACCUMULATED)).values()
    noise = training["gradient_noise"]
    assert (noise["micro_batch"], noise["global_batch"], noise["steps"]) == (2, 24, 4)
    assert noise["scale"] == pytest.approx(noise["reference_scale"], rel=0.05)
    for one in training["steps"]:
        norm = one["micro_batch_gradient_norm"]
        assert norm == pytest.approx(one["reference_micro_batch_gradient_norm"], rel=0.01)
        assert norm > one["gradient_norm"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["alone:rank=1,step=2", "lose:rank=1,step=2", "scale:rank=2,step=3"])
def test_a_rank_whose_gradients_do_not_count_once_is_found(start: Start, fault: str) -> None:
    ended = trained(start, "ddp", *SMALL, *QUICK, *ACCUMULATED, NCCLTOOL_FAULT=fault)
    (problem,) = ended.problems
    assert (ended.code, problem["code"]) == (1, "train-wrong"), ended.said
    what = "the gradient norm of micro-batches of rank 1" if "alone" in fault else "the gradient of all ranks"
    assert f"{what} " in problem["message"]


ADAMW = ("--adamw", "--lr-warmup", "2")


@pytest.mark.parametrize(
    "words",
    [
        ("ddp,fsdp,zero1", *LIMITED, "--accumulate", "2"),
        pytest.param(("ddp,fsdp,zero1", "--nodes", "4", "--time-steps", "2"), marks=pytest.mark.slow),
        pytest.param(("ddp,fsdp,zero1", "--nodes", "8"), marks=pytest.mark.slow),
        pytest.param(("ddp,fsdp", "-d", "half"), marks=pytest.mark.slow),
        pytest.param(("fsdp", "--offload", "--param-dtype", "bf16"), marks=pytest.mark.slow),
        pytest.param(("ddp", "--sync-batch-norm"), marks=pytest.mark.slow),
    ],
    ids=lambda words: " ".join(words),
)
def test_adamw_with_a_schedule(start: Start, words: tuple[str, ...]) -> None:
    for training in right(trained(start, *words[:1], *ADAMW, *SMALL, *QUICK, *words[1:])).values():
        assert training["oracle"]["parameter_error"] <= training["oracle"]["relative_tolerance"]


LORA = ("fsdp", "--lora", "4", *SMALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--momentum", "0.9", "--accumulate", "2", *LIMITED),
        ("--adamw", "--shard", "hybrid", "--nodes", "4"),
        ("--offload", "--wrap", "model", "-d", "bfloat16"),
    ],
    ids=lambda words: " ".join(words),
)
def test_adapters(start: Start, words: tuple[str, ...]) -> None:
    right(trained(start, *LORA, *QUICK, *words))


@pytest.mark.slow
@pytest.mark.parametrize(("drill", "what"), [("alone", "the gradient"), ("thaw", "the frozen parameters")])
def test_a_wrong_adapter_or_a_trained_base_is_caught_on_its_rank(start: Start, drill: str, what: str) -> None:
    ended = trained(start, *LORA, *QUICK, NCCLTOOL_FAULT=f"{drill}:rank=1,step=3")
    (problem,) = ended.problems
    assert (ended.code, problem["code"], problem["subject"]["name"]) == (1, "train-wrong", "1"), ended.said
    assert problem["message"].startswith(f"fsdp: {what} of rank 1 differ")


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_stale_statistic_is_caught_on_its_rank(start: Start, rank: int) -> None:
    fault = f"forget:rank={rank},step=2"
    ended = trained(start, "ddp", "--sync-batch-norm", *SMALL, *QUICK, NCCLTOOL_FAULT=fault)
    (problem,) = ended.problems
    assert (ended.code, problem["code"], problem["subject"]["name"]) == (1, "train-wrong", str(rank)), ended.said


@pytest.mark.parametrize(
    "step", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
def test_a_lost_residual_is_caught_on_its_rank(start: Start, step: int) -> None:
    ended = trained(
        start, "ddp", "--comm-hook", "topk", *SMALL, *QUICK, NCCLTOOL_FAULT=f"forget:rank=1,step={step}"
    )
    (problem,) = ended.problems
    assert (ended.code, problem["code"], problem["subject"]["name"]) == (1, "train-wrong", "1"), ended.said
    assert problem["message"].endswith(f"of rank 1 differs from the reference in step {step}")


@pytest.mark.slow
@pytest.mark.parametrize("drill", ["sum", "duplicate:rank=1", "lose:rank=1", "scale:rank=1", "corrupt:rank=1"])
@pytest.mark.parametrize(
    "words",
    [("--comm-hook", "powersgd"), ("--comm-hook", "topk"), ADAMW, ("-d", "half"), LIMITED, ("--halve-on-oom",)],
    ids=lambda w: w[-1],
)
def test_wrong_arithmetic_is_caught_all_the_same(start: Start, drill: str, words: tuple[str, ...]) -> None:
    fault = f"{drill}{',' if ':' in drill else ':'}step=2"
    ended = trained(start, "ddp", *words, *QUICK, NCCLTOOL_FAULT=fault)
    assert (ended.code, [problem["code"] for problem in ended.problems]) == (1, ["train-wrong"]), ended.said
    (training,) = ended.document["trainings"]
    assert training["oracle"]["first_step"] == 2


# ---- files to train with


def tokens(folder: Path) -> str:
    """257 sequences of the context that SMALL has: some are left out at the end of each epoch."""
    (folder / "tokens").write_bytes(bytes(number * number % 251 for number in range(257 * 9)))
    return str(folder)


def test_files_are_the_same_batches_on_any_number_of_ranks(start: Start, tmp_path: Path) -> None:
    words = ("--data", tokens(tmp_path), *SMALL)
    alone = right(trained(start, "ddp", *QUICK, "--nodes", "1", "--nproc-per-node", "1", "--batch", "8", *words))
    # that of the test is too long for the sockets of workers
    two = right(trained(start, "ddp,fsdp", *QUICK, "--batch", "4", "--data-workers", "1", *words, TMPDIR="/tmp"))
    assert losses(two["ddp"]) == pytest.approx(losses(alone["ddp"]))
    assert losses(two["fsdp"]) == pytest.approx(losses(alone["ddp"]))
    assert two["ddp"]["input"] == {
        "sequences": 257,
        "epoch_steps": 32,
        "left_out": 1,
        "wait_ratio": [],
        "stall_ratio": [],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code", "named"),
    [
        ("slow:rank=1,at=input,ms=300", "input-slow", {"kind": "rank", "name": "1"}),
        ("hang:rank=1,at=input,step=2", "rank-hung", {"kind": "rank", "name": "1"}),
    ],
)
def test_the_rank_whose_input_is_slow_or_hangs_is_named(
    start: Start, tmp_path: Path, fault: str, code: str, named: dict[str, str]
) -> None:
    words = ("--data", tokens(tmp_path), *SMALL, *QUICK, "--time-steps", "5")
    ended = trained(start, "ddp", *words, NCCLTOOL_FAULT=fault)
    problem = next(one for one in ended.problems if one["code"] == code)
    assert problem["subject"] == named, ended.said


# ---- what they leave


def test_traces_rows_and_a_stream_that_can_be_collected(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    command = start("ddp", "--profile", str(folder), "--events", "-v", *QUICK[:4], "--time-steps", "2", argv=TRAIN)
    ended = command.wait(LIMIT_S)
    (training,) = right(ended).values()
    rows = [line.split()[1:4] for line in ended.stderr.splitlines() if "] ddp " in line]
    assert rows == [*(["ddp", "step", str(number)] for number in (1, 2, 3, 4)), ["ddp", "2", "timed"]]
    assert f"loss {training['steps'][0]['loss']:.7g}  reference " in ended.stderr
    for rank in (0, 1):
        with gzip.open(folder / f"ddp-rank{rank}.pt.trace.json.gz") as file:
            names = [event.get("name") for event in json.load(file)["traceEvents"]]
        assert {"nccltool step 1", "nccltool step 8", "gloo:all_reduce"} <= set(names)
    assert f" per step; nccltool trace {folder}/ddp-rank*" in ended.stderr
    log = tmp_path / "log"
    log.write_text(ended.stdout)
    again = start("collect", str(log), "--format", "json", argv=NCCLTOOL).wait(LIMIT_S)
    assert again.code == 0, again.said
    assert json.loads(again.stdout)["trainings"] == ended.document["trainings"]
    form = start("collect", str(log), "--format", "csv", argv=NCCLTOOL).wait(LIMIT_S)
    assert (form.code, form.stdout.splitlines()[1].split(",")[1]) == (0, "ddp"), form.said


@pytest.mark.slow
def test_a_folder_for_traces_that_a_rank_cannot_write(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    (folder / "ddp-rank1.pt.trace.json.gz").mkdir(parents=True)
    ended = trained(start, "ddp", "--profile", str(folder), *QUICK)
    assert (ended.code, ended.document["status"]) == (0, "warn"), ended.said
    (problem,) = ended.problems
    file = f"{folder}/ddp-rank1.pt.trace.json.gz"
    assert (problem["code"], problem["subject"]) == ("profile-not-written", {"kind": "file", "name": file})
    assert problem["message"] == f"rank 1 could not write its profiler trace {file}: Is a directory"


HAS_TENSORBOARD = importlib.util.find_spec("tensorboard") is not None


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TENSORBOARD, reason="needs the package tensorboard, which is not a dependency")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_tensorboard_reads(start: Start, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    ended = trained(start, "ddp,fsdp", "--tensorboard", str(tmp_path), *QUICK, "--time-steps", "2")
    for name, training in right(ended).items():
        board = EventAccumulator(str(tmp_path / ended.document["run"]["id"] / name))
        board.Reload()
        seen = {tag: [(one.step, one.value) for one in board.Scalars(tag)] for tag in board.Tags()["scalars"]}
        assert seen["loss"] == [(step["step"], pytest.approx(step["loss"])) for step in training["steps"]]
        assert seen["timed/samples_per_s"] == [(4, pytest.approx(training["throughput_samples_per_s"]))]
        assert "timed/model_flop_utilisation" not in seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "settings"), [("ddp", 5), ("fsdp", 5), ("pipeline", 5), ("zero1", 4), ("ring", 2)]
)
def test_settings_of_overlap_train_the_same(start: Start, strategy: str, settings: int) -> None:
    ended = trained(start, strategy, *SMALL, "--nodes", "2", "--steps", "3", "--time-steps", "0", "--tune")
    tuned = right(ended)[strategy]["tuning"]
    assert {one["status"] for one in tuned["settings"]} == {"pass"}
    assert len(tuned["settings"]) >= settings
    assert tuned["rounds"] >= 10
    assert [one["ratio"] is None for one in tuned["settings"]] == [True] + [False] * (len(tuned["settings"]) - 1)


@pytest.mark.slow
def test_a_rank_that_is_killed_amid_the_settings_is_named_and_the_rounds_are_kept(start: Start) -> None:
    command = start("ddp", *SMALL, *QUICK, "--tune", argv=TRAIN)
    command.wait_for("variant-timed", LIMIT_S)
    pid = command.wait_for("spawned", rank=1)["pid"]
    os.kill(pid, signal.SIGKILL)
    ended = command.wait(LIMIT_S)
    (problem,) = ended.problems
    assert (problem["code"], problem["subject"]) == ("rank-died", {"kind": "rank", "name": "1"}), ended.said
    assert re.search(rf"pid {pid}\) was killed by SIGKILL in the settings of ddp", problem["message"]), ended.said
    (training,) = ended.document["trainings"]
    assert training["tuning"]["rounds"] >= 10
    assert None not in [one["ratio"] for one in training["tuning"]["settings"][1:]]


SERIES = ("--steps", "1", "--time-steps", "3", "--global-batch", "none", "--format", "json")
NO_POINT = {"dp": [1, 2, 4], "model": [1], "three_d": [1, 2], "tp_fsdp": [1], "tp_moe": [1]}
"""Of 1, 2, and 4 ranks."""


def series_of(start: Start, *words: str) -> tuple[dict[str, list[int]], dict[str, dict[str, Any]]]:
    """Of each strategy the numbers of ranks on its curve, and what is left out of the series."""
    ended = start(*words, *SERIES, argv=TRAIN).wait(2 * LIMIT_S)
    assert (ended.code, ended.litter) == (0, []), ended.said
    document = json.loads(ended.stdout)
    curves = {curve["of"]: [point["ranks"] for point in curve["points"]] for curve in document["curves"]}
    return curves, {one["of"]: one for one in document["left_out"]}


@pytest.mark.slow
def test_each_strategy_has_a_curve_or_a_reason_why_not(start: Start) -> None:
    missing = NO_POINT | ({} if importlib.util.find_spec("deepspeed") else {"deepspeed": [1, 2, 4]})
    points = {
        name: [ranks for ranks in (1, 2, 4) if ranks not in missing.get(name, ())] for name in strategies.NAMES
    }
    curves, left_out = series_of(start, "all", "--scaling", "1,2,4")
    assert curves == {name: ranks for name, ranks in points.items() if len(ranks) > 1}
    assert {name: one["ranks"] for name, one in left_out.items()} == missing
    assert all(one["reason"] for one in left_out.values())


@pytest.mark.slow
def test_a_series_of_groups_of_four(start: Start) -> None:
    assert series_of(start, "3d", "--scaling", "4,8") == ({"three_d": [4, 8]}, {})
