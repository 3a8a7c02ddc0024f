"""The older FullyShardedDataParallel: each part of the model is one flat parameter, of which ranks hold pieces.

A step of the default model on rank 0 of 4: 12 all_gather, 1,879,040 bytes: each of 6 parts in the
forward pass, and again in the backward pass; 6 reduce_scatter, 939,520 bytes, of the gradients.
"""

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from nccltool.train.strategies.fsdp1 import Options
from nccltool.worker.train import splitting
from nccltool.worker.train.strategies.base import CannotTrain, DataParallel, Setup

_STRATEGIES = {"full": "FULL_SHARD", "grad": "SHARD_GRAD_OP", "hybrid": "HYBRID_SHARD", "none": "NO_SHARD"}
_WRAPPER = "_fsdp_wrapped_module."


class Training(DataParallel):
    COLLECTIVES: ClassVar = {
        "forward": "all_gather of the parameters",
        "backward": "all_gather of the parameters, reduce_scatter of the gradients",
    }
    HOLDS = "shards"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.spec.checkpoint:
            raise CannotTrain("it cannot be checkpointed here: its flattened parameters do not fit the format")
        if _older_api() is None:
            why = "this torch no longer has FullyShardedDataParallel; fsdp replaces it"
            raise CannotTrain(why, applies=False)
        whole = self.whole_model()
        if setup.spec.of(Options).sync_module_states:
            if setup.device.type == "cpu":
                raise CannotTrain("sync_module_states needs GPUs: torch refuses it on CPUs")
            if setup.rank:
                with torch.no_grad():
                    for parameter in whole.parameters():
                        parameter.zero_()
        with warnings.catch_warnings():
            for category in (DeprecationWarning, FutureWarning):  # who asks for it by name knows that it is old
                warnings.simplefilter("ignore", category)
            self._fsdp = self._wrapped(whole)
        self.model: nn.Module = self._fsdp
        self._pieces = _pieces(self._fsdp)
        self.optimizer = self.sgd()

    def _wrapped(self, whole: nn.Sequential) -> Any:
        setup, api, options = self.setup, _older_api(), self.setup.spec.of(Options)
        shard, prefetch = options.shard, options.prefetch_backward
        return api.FullyShardedDataParallel(
            whole,
            sharding_strategy=getattr(api.ShardingStrategy, _STRATEGIES[shard]),
            auto_wrap_policy=None if options.whole else _policy(whole, options.wrap_mib),
            backward_prefetch=getattr(api.BackwardPrefetch, prefetch) if prefetch else None,
            forward_prefetch=options.prefetch_forward,
            limit_all_gathers=options.limit_all_gathers,
            sync_module_states=options.sync_module_states,
            device_mesh=splitting.mesh_of_shards(setup, 2) if shard == "hybrid" else None,
            device_id=setup.device,
            use_orig_params=True,
        )

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        for name, parameter in self.model.named_parameters():
            yield name.replace(_WRAPPER, ""), parameter

    def same_part(self, full: Tensor, mine: Tensor) -> Tensor:
        if id(mine) not in self._pieces:
            return full
        start, end = self._pieces[id(mine)]
        return full.flatten()[start:end]

    def synchronising(self, is_last: bool) -> AbstractContextManager[Any]:
        without: AbstractContextManager[Any] = nullcontext() if is_last else self._fsdp.no_sync()
        return without

    def clip(self, limit: float) -> None:
        self._fsdp.clip_grad_norm_(limit)


def _policy(whole: nn.Sequential, mib: float) -> Any:
    """Each block by itself, or each module that has so much."""
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy

    if not mib:
        return ModuleWrapPolicy({type(part) for part in whole})
    numbers = int(mib * 2**20 / next(whole.parameters()).element_size())
    return partial(size_based_auto_wrap_policy, min_num_params=numbers)


def _older_api() -> Any:
    """torch.distributed.fsdp where it has the older API, else None."""
    import torch.distributed.fsdp as api

    return api if hasattr(api, "FullyShardedDataParallel") else None


def _pieces(fsdp: Any) -> dict[int, tuple[int, int]]:
    """id of a parameter -> which of its numbers this rank holds. Only torch's own books tell."""
    found = {}
    for module in type(fsdp).fsdp_modules(fsdp):
        handle = module._handle
        if handle is None or not handle.uses_sharded_strategy:
            continue
        flat = handle.flat_param
        for parameter, info in zip(flat._params, flat._shard_param_infos, strict=True):
            found[id(parameter)] = (
                (info.intra_param_start_idx, info.intra_param_end_idx + 1) if info.in_shard else (0, 0)
            )
    return found
