"""Expert parallelism: each rank has some experts of every block, a copy of all else, and its part of the batch.

Tokens go to the ranks of their experts and come back: in each block, one all_to_all of the lengths, one of the
tokens and one of what experts made of them, of (tokens of the rank) x top-k x width numbers each; two of the same
sizes carry the gradients. The parts are as uneven as the router's choices, and a rank makes of others' tokens what
it must send back. DDP averages what all ranks have.

A step of the default model on rank 0 of 4: 20 all_to_all, 1,048,832 bytes, where choices are even; 1 all_reduce,
418,304 bytes, of the gradients of all else.
"""

from typing import ClassVar

from torch.nn.parallel import DistributedDataParallel

from nccltool.worker.train import gradients
from nccltool.worker.train.expert_parallel import ExpertParallel
from nccltool.worker.train.replicas import Replicas
from nccltool.worker.train.strategies.base import Setup, in_ddp


class Training(ExpertParallel):
    COLLECTIVES: ClassVar = {
        "forward": "all_to_all of tokens to their experts and back",
        "backward": "all_to_all of their gradients, all_reduce of the gradients of all else",
        "averaging": "all_reduce of the gradients of experts between replicas",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._shared = Replicas(setup.device, setup.rank, setup.world, setup.sharing)
        model = self.whole_model()
        self.share_experts(model, self._shared.group)
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, self.own)
        self.wrapper = ddp = in_ddp(model, setup.device)
        self.model = ddp.module
        self.optimizer = self.sgd()

    def reduce_gradients(self) -> None:
        """An expert has the gradients of the losses of all ranks of its replica, added up."""
        own = gradients.of(parameter for name, parameter in self.named_parameters() if name in self.own)
        with self.setup.communicating("averaging"):
            for gradient in own:
                gradient.div_(self._shared.ranks)
            self._shared.average(own)

    def clip(self, limit: float) -> None:
        """As many ranks hold an expert as there are replicas; all hold everything else."""
        counts = {True: self._shared.count, False: self.setup.world}
        held = ((parameter, counts[name in self.own]) for name, parameter in self.named_parameters())
        gradients.clip(held, limit, self.setup.device)
