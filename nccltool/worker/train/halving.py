"""Micro-batches that are cut in half where memory is too little for them, by all ranks alike.

A rank that ran out cannot meet the others in a collective, so the passes of a step make none. Then all ranks
vote, by one all_reduce; when every rank has its gradients, one all_reduce for each averages them. The global batch
stays the same: the loss of a micro-batch is the mean of those of its halves, and so is its gradient.
"""

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from nccltool.core.findings import Subject
from nccltool.train.finding_kinds import MICRO_BATCH_HALVED
from nccltool.train.strategies.ddp import Options
from nccltool.worker import memory
from nccltool.worker.train import gradients
from nccltool.worker.train.strategies.base import DataParallel, Setup

_MESSAGE = 300
"""Of an error's text."""
_Result = TypeVar("_Result")


def is_asked_for(setup: Setup) -> bool:
    return setup.spec.of(Options).halve_on_oom


def forward_backward(strategy: DataParallel, tokens: Tensor) -> dict[int, Tensor]:
    """The losses of this rank's micro-batches; it has the gradients of its part of the batch."""
    setup, each = strategy.setup, strategy.accumulate
    mine = tokens.chunk(strategy.micro_batches)[strategy.replica * each :][:each]

    def passes() -> dict[int, Tensor]:
        strategy.clear()  # of what an attempt has left
        losses = {}
        for index, micro_batch in enumerate(mine, start=strategy.replica * each):
            parts = micro_batch.chunk(setup.cut)
            lasts = [micro_batch is mine[-1] and part is parts[-1] for part in parts]
            with strategy.synchronising(False):
                own = [strategy.one_pass(p, each * setup.cut, last) for p, last in zip(parts, lasts, strict=True)]
            losses[index] = torch.stack(own).mean()
        return losses

    return until_it_fits(setup, passes)


def average(strategy: DataParallel) -> None:
    """Of the gradients, over all ranks."""
    with strategy.setup.communicating("averaging"):
        for gradient in gradients.of(strategy.model.parameters()):
            dist.all_reduce(gradient.div_(strategy.replicas))


def until_it_fits(setup: Setup, work: Callable[[], _Result]) -> _Result:
    """What `work` returns, done again in smaller parts while any rank has too little memory. Where they cannot be
    smaller, that rank raises its error, and the others go on to where they wait for it."""
    group = setup.group
    while True:
        results, error = list[_Result](), None
        try:
            results.append(work())
        except (MemoryError, RuntimeError) as caught:
            if not memory.ran_out(caught):
                raise
            error = caught.with_traceback(None)  # whose frames would hold the activations
        with setup.communicating("agreeing"):
            lowest = group.size - group.maximum([group.size - group.rank if error else 0])[0]
        if lowest == group.size or not _can_halve(setup):
            if error is not None:
                raise error
            return results[0]
        setup.cut *= 2
        memory.give_back(setup.device)
        if error is not None and lowest == group.rank:
            _report(setup, str(error)[:_MESSAGE])


def _can_halve(setup: Setup) -> bool:
    return setup.spec.batch % (setup.spec.of(Options).accumulate * setup.cut * 2) == 0


def _report(setup: Setup, error: str) -> None:
    pieces = setup.spec.of(Options).accumulate * setup.cut
    setup.channel.report(
        MICRO_BATCH_HALVED.finding(
            subject=Subject(kind="rank", name=str(setup.rank)),
            message=f"rank {setup.rank} ran out of memory in {setup.label}; all ranks repeated it, and continue, "
            f"in micro-batches of half the size ({setup.spec.batch // pieces} per rank); the global batch stays",
            evidence=(error,) if error else (),
            remedy=f"use --accumulate {pieces}, or find out what else uses the memory of that rank",
        )
    )
