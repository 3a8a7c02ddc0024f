"""The calls and bytes that the docstring of a strategy states are those of a step on rank 0 of 4."""

import re
import sys

import pytest

from nccltool.train import strategies
from nccltool.train.job import TrainSpec
from nccltool.worker.train import strategies as of_worker
from nccltool.worker.train.strategies.base import Setup
from tests.worker.train.fake_world import calls_of_a_step, rank_of

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]
ELSEWHERE = {"dp", "deepspeed"}
"""One process; a library that the tests do not install."""


@pytest.mark.parametrize("name", sorted({*strategies.NAMES} - ELSEWHERE))
def test_what_the_docstring_says(name: str) -> None:
    with rank_of(0, 4) as tools:
        strategy = of_worker.build(Setup(name, TrainSpec(strategies=(name,)), tools))
        calls = calls_of_a_step(strategy)
    text = " ".join((sys.modules[type(strategy).__module__].__doc__ or "").split())
    stated = re.findall(r"(\d+) (\w+), ([\d,]+) bytes", text.partition(" on rank 0 of 4: ")[2])
    assert sorted(stated) == sorted(
        (f"{count}", call, f"{calls.sizes[call]:,}") for call, count in calls.counts.items()
    )
