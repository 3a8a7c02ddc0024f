"""The calls and bytes that the docstring of a strategy states are those of a step on rank 0 of 4."""

import re
from importlib import import_module

import pytest

from nccltool.train import strategies
from nccltool.train.job import TrainSpec
from nccltool.worker.train import lora
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
    spec = TrainSpec(strategies=(name,))
    assert_counted(spec, import_module(f"{of_worker.__name__}.{name}").__doc__)


def test_only_gradients_of_adapters_are_reduced() -> None:
    assert_counted(TrainSpec(strategies=("fsdp",), options={"lora": 4}), lora.__doc__)


def assert_counted(spec: TrainSpec, docstring: str | None) -> None:
    with rank_of(0, 4) as tools:
        calls = calls_of_a_step(of_worker.build(Setup(spec.strategies[0], spec, tools)))
    text = " ".join((docstring or "").split())
    stated = re.findall(r"(\d+) (\w+), ([\d,]+) bytes", text.partition(" on rank 0 of 4: ")[2])
    assert sorted(stated) == sorted(
        (f"{count}", call, f"{calls.sizes[call]:,}") for call, count in calls.counts.items()
    )
