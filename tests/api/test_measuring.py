"""The order of a measurement: parameters mean what options mean."""

from dataclasses import replace

import pytest

from nccltool.api import measuring
from nccltool.api.measuring import MeasureOptions, PairMeasureOptions
from nccltool.core.errors import BadInput
from nccltool.localize.pairs.job import PairsJob

ASKED = MeasureOptions(
    ops=("all_reduce", "broadcast"),
    sizes=("1KiB", "1MiB"),
    dtype="float32",
    reduce_op="sum",
    placement="natural",
    checks=1,
    iterations=5,
    nodes=2,
    nproc_per_node=1,
    hosts=None,
    launcher="local",
    backend="gloo",
    timeout_s=7.0,
    deadline_s=60.0,
)


def test_parameters_are_options() -> None:
    order = measuring.order(ASKED)
    assert (order.job.ops, order.job.nodes, order.job.nproc_per_node) == (("all_reduce", "broadcast"), 2, 1)
    assert order.job.timeout_s == 7.0


PAIRS = PairMeasureOptions(
    op="send_recv",
    size="1MiB",
    pair_time_s=0.2,
    rounds=3,
    all_pairs=True,
    groups=2,
    within=False,
    expect="5GB/s",
    topology=None,
    nodes=4,
    nproc_per_node=1,
    hosts=None,
    launcher="local",
    backend="gloo",
    timeout_s=7.0,
    deadline_s=60.0,
    run_dir=None,
)


def test_parameters_of_pairs_are_options() -> None:
    made = measuring.pairs_of(PAIRS)
    assert isinstance(made.order.job, PairsJob)
    spec = made.order.job.pairs
    assert (spec.op, spec.bytes, spec.most_rounds, spec.is_all_pairs, spec.budget_s) == (
        "send_recv",
        2**20,
        3,
        True,
        0.2,
    )
    assert (spec.expected_busbw_bytes_per_s, made.order.job.nodes, made.order.job.timeout_s) == (5e9, 4, 7.0)
    assert made.command == ("nccltool.api.pairs",)


def test_a_parameter_that_is_wrong() -> None:
    with pytest.raises(BadInput) as raised:
        measuring.order(replace(ASKED, ops=("all_reduc",)))
    assert "did you mean all_reduce?" in raised.value.remedy
