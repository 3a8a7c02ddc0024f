"""The order of a measurement: parameters mean what options mean."""

from dataclasses import replace

import pytest

from nccltool.api import measuring
from nccltool.api.measuring import MeasureOptions
from nccltool.core.errors import BadInput

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


def test_a_parameter_that_is_wrong() -> None:
    with pytest.raises(BadInput) as raised:
        measuring.order(replace(ASKED, ops=("all_reduc",)))
    assert "did you mean all_reduce?" in raised.value.remedy
