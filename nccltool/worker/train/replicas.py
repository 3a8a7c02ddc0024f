"""Replicas of a model that ranks share: neighbours have the whole of it between them, and a part of the batch."""

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh

from nccltool.worker.train.gradients import local


class Replicas:
    """The replica of this rank, and its ties to the same place in the others."""

    def __init__(self, device: torch.device, rank: int, world: int, ranks: int) -> None:
        """`ranks` of the world have one model between them."""
        self.ranks, self.count = ranks, world // ranks
        self.rank, self.number = rank % ranks, rank // ranks
        """Of this rank in its replica, and of the replica."""
        if self.count == 1:
            self.mesh = init_device_mesh(device.type, (world,))
            self._same_place: dist.ProcessGroup | None = None
            return
        mesh = init_device_mesh(device.type, (self.count, ranks), mesh_dim_names=("replicate", "share"))
        self.mesh, self._same_place = mesh["share"], mesh.get_group("replicate")

    @property
    def group(self) -> dist.ProcessGroup:
        """The ranks of this replica."""
        return self.mesh.get_group()

    def average(self, gradients: Iterable[Tensor]) -> None:
        """Put the average over the replicas in the place of each gradient."""
        if self._same_place is None:
            return
        with torch.no_grad():
            for gradient in gradients:
                dist.all_reduce(local(gradient).div_(self.count), group=self._same_place)
