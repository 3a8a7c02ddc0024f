"""FSDP2 (fully_shard): parameters, gradients and the optimizer's state are spread over ranks, block by block.

A step of the default model on rank 0 of 4: 12 all_gather, 1,879,040 bytes: each of 6 parts in the
forward pass, and again in the backward pass; 6 reduce_scatter, 939,520 bytes, of the gradients.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, fully_shard

from nccltool.train.strategies.fsdp import Options
from nccltool.worker.train import splitting
from nccltool.worker.train.fully_sharded import FullySharded
from nccltool.worker.train.strategies.base import Setup, Strategy


class Training(FullySharded):
    COLLECTIVES: ClassVar = {
        "forward": "all_gather of the parameters",
        "backward": "all_gather of the parameters, reduce_scatter of the gradients",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._options = setup.spec.of(Options)
        made, policies = self.whole_model(), self._policies()
        whole = copy.deepcopy(made).to("meta") if self._options.init_on_rank_0 else made
        units = self._units(whole)
        for unit in units:
            fully_shard(unit, **policies)
        self.model = fully_shard(whole, **policies)
        if self._options.init_on_rank_0:
            self._load_from_rank_0(made)
        self._prefetch([cast(FSDPModule, unit[0]) for unit in units])
        self.optimizer = self.chosen_optimizer()

    def _units(self, whole: nn.Sequential) -> list[list[nn.Module]]:
        """What is gathered at once, in order, beside what is left to the root."""
        options, units, size = self._options, list[list[nn.Module]](), math.inf
        if options.wrap == "model":
            return []
        for part in whole if options.root_split else whole[1:-1]:
            if size >= options.gather_mib * 2**20:
                units.append([])
                size = 0
            units[-1].append(part)
            size += sum(parameter.nbytes for parameter in part.parameters())
        return units

    def _load_from_rank_0(self, made: nn.Module) -> None:
        self.model.to_empty(device=self.setup.device)
        full = made.state_dict() if self.setup.rank == 0 else {}
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(self.model, full, options=options)

    def _prefetch(self, blocks: Sequence[FSDPModule]) -> None:
        """Gather blocks before they are needed, where that is asked for otherwise than torch does by itself."""
        forward, backward = self._options.forward_prefetch, self._options.backward_prefetch
        for index, block in enumerate(blocks):
            if forward:
                block.set_modules_to_forward_prefetch(blocks[index + 1 : index + 1 + forward])
            if (
                backward != 1
            ):  # a block that is gathered already takes the place of the one that torch would choose
                before = blocks[max(index - backward, 0) : index]
                block.set_modules_to_backward_prefetch(before[::-1] or [block])

    def _policies(self) -> dict[str, Any]:
        options = self._options
        param_dtype, reduce_dtype = (
            getattr(torch, name) if name else None for name in (options.param_dtype, options.reduce_dtype)
        )
        policies = {
            "mesh": self._mesh(),
            "reshard_after_forward": options.reshard_ranks or (options.reshard and options.shard != "grad"),
            "mp_policy": MixedPrecisionPolicy(param_dtype=param_dtype, reduce_dtype=reduce_dtype),
        }
        if options.offload:  # pinned memory needs a device that it is pinned for
            policies["offload_policy"] = CPUOffloadPolicy(pin_memory=self.setup.device.type == "cuda")
        return policies

    def clip(self, limit: float) -> None:
        """NCCL cannot add up norms that were offloaded."""
        if self._options.offload:
            Strategy.clip(self, limit)
        else:
            super().clip(limit)

    def _mesh(self) -> DeviceMesh:
        """All ranks share the parameters, or pairs of them do, or every rank has all."""
        setup, share = self.setup, {"hybrid": 2, "none": 1}.get(self._options.shard)
        if share is not None:
            return splitting.mesh_of_shards(setup, share)
        return init_device_mesh(setup.device.type, (setup.world,))
