"""What a smoke training is: a model spread over the ranks, a step of it, and the part of it that a rank holds."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from nccltool.train.spec import TrainSpec
from nccltool.worker.train import clipping, transformer
from nccltool.worker.train.loss_scale import Scaler
from nccltool.worker.train.stopwatch import Flow

BETWEEN_PASSES = "between forward and backward"


class CannotTrain(Exception):
    """This strategy cannot run with these options or in this world; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """What a strategy is built from."""

    spec: TrainSpec
    rank: int
    world: int
    device: torch.device
    communicating: Callable[[str], AbstractContextManager[None]]
    """Marks a phase in which a rank may wait for others."""
    waiting: Callable[[str], None]
    """The same, from here on."""
    computing: Callable[[str], None]
    """Marks the beginning of a phase in which it waits for nobody."""

    @property
    def sequences(self) -> int:
        """Of the global batch."""
        return self.spec.batch * self.world

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
    """One way to train in parallel."""

    COLLECTIVES: ClassVar[Mapping[str, str]] = {}
    """Phase -> what a rank waits for in it."""
    HOLDS: ClassVar[Literal["model", "shards", "layers"]] = "model"
    """What a rank has: the whole model, shards of its parameters, or some of its layers."""
    WITHOUT_SYNC: ClassVar[bool] = False
    """A model alone on this rank's part of the batch does the same work without communication."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    flow: Flow | None = None
    """Of a pipeline."""
    inner_layers: nn.Module | None = None
    """The first layers of a rank that sees neither tokens nor targets, only what other ranks put out."""
    replica, replicas = 0, 1
    """Each replica of the model has its part of the batch; this rank belongs to this one."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.micro_batches = setup.world
        """Into how many equal parts, in order, the global batch is cut; the reference adds up in this order."""
        self.scaler = Scaler(setup.device) if setup.is_half else None
        """Of the loss; None where its type needs none. The backward pass begins at `scaled`."""

    @abstractmethod
    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """Leave the gradients of the global batch: the losses of the micro-batches that this rank sees."""

    def reduce_gradients(self) -> None:  # noqa: B027 - most have nothing left to do
        """Put together what the backward pass has left apart."""

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
            with self.setup.communicating("unscaling"):
                self.scaler.unscale(local(p.grad) for _, p in self.named_parameters() if p.grad is not None)

    def update(self) -> None:
        """Change the parameters, unless a gradient overflowed."""
        if self.scaler is None or not self.scaler.overflowed:
            if self.setup.spec.clip_norm is not None:
                with self.setup.communicating("clipping"):
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
        self.setup.computing("updating")
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

    def __init__(self, setup: Setup, replica: int | None = None, replicas: int | None = None) -> None:
        """`replica` of `replicas` has this rank's part of the batch; each rank is one when nothing is said."""
        super().__init__(setup)
        self.replica = setup.rank if replica is None else replica
        self.replicas = setup.world if replicas is None else replicas
        accumulate = setup.spec.accumulate
        if setup.spec.batch % accumulate:
            raise CannotTrain(f"--batch {setup.spec.batch} cannot be cut into --accumulate {accumulate} parts")
        self.micro_batches = self.replicas * accumulate

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """Micro-batches of this rank one by one, synchronised in the last one's backward."""
        accumulate, losses = self.setup.spec.accumulate, {}
        parts = tokens.chunk(self.micro_batches)
        last = (self.replica + 1) * accumulate - 1
        for index in range(self.replica * accumulate, last + 1):
            with self.synchronising(index == last):
                losses[index] = self._micro_batch(parts[index], index == last)
        return losses

    def _micro_batch(self, part: Tensor, is_last: bool) -> Tensor:
        setup = self.setup
        with setup.communicating("forward"), setup.lower():
            loss = transformer.loss_of(self.scores(part[:, :-1]), part[:, 1:])
        accumulate = setup.spec.accumulate
        share = loss / accumulate if accumulate > 1 else loss
        if is_last:
            setup.computing(BETWEEN_PASSES)
        with setup.communicating("backward"):
            self.scaled(share).backward()
        return loss.detach()

    def clip(self, limit: float) -> None:
        """By torch's own function, which users call."""
        nn.utils.clip_grad_norm_(self.model.parameters(), limit)

    def scores(self, inputs: Tensor) -> Tensor:
        """What the model says, through whatever wraps it."""
        scores: Tensor = self.model(inputs)
        return scores

    def synchronising(self, is_last: bool) -> AbstractContextManager[Any]:
        """Around each micro-batch: only the last one's gradients need to travel."""
        return contextlib.nullcontext()


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
