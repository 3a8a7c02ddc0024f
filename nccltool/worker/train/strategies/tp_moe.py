"""Tensor parallelism in pairs of ranks, experts between the pairs: a mesh of three dimensions.

Both ranks of a pair see the same tokens, and the first one's router chooses for both, so that sizes never differ
between them. Each sends all of the tokens to the rank that has the same half of the expert, and the pair there
adds up what its halves make of them before it sends them back.

A step of the default model on rank 0 of 4: 20 all_to_all, 2,097,408 bytes, as in `moe`, but with the tokens of the
pair; 26 all_reduce, 3,443,712 bytes, where choices are even: 2 forward and 4 backward in each of 4 blocks, and the
gradients of experts and of all else; 4 broadcast, 16,384 bytes, of choices.
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import torch
import torch.distributed as dist
import torch.nn.functional as functional
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

from nccltool.train.strategies.tp_moe import RANKS, groups
from nccltool.worker.train import experts, gradients, splitting
from nccltool.worker.train.expert_parallel import ExpertParallel
from nccltool.worker.train.experts import Expert
from nccltool.worker.train.gradients import local
from nccltool.worker.train.strategies.base import Setup


class Training(ExpertParallel):
    COLLECTIVES: ClassVar = {
        "forward": "broadcast of choices, all_to_all of tokens to their experts and back, all_reduce of halves",
        "backward": "all_to_all and all_reduce of their gradients",
        "averaging": "all_reduce of the gradients",
    }
    WITHOUT_SYNC = False
    ALIKE: ClassVar = RANKS

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        shape = (*groups(setup.world), RANKS)
        mesh = init_device_mesh(setup.device.type, shape, mesh_dim_names=("replicate", "expert", "tensor"))
        self.model = self.whole_model()
        self.share_experts(self.model, mesh.get_group("expert"))
        self._pair = mesh["tensor"]
        splitting.cut(self.model, self._pair)
        for layer in experts.of(self.model):
            layer.agree = partial(dist.broadcast, group_src=0, group=self._pair.get_group())
            for expert in layer.each.values():
                self._halve(expert)
        self._holders = mesh["replicate", "expert"]._flatten("data").get_group(), mesh.get_group("replicate")
        """Ranks with the same parameters: of all but experts, and of experts."""
        self.optimizer = self.sgd()

    def _halve(self, expert: Expert) -> None:
        """By columns on the way in, by rows on the way out, as `tensor` does; torch's own styles would make a call
        for each expert in each direction, not one for all of a rank."""
        for part, name, dimension in (
            (expert.up, "weight", 0),
            (expert.up, "bias", 0),
            (expert.down, "weight", 1),
        ):
            whole = part.get_parameter(name)
            half = distribute_tensor(whole, self._pair, [Shard(dimension)], src_data_rank=None)
            part.register_parameter(name, nn.Parameter(half))

    def made(self, mine: Sequence[Expert], tokens: Sequence[Tensor]) -> list[Tensor]:
        """The pair adds up what halves make of the tokens; backward, the gradients of the tokens."""
        whole = DTensor.from_local(torch.cat(list(tokens)), self._pair, [Replicate()], run_check=False)
        here = whole.to_local(grad_placements=[Partial()]).split(list(map(len, tokens)))
        halves = torch.cat([_half(expert, its) for expert, its in zip(mine, here, strict=True)])
        summed = DTensor.from_local(halves, self._pair, [Partial()], run_check=False).full_tensor()
        done = summed.split(list(map(len, tokens)))
        return [its + expert.down.bias.to(its.dtype) for expert, its in zip(mine, done, strict=True)]

    def reduce_gradients(self) -> None:
        """An expert already has the gradients of the losses of all pairs of its group, added up."""
        parts: dict[bool, list[Tensor]] = {False: [], True: []}
        for name, parameter in self.named_parameters():
            parts[name in self.own].append(local(parameter.grad))
        with self.setup.communicating("averaging"), torch.no_grad():
            for is_own, gradient in parts.items():
                flat = torch.cat([part.flatten() for part in gradient]).div_(self.replicas)
                dist.all_reduce(flat, group=self._holders[is_own])
                for part, reduced in zip(gradient, flat.split([part.numel() for part in gradient]), strict=True):
                    part.copy_(reduced.view_as(part))

    def clip(self, limit: float) -> None:
        """A DTensor's halves are different, so that their holders count twice."""
        counts = [RANKS * dist.get_world_size(group) for group in self._holders]
        held = ((parameter, counts[name in self.own]) for name, parameter in self.named_parameters())
        gradients.clip(held, limit, self.setup.device)


def _half(expert: Expert, tokens: Tensor) -> Tensor:
    up = functional.linear(tokens, local(expert.up.weight), local(expert.up.bias))
    return functional.linear(functional.gelu(up), local(expert.down.weight))
