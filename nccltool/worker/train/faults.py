"""Fault injection into training runs: a wrapper around a strategy, which then computes something else.

Strategies know nothing of it. What is lost depends on what a rank holds: of the whole model, its data; of shards,
one of them; of some of the layers, their gradients.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn

from nccltool.launch.fault_injection import Fault
from nccltool.train.strategies import fsdp
from nccltool.train.strategies.base import DataParallelOptions
from nccltool.worker.train import experts, gradients
from nccltool.worker.train.expert_parallel import ExpertParallel
from nccltool.worker.train.experts import Process
from nccltool.worker.train.gradients import local
from nccltool.worker.train.strategies.base import Strategy


def wrapped(strategy: Strategy) -> Strategy:
    """The strategy, wrong where that was asked for."""
    fault = strategy.setup.tools.injector.numerical(strategy.setup.name)
    return strategy if fault is None else cast(Strategy, _WrongStrategy(strategy, fault))


class _WrongStrategy:
    """Another strategy, whose numbers are wrong in the steps where the fault is due."""

    def __init__(self, strategy: Strategy, fault: Fault) -> None:
        self._strategy, self._fault = strategy, fault
        self._is_culprit = fault.rank == strategy.setup.rank
        self._calls, self._first = 0, torch.empty(0)
        if strategy.HOLDS != "layers":
            strategy.model.register_forward_hook(self._weigh)
        elif strategy.inner_layers is not None:
            strategy.inner_layers.register_forward_pre_hook(self._repeat_activations)
        if self._is_culprit and fault.action == "alone" and strategy.setup.spec.of(fsdp.Options).lora:
            _keep_own_part(strategy.model, lambda: self._does("alone"))
        for layer in experts.of(strategy.model):
            layer.process = partial(self._process, layer.process)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """As the strategy does, on other data, after other parameters, or with other gradients."""
        strategy, self._calls = self._strategy, 0
        if self._does("duplicate"):
            tokens = self._other(tokens)
        before = (
            {name: state.clone() for name, state in strategy.carried().items()} if self._does("forget") else None
        )
        if self._does("forget"):
            for state in strategy.own_optimizer().state.values():
                for value in filter(torch.is_tensor, state.values()):
                    value.zero_()
        if self._does("lose") and strategy.HOLDS == "shards":
            with torch.no_grad():
                max((local(p) for p in strategy.model.parameters()), key=Tensor.numel).zero_()
        losses = strategy.forward_backward(tokens)
        if strategy.HOLDS == "layers" and (factor := self._factor()) != 1:
            for gradient in gradients.of(strategy.model.parameters()):
                local(gradient).mul_(factor)
        if before is not None:
            for name, state in strategy.carried().items():
                state.copy_(before.get(name, torch.zeros_like(state)))
        return losses

    def validated(self, batches: Sequence[Tensor]) -> float:
        """As if a mean of means were the mean, or as if a rank went by what it has seen itself."""
        strategy = self._strategy
        loss: float = strategy.validated(batches)
        mean = torch.div(*strategy.validation_sums(batches))
        if self._does("alone"):
            return float(mean)
        if self._is_due("mean"):
            strategy.setup.group.add_up(mean)
            loss = float(mean) / strategy.setup.world
        return loss

    def micro_batch_norm(self, square: float) -> float:
        """As if a rank went by its own micro-batches."""
        strategy = self._strategy
        norm = strategy.micro_batch_norm(square)
        return strategy.root_mean(square, strategy.accumulate) if self._does("alone") else norm

    def unscale(self) -> None:
        """As the strategy does; one element of one gradient is as if another one had been added to it."""
        self._strategy.unscale()
        if not self._is_due("corrupt"):
            return
        named = self._strategy.named_parameters()  # on all ranks, which may have to give their parts
        mine = [local(gradient) for gradient in gradients.of(p for _, p in named)]
        if self._is_culprit:
            largest = max((one for one in mine if one.numel()), key=lambda one: float(one.abs().max()))
            flat = largest.view(-1)
            flat[len(flat) // 2] += float(largest.abs().max())

    def update(self) -> None:
        """As the strategy does, of more than it should."""
        self._strategy.update()
        if self._does("thaw"):
            with torch.no_grad():
                for p in self._strategy.model.parameters():
                    if not p.requires_grad:
                        local(p).copy_(torch.nextafter(local(p), torch.zeros_like(local(p))))

    def _is_due(self, action: str) -> bool:
        fault = self._fault
        return fault.action == action and fault.step in (None, self._strategy.setup.number)

    def _does(self, action: str) -> bool:
        return self._is_culprit and self._is_due(action)

    def _misleads(self, action: str) -> bool:
        """With all ranks that see the same tokens: else sizes differ between them, and no call ends."""
        strategy = cast(ExpertParallel, self._strategy)
        return self._is_due(action) and self._fault.rank // strategy.ALIKE == strategy.replica

    def _factor(self) -> float:
        strategy, is_layers = self._strategy, self._strategy.HOLDS == "layers"
        if self._is_due("sum"):  # on all ranks
            return max(2.0, strategy.micro_batches / strategy.setup.spec.of(DataParallelOptions).accumulate)
        if self._does("scale"):  # by one micro-batch too few
            return strategy.micro_batches / max(strategy.micro_batches - 1, 0.5) if is_layers else 2.0
        return 0.0 if self._does("lose") and strategy.HOLDS != "shards" else 1.0

    def _weigh(self, model: nn.Module, inputs: Any, scores: Tensor) -> None:
        """As if the loss had counted so much more when the backward pass began."""
        factor = self._factor()
        if factor != 1 and scores.requires_grad:
            scores.register_hook(lambda gradient: gradient * factor)

    def _process(self, right: Process, tokens: Tensor, counts: list[int]) -> Tensor:
        """Tokens that go to the wrong experts: all to the next one, or as two lengths of the parts are swapped."""
        if self._misleads("misroute"):
            parts = tokens.split(counts)
            done = right(torch.cat([parts[-1], *parts[:-1]]), [counts[-1], *counts[:-1]])
            return done.roll(-counts[-1], 0)
        if self._misleads("swap"):
            most, least = counts.index(max(counts)), counts.index(min(counts))
            counts = list(counts)
            counts[most], counts[least] = counts[least], counts[most]
        return right(tokens, counts)

    def _other(self, tokens: Tensor) -> Tensor:
        """The next replica's data; of the only one, some sequences, or a micro-batch, in the place of others."""
        strategy = self._strategy
        if strategy.HOLDS != "layers":
            if strategy.replicas > 1:
                return tokens.roll(-len(tokens) // strategy.replicas, 0)
            tokens = tokens.roll(1, 0)
            tokens[0] = tokens[-1]
            return tokens
        if strategy.inner_layers is None:
            tokens = tokens.clone()
            mine = tokens.chunk(strategy.replicas)[strategy.replica]
            count = len(mine) // max(self._micro_batches, 2)
            mine[-count:] = mine[:count]
        return tokens

    @property
    def _micro_batches(self) -> int:
        """Of this rank's replica."""
        return self._strategy.micro_batches // self._strategy.replicas

    def _repeat_activations(self, layers: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        """The same where a rank sees no data: of what comes from the ranks before it."""
        if not self._does("duplicate"):
            return None
        (came,) = inputs
        self._calls += 1
        if self._calls == 1:
            self._first = came.detach().clone()
        if self._calls != self._micro_batches:
            return None
        count = len(came) if self._calls > 1 else len(came) // 2
        change = torch.zeros_like(came)
        change[-count:] = self._first[:count] - came.detach()[-count:]
        return (came + change,)


def _keep_own_part(model: nn.Module, is_due: Callable[[], bool]) -> None:
    """Of FSDP2: have this rank update its shards with its own gradients, as if nobody had added them up."""
    from torch.distributed.fsdp import FSDPModule
    from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultReduceScatter

    class OwnPart(DefaultReduceScatter):
        def __call__(
            self, output_tensor: Tensor, input_tensor: Tensor, group: dist.ProcessGroup, op: Any, **more: Any
        ) -> Any:
            work = super().__call__(output_tensor, input_tensor, group, op, **more)
            if is_due():
                if work is not None:
                    work.wait()
                mine = input_tensor.chunk(group.size())[group.rank()]
                output_tensor.copy_(mine if op == dist.ReduceOp.AVG else mine * group.size())
            return work

    for part in model.modules():
        if isinstance(part, FSDPModule):
            part.set_custom_reduce_scatter(OwnPart())
