from dataclasses import replace

import pytest

from nccltool.plan import calls, trained
from nccltool.plan.calls import Operation
from nccltool.plan.hardware import Machine, MeasuredCollective
from nccltool.plan.trained import MeasuredTraining
from nccltool.train.result import ModelShape
from tests.plan.samples import H100

SHAPE = ModelShape(
    layers=6, width=192, heads=6, context=64, vocabulary=512, batch=8, grown=(), ranks=1, replicas=1
)


def step(strategy: str, ranks: int = 2) -> MeasuredTraining:
    shape = replace(SHAPE, ranks=ranks) if strategy == "pipeline" else SHAPE
    return MeasuredTraining(strategy=strategy, shape=shape, ranks=ranks, micro_batches=2 * ranks)


def gloo(seconds_per_byte: float, alpha_s: float = 0.0) -> Machine:
    """Of two hosts, whose every operation takes its bytes times this."""
    operations: tuple[Operation, ...] = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "send_recv")
    measured = tuple(
        MeasuredCollective(
            operation=one, ranks=2, is_across=True, alpha_s=alpha_s, busbw_bytes_per_s=1 / seconds_per_byte
        )
        for one in operations
    )
    return replace(H100, gpus=1, measured=measured, is_gloo=True, memory_bytes_per_s=1e15)


@pytest.mark.parametrize(
    ("strategy", "counted"),
    [
        ("ddp", {"all_reduce": (2, 11_513_856)}),
        ("zero1", {"all_reduce": (2, 11_513_856), "broadcast": (101, 11_513_856)}),
        ("fsdp", {"all_gather": (16, 23_027_712), "reduce_scatter": (8, 11_513_856)}),
        ("pipeline", {"send_recv": (4, 786_432)}),
    ],
)
def test_calls_and_bytes_are_those_that_torch_dispatched(
    strategy: str, counted: dict[str, tuple[int, int]]
) -> None:
    """Counted on two hosts by scripts/bench plan_links."""
    one = step(strategy)
    found = calls.of(one.model, one.layout, one.recipe)
    assert {call.operation: (call.count, call.bytes) for call in found} == counted


def test_the_arithmetic_is_that_of_the_rank_alone() -> None:
    one = step("ddp")
    time = trained.predicted(one, trained.with_arithmetic(gloo(1e-15), one, 0.5))
    assert time.compute == pytest.approx(0.5)
    assert time.total == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize(("strategy", "factor"), [("ddp", 1.0), ("fsdp", 1.5)])
def test_on_slow_links_the_bytes_are_the_step(strategy: str, factor: float) -> None:
    """Of FSDP, nothing is hidden on Gloo; of DDP, what is ready before the end of the backward pass."""
    one = step(strategy)
    time = trained.predicted(one, trained.with_arithmetic(gloo(1e-7), one, 0.001))
    assert time.total == pytest.approx(factor * 11_513_856 * 1e-7, rel=0.01)


def test_buckets_hide_behind_the_backward_pass() -> None:
    """The first bucket is reduced while gradients of the second are computed."""
    one = step("ddp")
    time = trained.predicted(one, trained.with_arithmetic(gloo(1e-8), one, 0.6))
    assert 0 < time.hidden < 0.02
    assert time.exposed + time.hidden == pytest.approx(11_513_856 * 1e-8, rel=0.01)


def test_a_pipeline_waits_for_its_messages() -> None:
    one = step("pipeline")
    fast, slow = (trained.predicted(one, trained.with_arithmetic(gloo(each), one, 1.0)) for each in (1e-12, 1e-7))
    assert fast.total == pytest.approx(1.25, rel=0.02)
    assert slow.total > fast.total + 2 * 196_608 * 1e-7
