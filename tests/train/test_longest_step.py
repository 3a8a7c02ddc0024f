"""The longest that a step of a training can wait."""

import pytest

from nccltool.probe.longest_call import SLOWEST_RATE
from nccltool.train import longest_step
from nccltool.train.job import TrainSpec

SMALL = TrainSpec(strategies=("ddp",))
GPT2 = TrainSpec(strategies=("ddp",), layers=12, width=768, heads=12, context=1024, vocabulary=50257, batch=1)
"""163 million parameters: that of 124 million with a head of its own."""


@pytest.mark.parametrize(
    ("spec", "world", "seconds"),
    [
        (SMALL, 1, 0.0),  # nothing travels
        (SMALL, 2, 0.09),  # small ones are named as fast as ever
        (SMALL, 8, 0.19),
        (GPT2, 2, 54.3),  # gradients there and back over 1 GbE take 11 s
    ],
)
def test_inside_a_step(spec: TrainSpec, world: int, seconds: float) -> None:
    assert longest_step.inside_s(spec, world, SLOWEST_RATE) == pytest.approx(seconds, rel=0.1)
