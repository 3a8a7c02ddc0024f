"""Tensor parallelism in pairs of ranks, FSDP2 between the pairs: a mesh of two dimensions.

A step of the default model on rank 0 of 4: 12 all_gather, 1,085,440 bytes, and 6 reduce_scatter,
542,720 bytes, as in `fsdp`, but of half of each block; 24 all_reduce, 1,572,864 bytes, as in `tensor`, but of half
of the sequences.
"""

from typing import ClassVar

from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from nccltool.train.strategies.tp_fsdp import RANKS
from nccltool.worker.train import splitting
from nccltool.worker.train.fully_sharded import FullySharded
from nccltool.worker.train.strategies.base import Setup, Strategy


class Training(FullySharded):
    COLLECTIVES: ClassVar = {
        "forward": "all_gather of the parameters, all_reduce of attention and feed-forward outputs",
        "backward": "all_gather of the parameters, all_reduce and reduce_scatter of gradients",
    }
    WITHOUT_SYNC = False

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, replica=setup.rank // RANKS, replicas=setup.world // RANKS)
        mesh = init_device_mesh(
            setup.device.type, (setup.world // RANKS, RANKS), mesh_dim_names=("data", "tensor")
        )
        whole = self.whole_model()
        splitting.cut(whole, mesh["tensor"])
        for part in whole:
            fully_shard(part, mesh=mesh["data"])
        self.model: nn.Module = fully_shard(whole, mesh=mesh["data"])
        self.optimizer = self.sgd()

    def clip(self, limit: float) -> None:
        """Torch's function does not take parameters of two meshes together."""
        Strategy.clip(self, limit)
