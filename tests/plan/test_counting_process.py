"""Counting in another process."""

from dataclasses import replace

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch import torch_needed
from nccltool.plan import counting_process, run
from tests.plan import samples


def test_without_torch_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_needed, "missing", lambda: ("torch",))
    with pytest.raises(BadInput, match="--check counts what torch does"):
        run.with_counts(samples.plan(8))


def test_what_cannot_be_counted_starts_no_process() -> None:
    plan = samples.plan(8, strategies=("zero2",))
    found = counting_process.check(plan.model, plan.recipe, plan.strategies[:1])
    assert [one.reason for one in found] == ["torch itself has no ZeRO 2"]


@pytest.mark.torch
def test_the_choice_is_as_torch_does_it() -> None:
    # few layers fit without recomputation: with it, what torch stores differs by 15 % from run to run
    few_layers = replace(samples.LLAMA_8B, layers=8)
    plan = samples.plan(8, few_layers, strategies=("fsdp",), tensor=1, pipeline=1, context=1)
    (found,) = counting_process.check(plan.model, plan.recipe, plan.strategies[:1])
    assert (found.name, found.reason, found.wrong) == ("fsdp8", "", ())
    assert {"all_gather calls", "reduce_scatter bytes", "activations"} <= {row.what for row in found.rows}
