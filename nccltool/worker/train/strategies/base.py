"""What a smoke training is: a model spread over the ranks, a step of it, and the part of it that a rank holds."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from nccltool.launch.fault_injection import Fault
from nccltool.train.spec import TrainSpec
from nccltool.worker.train import clipping, transformer
from nccltool.worker.train.loss_scale import Scaler
from nccltool.worker.train.stopwatch import Flow

Inside = Callable[[str], AbstractContextManager[None]]
"""Marks a phase in which a rank may wait for others."""
Outside = Callable[[str], None]
"""Marks a phase in which it does not; a drill may strike at its beginning."""


class CannotTrain(Exception):
    """This strategy cannot run with these options or in this world; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """What a strategy is built from."""

    spec: TrainSpec
    rank: int
    world: int
    device: torch.device
    inside: Inside
    outside: Outside
    waiting: Outside
    """Marks a phase in which a rank may wait, from here on."""
    fault: Fault | None = None
    """A numerical drill, for this strategy."""

    @property
    def sequences(self) -> int:
        """Of the global batch."""
        return self.spec.batch * self.world

    def is_due(self, action: str, number: int, anywhere: bool = False) -> bool:
        """Whether this rank (or with `anywhere` every rank) must do this wrong in this step."""
        fault = self.fault
        return (
            fault is not None
            and fault.action == action
            and (anywhere or fault.rank == self.rank)
            and fault.step in (None, number)
        )

    @property
    def is_half(self) -> bool:
        """Whether gradients come in float16, whose range needs a scaled loss."""
        return "float16" in (self.spec.dtype, self.spec.param_dtype)

    def lower(self) -> AbstractContextManager[Any]:
        """Arithmetic of the forward pass in the type that was asked for, where that is a short one."""
        if self.spec.dtype in ("float32", "float64"):
            return contextlib.nullcontext()
        lower: AbstractContextManager[Any] = torch.autocast(self.device.type, getattr(torch, self.spec.dtype))
        return lower


class Strategy(ABC):
    """One way to train in parallel. `number` is the step's, from 1 on."""

    COLLECTIVES: ClassVar[Mapping[str, str]] = {}
    """Phase -> what a rank waits for in it."""
    WITHOUT_SYNC: ClassVar[bool] = False
    """A bare model on this rank's part of the batch does the same work without communication."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    flow: Flow | None = None
    """Of a pipeline."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.micro_batches = setup.world
        """Into how many equal parts, in order, the global batch is cut; the reference adds up in this order."""
        self.scaler = Scaler(setup.device) if setup.is_half else None
        """Of the loss; None where its type needs none. The backward pass begins at `scaled`."""

    @abstractmethod
    def forward_backward(self, tokens: Tensor, number: int) -> dict[int, Tensor]:
        """Leave the gradients of the global batch: the losses of the micro-batches that this rank sees."""

    def clear(self) -> None:
        """Forget the gradients."""
        self.optimizer.zero_grad()

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss as the backward pass begins with it."""
        return loss if self.scaler is None else loss * self.scaler.scale

    def scaled_loss(self, scores: Tensor, targets: Tensor) -> Tensor:
        """For a schedule that begins the backward pass by itself."""
        return self.scaled(transformer.loss_of(scores, targets))

    def seen(self, loss: Tensor) -> Tensor:
        """What such a schedule says of a loss, without the scale."""
        return loss.detach() if self.scaler is None else loss.detach() / self.scaler.scale

    def unscale(self) -> None:
        """After the backward pass: the gradients as they are without a scale."""
        if self.scaler is not None:
            with self.setup.inside("unscaling"):
                self.scaler.unscale(local(p.grad) for _, p in self.named_parameters() if p.grad is not None)

    def update(self) -> None:
        """Change the parameters, unless a gradient overflowed."""
        if self.scaler is None or not self.scaler.overflowed:
            if self.setup.spec.clip_norm is not None:
                with self.setup.inside("clipping"):
                    self.clip(self.setup.spec.clip_norm)
            self.apply()
        if self.scaler is not None:
            self.scaler.adapt()

    def clip(self, limit: float) -> None:
        """Scale the gradients so that the norm of all of them, on all ranks, is at most `limit`."""
        parameters = (parameter for _, parameter in self.named_parameters())
        clipping.clip(parameters, limit, self.holders(), self.setup.device)

    def holders(self) -> int:
        """How many ranks hold the same parameters, before a DTensor's shares are taken into account."""
        return self.setup.world

    def apply(self) -> None:
        """Have the optimizer change the parameters."""
        self.setup.outside("updating")
        self.optimizer.step()

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """What this rank holds, whole or in part, under the names of the model in one process."""
        return iter(self.model.named_parameters())

    def same_part(self, full: Tensor, mine: Tensor) -> Tensor:
        """The part of a tensor of the reference that this rank holds of `mine`, one of `named_parameters`."""
        return same_part(full, mine)

    def waits(self) -> Mapping[str, str]:
        """COLLECTIVES, as these options have it."""
        return self.COLLECTIVES

    def sgd(self) -> torch.optim.Optimizer:
        """Plain SGD: Adam would hide a wrong scale of the gradients."""
        spec = self.setup.spec
        return torch.optim.SGD(self.model.parameters(), lr=spec.learning_rate, momentum=spec.momentum)

    def own_optimizer(self) -> torch.optim.Optimizer:
        """The one that has the state of this rank's part of the parameters."""
        return self.optimizer

    def whole_model(self) -> nn.Sequential:
        """The model as every rank begins, on its device."""
        return transformer.make(self.setup.spec).to(self.setup.device)


