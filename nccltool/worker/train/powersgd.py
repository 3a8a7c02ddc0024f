"""PowerSGD: of a matrix of gradients, two thin ones travel; what their product does not have of it is kept.

What it leaves out comes in later steps (error feedback), so it is no rounding: a step may be far from the exact
one. The reference therefore compresses too, with the same seed, in a group of one.
"""

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

RANK = 1
"""Of the thin matrices."""
FROM_STEP = 3
"""The first step that is compressed: torch wants two that are not, to begin from."""


def register(ddp: DistributedDataParallel, group: dist.ProcessGroup | None) -> None:
    """Have a model's gradients travel compressed from now on."""
    state = powerSGD_hook.PowerSGDState(
        process_group=group, matrix_approximation_rank=RANK, start_powerSGD_iter=FROM_STEP - 1
    )
    is_gloo = dist.get_backend(group) == "gloo"
    ddp.register_comm_hook(state, _one_by_one if is_gloo else powerSGD_hook.powerSGD_hook)


def _one_by_one(state: powerSGD_hook.PowerSGDState, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """The hook, done when it returns.

    It makes its second and third call when the one before is done. On Gloo that is in a thread of its own, and
    calls of several buckets come in another order on each rank: sizes do not match, SIGABRT (torch 2.13).
    """
    done: torch.futures.Future[Tensor] = torch.futures.Future()
    done.set_result(powerSGD_hook.powerSGD_hook(state, bucket).wait())
    return done
