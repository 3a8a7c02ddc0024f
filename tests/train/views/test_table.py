"""Trainings for people: a row for each, and what is told beneath."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nccltool.core.look import Look
from nccltool.core.verdicts import Verdict
from nccltool.launch import events
from nccltool.train import peak_flops
from nccltool.train.events import NotTrained
from nccltool.train.job import TrainSpec
from nccltool.train.result import TrainRun
from nccltool.train.views import table
from tests.samples import facts, finding
from tests.train.test_judge import RIGHT, WORLD, judged
from tests.train.test_tuning import named_settings

VERBOSE = Look(verbose=True)


def rows(run: TrainRun) -> list[list[str]]:
    lines = table.render(run).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("strategy"))
    return [line.split() for line in lines[start + 2 : start + 2 + len(run.trainings)]]


def test_the_table() -> None:
    assert rows(judged(*RIGHT)) == [["ddp", "pass", "20", "ms", "400", "25", "50", "256"]]
    assert table.render(judged(*RIGHT)).startswith("PASS train: ddp equals the reference, 20 ms per step\n")
    assert "\nddp          12800      6400       1e-05  0.00011\n" in table.render(judged(*RIGHT), VERBOSE)
    nothing = judged(NotTrained(strategy="ddp", reason="so"))
    assert rows(nothing) == [["ddp", "skip", "?", "?", "?", "?", "?"]]
    text = table.render(nothing)
    assert "INFO left-out: ddp was left out: so\n" in text
    assert text.startswith("UNKNOWN train: no strategy was compared with the reference; 1 skipped\n")


def test_the_first_line_names_what_ended_the_run_and_the_suspect() -> None:
    died = replace(judged(*RIGHT), trainings=(), findings=(finding(),))
    assert table.headline(died) == "train: rank-died; suspect: rank 1"


def hello(rank: int, gpu_name: str | None) -> events.Hello:
    return events.Hello(facts=facts(rank=rank, gpu=f"GPU-{rank}" if gpu_name else None, gpu_name=gpu_name))


H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"


@pytest.mark.parametrize(
    ("names", "spec", "peak", "source"),
    [
        (
            (H100, H100),
            {"dtype": "bfloat16"},
            989.5e12,
            "NVIDIA's data sheet for H100 SXM: 989.5 TFLOP/s (dense, bfloat16)",
        ),
        (
            (H100, A100),
            {"dtype": "bfloat16"},
            312e12,
            "NVIDIA's data sheet for A100: 312 TFLOP/s (dense, bfloat16)",
        ),
        ((H100, H100), {}, 67e12, "NVIDIA's data sheet for H100 SXM: 67 TFLOP/s (dense, float32)"),
        ((H100, "Some GPU"), {}, None, "unknown: no data sheet value of Some GPU for float32"),
        (
            (H100, None),
            {},
            None,
            "unknown: a rank has no GPU, and the peak rate of its CPU cores is unknown",
        ),
    ],
)
def test_utilisation(names: tuple[str | None, ...], spec: dict[str, Any], peak: float | None, source: str) -> None:
    said = [hello(rank, name) for rank, name in enumerate(names)]
    run = judged(msgspec.structs.replace(WORLD, backend="nccl"), *said, *RIGHT, **spec)
    (done,) = run.trainings
    assert done.model_flop_utilisation_source == source
    text = table.render(run, VERBOSE)
    assert f"MFU, model FLOP utilisation: {source}\n" in text
    if peak is None:
        assert done.model_flop_utilisation is None
        assert " MFU " not in table.render(run)
    else:
        need = 12800 * peak_flops.flop_per_token(TrainSpec(strategies=("ddp",)))
        assert done.model_flop_utilisation == pytest.approx(need / peak / 2)
        assert "  MFU %  " in text
        assert f"  {done.model_flop_utilisation:.1%}  ".replace("%", "") in text


def test_gpus_that_gloo_leaves_unused_have_no_utilisation() -> None:
    run = judged(hello(0, H100), hello(1, H100), *RIGHT)
    (done,) = run.trainings
    source = "unknown: with Gloo, ranks do not use GPUs, and the peak rate of CPU cores is unknown"
    assert (done.model_flop_utilisation, done.model_flop_utilisation_source) == (None, source)
    assert (run.info.backend, run.info.gpu) == ("gloo", "")


def test_the_slowest_rank_is_shown() -> None:
    assert "at least 25 % slower than the typical rank, without communication: rank 1 in ddp\n" in table.render(
        judged(*RIGHT)
    )


def test_a_training_that_was_interrupted() -> None:
    run = replace(judged(WORLD), verdict=Verdict(status="incomplete", exit_code=130))
    assert table.render(run).startswith(
        "INCOMPLETE interrupted: train: no strategy was compared with the reference"
    )


def test_strategies_that_are_tuned_have_one_table() -> None:
    tuned = named_settings({"as asked for": 1.0, "one bucket: no overlap": 1.2, "views": 0.9})
    run = judged(*RIGHT)
    one = replace(run.trainings[0], tuning=tuned)
    assert "exposed communication by strategy" not in table.render(replace(run, trainings=(one, *run.trainings)))
    several = table.render(replace(run, trainings=(one, replace(one, strategy="fsdp"))))
    lines = several.split("exposed communication by strategy\n\n")[1].splitlines()
    assert [line.split() for line in lines[2:8:2]] == [
        ["ddp", "as", "asked", "for", "20", "(10-30)"],
        ["ddp", "views", "11", "(10-30)", "0.90", "0.90", "-", "0.90", "yes"],
        ["fsdp", "one", "bucket:", "no", "overlap", "33", "(10-33)", "1.20", "1.20", "-", "1.20"],
    ]
