"""Tensor parallelism: the linear layers of a block are cut by columns, then by rows; ranks share each sequence.

A step of the default model on rank 0 of 4: 24 all_reduce, 3,145,728 bytes: 2 forward and 4
backward in each of 4 blocks, of 16 sequences with 32 tokens, 64 wide.
"""

from collections.abc import Mapping
from typing import ClassVar

from nccltool.train.strategies.tensor import Options
from nccltool.worker.train import splitting
from nccltool.worker.train.strategies.base import Setup, Strategy


class Training(Strategy):
    COLLECTIVES: ClassVar = {
        "forward": "all_reduce of attention and feed-forward outputs",
        "backward": "all_reduce of the gradients of their inputs",
    }
    HOLDS = "shards"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._shared = self.share()
        self._shares_tokens = setup.spec.of(Options).sequence_parallel
        self.model = self.whole_model()
        splitting.cut(self.model, self._shared.mesh, self._shares_tokens)
        self.optimizer = self.sgd()

    def waits(self) -> Mapping[str, str]:
        if not self._shares_tokens:
            return self.COLLECTIVES
        return {
            "forward": "all_gather of the split tokens, reduce_scatter of the outputs",
            "backward": "all_gather and reduce_scatter of gradients",
        }

    def reduce_gradients(self) -> None:
        """Ranks that share tokens have parts of the gradients of norms; torch leaves it to what uses them next.
        Then the average over the replicas."""
        with self.setup.communicating("backward"):
            for parameter in self.model.parameters():
                wanted = getattr(parameter, "placements", None)
                if parameter.grad is not None and getattr(parameter.grad, "placements", None) != wanted:
                    parameter.grad = parameter.grad.redistribute(placements=wanted)
        self.average(self._shared)
