"""What a rank sends to experts elsewhere, counted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from nccltool.plan import calls
from nccltool.plan.calls import CollectiveCalls
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Experts
from nccltool.plan.recipe import Recompute
from nccltool.plan.trained import MeasuredTraining
from nccltool.train.job import TrainSpec
from nccltool.train.result import ModelShape
from nccltool.worker.train.strategies import build
from nccltool.worker.train.strategies.base import Setup
from tests.worker.train.fake_world import average, calls_of_a_step, rank_of

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]


@pytest.mark.parametrize("world", [2, 3, 8])
@pytest.mark.parametrize("top_k", [1, 2])
def test_bytes_of_a_forward_pass(world: int, top_k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the lengths, and of this rank's tokens; what it sends back depends on the others."""
    sent: list[int] = []
    original = dist.all_to_all_single

    def counted(into: torch.Tensor, out: torch.Tensor, *words: Any, **more: Any) -> Any:
        sent.append(out.nbytes)
        return original(into, out, *words, **more)

    with rank_of(world - 1, world) as tools:
        spec = TrainSpec(strategies=("moe",), options={"top_k": top_k})
        strategy = build(Setup("moe", spec, tools))
        assert isinstance(strategy.wrapper, DistributedDataParallel)
        strategy.wrapper.register_comm_hook(None, average)
        monkeypatch.setattr(dist, "all_to_all_single", counted)
        with torch.no_grad():
            strategy.model(strategy.my_part(strategy.setup.tokens(1))[:, :-1])
    tokens = spec.batch * spec.context * top_k * spec.width * 4
    assert (sent[::3], sent[1::3]) == ([8 * 8] * spec.layers, [tokens] * spec.layers)


def planned_calls(spec: TrainSpec, world: int, layout: ParallelLayout) -> Sequence[CollectiveCalls]:
    sizes = {name: getattr(spec, name) for name in ("layers", "width", "heads", "context", "vocabulary", "batch")}
    shape = ModelShape(**sizes, grown=(), ranks=1, replicas=world)
    dense = MeasuredTraining(strategy="ddp", shape=shape, ranks=world)
    model = replace(dense.model, experts=Experts(count=8, active=2, width=4 * spec.width))
    return calls.of(model, layout, dense.recipe)


@pytest.mark.parametrize(("recompute", "how"), [(False, "none"), (True, "full")])
@pytest.mark.parametrize(("name", "pair"), [("moe", 1), ("tp_moe", 2)])
def test_a_plan_has_the_exchanges_of_a_step(name: str, pair: int, recompute: bool, how: Recompute) -> None:
    """Both ranks of a pair send all of its tokens, where a plan has each send half of them."""
    with rank_of(0, 4) as tools:
        spec = TrainSpec(strategies=(name,), recompute=recompute)
        strategy = build(Setup(name, spec, tools))
        made = calls_of_a_step(strategy)
    layout = ParallelLayout(
        replicate=4 // pair, tensor=pair, expert=4 // pair, micro_batch=spec.batch * pair, recompute=how
    )
    (planned,) = (one for one in planned_calls(spec, 4, layout) if one.axis == "expert")
    lengths = 8 * 8 * spec.layers * (2 if recompute else 1)
    assert made.counts["all_to_all"] == planned.count
    assert made.sizes["all_to_all"] - lengths == pair * (planned.bytes - lengths)


@pytest.mark.parametrize(("world", "replicas"), [(4, 1), (16, 2)])
def test_a_plan_reduces_experts_only_between_replicas(world: int, replicas: int) -> None:
    with rank_of(0, world) as tools:
        spec = TrainSpec(strategies=("moe",))
        made = calls_of_a_step(build(Setup("moe", spec, tools)))
    layout = ParallelLayout(replicate=world, expert=world // replicas, micro_batch=spec.batch)
    planned = [one for one in planned_calls(spec, world, layout) if one.operation == "all_reduce"]
    assert [one.ranks for one in planned] == [world, replicas][:replicas]
    assert made.sizes["all_reduce"] == sum(one.bytes for one in planned)