class DataParallel(Strategy):
    """What strategies share in which each rank has a part of the batch and the whole of the arithmetic."""

    WITHOUT_SYNC = True
    SUMS_LOSS: ClassVar[bool] = False
    """A drill: gradients that are not averaged are had by a larger loss, for want of a place to change that."""

    def __init__(self, setup: Setup, replica: int | None = None, replicas: int | None = None) -> None:
        """`replica` of `replicas` has this rank's part of the batch; each rank is one when nothing is said."""
        super().__init__(setup)
        self._replica = setup.rank if replica is None else replica
        replicas = setup.world if replicas is None else replicas
        accumulate = setup.spec.accumulate
        if setup.spec.batch % accumulate:
            raise CannotTrain(f"--batch {setup.spec.batch} cannot be cut into --accumulate {accumulate} parts")
        self.micro_batches = replicas * accumulate
        self._number = 0

    def forward_backward(self, tokens: Tensor, number: int) -> dict[int, Tensor]:
        """See Strategy: micro-batches of this rank one by one, synchronised in the last one's backward."""
        setup, losses = self.setup, {}
        self._number = number
        parts = tokens.chunk(self.micro_batches)
        accumulate = setup.spec.accumulate
        first = self._replica * accumulate
        for index in range(first, first + accumulate):
            is_last = index == first + accumulate - 1
            part = parts[index]
            if setup.is_due("duplicate", number):
                part = parts[(index + accumulate) % len(parts)] if len(parts) > accumulate else _one_twice(part)
            with self.synchronising(is_last):
                losses[index] = self._one(part, number, is_last)
        return losses

    def _one(self, part: Tensor, number: int, is_last: bool) -> Tensor:
        setup = self.setup
        with setup.inside("forward"), setup.lower():
            loss = transformer.loss_of(self.scores(part[:, :-1]), part[:, 1:])
        accumulate = setup.spec.accumulate
        scaled = loss / accumulate if accumulate > 1 else loss
        if setup.is_due("scale", number):
            scaled = scaled * 2
        if self.loses_data(number):
            scaled = scaled * 0
        if self.SUMS_LOSS and setup.is_due("sum", number, anywhere=True):
            scaled = scaled * max(2, self.micro_batches // accumulate)
        if is_last:
            setup.outside("between forward and backward")
        with setup.inside("backward"):
            self.scaled(scaled).backward()
        return loss.detach()

    def clip(self, limit: float) -> None:
        """See Strategy: by torch's own function, which users call."""
        nn.utils.clip_grad_norm_(self.model.parameters(), limit)

    def scores(self, inputs: Tensor) -> Tensor:
        """What the model says, through whatever wraps it."""
        scores: Tensor = self.model(inputs)
        return scores

    def summed(self, state: object, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        """A drill's hook for DDP: an all_reduce that forgets to divide in the steps where it is due."""
        divisor = 1 if self.setup.is_due("sum", self._number, anywhere=True) else self.setup.world
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda done: done.value()[0] / divisor)

    def loses_data(self, number: int) -> bool:
        """A drill: whether this rank's part of the batch does not count in this step."""
        return self.setup.is_due("lose", number)

    def synchronising(self, is_last: bool) -> AbstractContextManager[Any]:
        """Around each micro-batch: only the last one's gradients need to travel."""
        return contextlib.nullcontext()


def _one_twice(part: Tensor) -> Tensor:
    """Of the only replica, for ranks that share its layers: a sequence in the place of another one."""
    return torch.cat([part[-1:], part[:-1]])


def local(tensor: Tensor) -> Tensor:
    """What of a tensor is on this rank."""
    if hasattr(tensor, "to_local"):
        part: Tensor = tensor.to_local()
        return part
    return tensor


def same_part(full: Tensor, mine: Tensor) -> Tensor:
    """The part of the reference's tensor that this rank holds of its own."""
    if not hasattr(mine, "to_local"):
        return full
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    shape, offset = compute_local_shape_and_global_offset(full.shape, mine.device_mesh, mine.placements)
    for dimension, (length, start) in enumerate(zip(shape, offset, strict=True)):
        full = full.narrow(dimension, min(start, full.shape[dimension]), length)
    return full
