"""Trainings, as outcomes."""

from dataclasses import replace

import pytest

from nccltool.core.verdicts import Verdict
from nccltool.preflight import host_verdicts
from nccltool.preflight.stages.train import TrainPart, of_trainings
from nccltool.train.result import TrainingResult, TrainRun
from tests import samples
from tests.preflight.samples import found, ran, told


def training(strategy: str) -> TrainingResult:
    """One that passed: nobody timed it."""
    return TrainingResult(
        strategy=strategy,
        status="pass",
        reason="",
        steps=(),
        oracle=None,
        step_time_s=None,
        throughput_samples_per_s=None,
        throughput_tokens_per_s=None,
        exposed_communication_ratio=None,
        exposed_communication_method="",
        scaling_efficiency=None,
        slowest_rank=None,
        peak_memory_bytes=(),
    )


def test_trainings() -> None:
    trained = TrainRun(
        info=samples.info(emulated=False),
        verdict=Verdict(status="fail", exit_code=1),
        findings=(found("train-wrong", "rank", "3", message="fsdp: the loss of rank 3 differs"),),
        trainings=(training("ddp"), replace(training("fsdp"), status="fail")),
    )
    part = TrainPart(strategies=("ddp", "fsdp"))
    outcomes = of_trainings(replace(ran(trained), stage="train"), part)
    assert told(outcomes) == {
        ("train/completed", None): ("pass", ""),
        ("train/ddp", None): ("pass", ""),
        ("train/fsdp", "n2"): ("fail", "suspected"),
    }


@pytest.mark.parametrize(
    ("strategies", "applies", "status"),
    [
        (("ddp", "tensor"), True, "unknown"),
        (("ddp", "tensor"), False, "unknown"),
        (("all",), True, "unknown"),
        (("all",), False, "skip"),
    ],
)
def test_what_was_left_out_is_no_pass(strategies: tuple[str, ...], applies: bool, status: str) -> None:
    """Of `all`, what is meant for other worlds, or is not installed, is not missed."""
    reason = "11 ranks cannot be split into groups of 2 to 8"
    trained = TrainRun(
        info=samples.info(emulated=False),
        verdict=Verdict(status="unknown", exit_code=4),
        findings=(),
        trainings=(training("ddp"), replace(training("tensor"), status="skip", reason=reason, applies=applies)),
    )
    outcomes = list(of_trainings(replace(ran(trained), stage="train"), TrainPart(strategies=strategies)))
    assert [one.status for one in outcomes] == ["pass", "pass", status]
    assert outcomes[-1].required
    assert outcomes[-1].reason.endswith(reason)
    assert host_verdicts.verdict(outcomes, interrupted=False).exit_code == (4 if status == "unknown" else 0)
