"""What a smoke training is: a model spread over the ranks, a step of it, and the part of it that a rank holds."""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Literal, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nccltool.train import sharing
from nccltool.train.job import TrainSpec
from nccltool.train.strategies import fsdp
from nccltool.train.strategies.base import DataParallelOptions, ValidationOptions
from nccltool.worker.agreement import CollectiveFailed, of_communication
from nccltool.worker.progress_page import CALLS
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import adamw, gradients, held_out, transformer
from nccltool.worker.train.arrivals import BETWEEN_PASSES, COMPUTING, Arrivals
from nccltool.worker.train.compression import Compression
from nccltool.worker.train.gradients import Scaler, local
from nccltool.worker.train.input import InputWait
from nccltool.worker.train.replicas import Replicas
from nccltool.worker.train.stopwatch import Flow


class Feed(Protocol):
    """Where the tokens of ranks come from (nccltool.worker.train.feed)."""

    files: str
    """Tells them from others."""

    def whole(self, number: int) -> Tensor:
        """The global batch of a step."""
        ...

    def draw(self) -> tuple[Tensor, InputWait]:
        """The next batch with the part of this rank alone, and how long it waited for it."""
        ...

    def skip(self, steps: int) -> None:
        """Steps that were done before."""
        ...

    def naming_dead_workers(self) -> AbstractContextManager[None]:
        """While steps are done. Raises InputFailed."""
        ...

    def end(self) -> None:
        """No more batches are drawn."""
        ...


class CannotTrain(Exception):
    """This strategy cannot run with these options or in this world; the message says why."""

    def __init__(self, reason: str, applies: bool = True) -> None:
        """`reason`: empty = another rank has one. `applies`: whether it is meant for such a world and installation
        at all."""
        super().__init__(reason)
        self.applies = applies


class Setup:
    """What a strategy is built from."""

    def __init__(self, name: str, spec: TrainSpec, tools: RankTools, made_for: int = 0) -> None:
        """`made_for`: the world size that the model was made for; 0 = this one. Raises CannotTrain."""
        self.name, self.tools = name, tools
        self.group, self.slot, self.channel = tools.group, tools.slot, tools.channel
        self.rank, self.world, self.device = tools.group.rank, tools.group.size, tools.group.device
        self.made_for = made_for or self.world
        shared = sharing.of(spec, name, self.world, made_for)
        if shared.reason:
            raise CannotTrain(shared.reason, shared.applies)
        self.spec, self.sharing = shared.spec, shared.ranks
        """`sharing`: how many ranks have one model between them."""
        spec = self.spec
        self.sequences = spec.batch * self.world
        """Of the global batch."""
        self.param_dtype = spec.of(fsdp.Options).param_dtype
        self.is_half = "float16" in (spec.dtype, self.param_dtype)
        """Whether gradients come in float16, whose range needs a scaled loss."""
        self.number = 0
        """Of the last step that was begun beside the reference."""
        self.label = f"the reference of {name}"
        """What the ranks do."""
        self.cut = 1
        """Into how many parts each micro-batch is cut, since memory was too little for it."""
        self.feed: Feed | None = None
        """What is trained with in the place of synthetic tokens."""
        self.arrivals: Arrivals | None = None
        """Of steps that are run to see who comes late."""

    def lower(self) -> AbstractContextManager[Any]:
        """Arithmetic of the forward pass in the type that was asked for, where that is a short one."""
        if self.spec.dtype in ("float32", "float64"):
            return contextlib.nullcontext()
        lower: AbstractContextManager[Any] = torch.autocast(self.device.type, getattr(torch, self.spec.dtype))
        return lower

    @property
    def files(self) -> str:
        """Which ones are trained with; empty = synthetic tokens."""
        return "" if self.feed is None else self.feed.files

    def tokens(self, number: int) -> Tensor:
        """The global batch of a step."""
        if self.feed is not None:
            return self.feed.whole(number)
        return transformer.tokens_of(self.spec, number, self.sequences).to(self.device)

    def drawn(self, number: int) -> tuple[Tensor, InputWait]:
        """(the batch of the next step as this rank gets it, how long it waited for it)."""
        return (self.tokens(number), InputWait(ns=0, stalled_ns=0)) if self.feed is None else self.feed.draw()

    def begin(self, number: int) -> None:
        """A step begins that is held against the reference."""
        self.number = number
        self.tools.injector.at("enter", self.name, step=number)

    def meet_at(self, arrivals: Arrivals | None) -> None:
        """From here on, tell where this rank comes to; None = no more."""
        self.arrivals = arrivals

    @contextlib.contextmanager
    def communicating(self, phase: str) -> Iterator[None]:
        """A phase in which a rank may wait for others; what fails in it is known as a failure of communication, or
        as one of the program."""
        self.waiting(phase)
        try:
            yield
        except RuntimeError as error:
            if self.slot.words[CALLS] % 2 and of_communication(error):
                raise CollectiveFailed(f"in {phase}") from error
            raise (error.__cause__ or error) from None  # a pipeline wraps what its stages raise
        self.slot.words[CALLS] = 2

    def waiting(self, phase: str) -> None:
        self.slot.phase(phase)
        self.slot.words[CALLS] = 1

    def computing(self, phase: str) -> None:
        """A phase begins in which a rank waits for nobody."""
        self.slot.phase(phase)
        if phase in (BETWEEN_PASSES, COMPUTING):
            self.tools.injector.at("timing", self.name, step=self.number)
            if self.arrivals is not None:
                self.arrivals.at(phase)


class Strategy:
    """One way to train in parallel."""

    COLLECTIVES: ClassVar[Mapping[str, str]] = {}
    """Phase -> what a rank waits for in it."""
    HOLDS: ClassVar[Literal["model", "shards", "layers"]] = "model"
    """What a rank has: the whole model, shards of its parameters, or some of its layers."""
    WITHOUT_SYNC: ClassVar[bool] = False
    """A model alone on this rank's part of the batch does the same work without communication."""

    model: nn.Module
    wrapper: nn.Module | None = None
    """What is called in the place of the model that it wraps."""
    optimizer: torch.optim.Optimizer
    rate_schedule: torch.optim.lr_scheduler.LRScheduler | None = None
    """Of the learning rate; None = it stays as it is."""
    flow: Flow | None = None
    """Of a pipeline."""
    compression: Compression | None = None
    """Of gradients, where the reference compresses them rank by rank."""
    inner_layers: nn.Module | None = None
    """The first layers of a rank that sees neither tokens nor targets, only what other ranks put out."""
    replica, replicas = 0, 1
    """Each replica of the model has its part of the batch; this rank belongs to this one."""
    micro_batches = 1
    """Into how many equal parts, in order, the global batch is cut; the reference adds up in this order."""
    accumulate = 1
    """How many of them this rank computes one after the other, adding up their gradients."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.holders = setup.world
        """How many ranks hold the same parameters, before a DTensor's shares are taken into account."""
        self.scaler = Scaler(setup.device) if setup.is_half else None
        """Of the loss; None where its type needs none. The backward pass begins at `scaled`."""
        self._places = dict[Any, tuple[tuple[int, ...], tuple[int, ...]]]()
        """Shape, mesh, and placements of a DTensor -> shape and offset of this rank's part."""

    def share(self) -> Replicas:
        """Have one model between the ranks of each replica; each replica has its part of the batch."""
        setup = self.setup
        shared = Replicas(setup.device, setup.rank, setup.world, setup.sharing)
        self.replica, self.replicas, self.micro_batches = shared.number, shared.count, shared.count
        return shared

    def my_part(self, tokens: Tensor) -> Tensor:
        """Of the global batch: that of this rank's replica."""
        return tokens.chunk(self.replicas)[self.replica]

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """Leave the gradients of the global batch: the losses of the micro-batches that this rank sees."""
        return {self.replica: self.one_pass(self.my_part(tokens))}

    def one_pass(self, tokens: Tensor, of: int = 1, is_last: bool = True) -> Tensor:
        """Forward and backward of one micro-batch `of` some that this rank computes: its loss."""
        setup = self.setup
        with setup.communicating("forward"), setup.lower():
            loss = transformer.loss_of(self.scores(tokens[:, :-1]), tokens[:, 1:])
        share = loss / of if of > 1 else loss
        if is_last:
            setup.computing(BETWEEN_PASSES)
        with setup.communicating("backward"):
            self.scaled(share).backward()
        return loss.detach()

    def scores(self, inputs: Tensor) -> Tensor:
        scores: Tensor = (self.wrapper or self.model)(inputs)
        return scores

    def validation_sums(self, batches: Sequence[Tensor]) -> Tensor:
        """Of this rank: (the sum of the losses of sequences, their number)."""
        with self.setup.communicating("forward"), self.setup.lower():
            return held_out.summed(batches, self.scores).to(self.setup.device)

    def validated(self, batches: Sequence[Tensor]) -> float:
        """The mean loss of the sequences that all ranks have, none of which is trained with."""
        sums = self.validation_sums(batches)
        with self.setup.communicating("agreeing"):
            dist.all_reduce(sums)
        return float(sums[0] / sums[1])

    def reduce_gradients(self) -> None:
        """Put together what the backward pass has left apart; most have nothing left to do."""

    def average(self, shared: Replicas) -> None:
        """The average of the gradients over the replicas, where the backward pass has not done it."""
        if self.replicas > 1:
            with self.setup.communicating("averaging"):
                shared.average(gradients.of(self.model.parameters()))

    def clear(self) -> None:
        self.optimizer.zero_grad()

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss as the backward pass begins with it."""
        return loss if self.scaler is None else loss * self.scaler.scale

    def unscale(self) -> None:
        """After the backward pass: the gradients as they are without a scale."""
        if self.scaler is not None:
            with self.setup.communicating("unscaling"):
                self.scaler.unscale(map(local, gradients.of(p for _, p in self.named_parameters())))

    def update(self) -> None:
        """Change the parameters, unless a gradient overflowed."""
        if self.scaler is None or not self.scaler.overflowed:
            if self.setup.spec.clip_norm is not None:
                with self.setup.communicating("clipping"):
                    self.clip(self.setup.spec.clip_norm)
            self.apply()
            if self.rate_schedule is not None:
                self.rate_schedule.step()
        if self.scaler is not None:
            self.scaler.adapt()

    def clip(self, limit: float) -> None:
        """Scale the gradients so that the norm of all of them, on all ranks, is at most `limit`."""
        gradients.clip(((p, self.holders) for _, p in self.named_parameters()), limit, self.setup.device)

    def apply(self) -> None:
        self.setup.computing("updating")
        self.optimizer.step()

    def has_whole_gradients(self) -> bool:
        """Whether backward passes give this rank the gradient of each of its micro-batches, of all parameters."""
        return False

    def micro_batch_norm(self, square: float) -> float:
        """Root mean square over the micro-batches of all ranks, from what the passes of this rank computed."""
        total = torch.tensor([square], dtype=torch.float64, device=self.setup.device)
        with self.setup.communicating("agreeing"):
            dist.all_reduce(total)
        return self.root_mean(float(total), self.micro_batches)

    def root_mean(self, square: float, micro_batches: int) -> float:
        """Undoes what divides and scales the loss of a pass."""
        scale = 1.0 if self.scaler is None else self.scaler.scale
        return math.sqrt(square / micro_batches) * self.accumulate / scale

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """What this rank holds, whole or in part, under the names of the model in one process."""
        return iter(self.model.named_parameters())

    def same_part(self, full: Tensor, mine: Tensor) -> Tensor:
        """The part of a tensor of the reference that this rank holds of `mine`, one of `named_parameters`."""
        if not hasattr(mine, "to_local"):
            return full
        key = full.shape, mine.device_mesh, mine.placements
        if key not in self._places:
            from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

            self._places[key] = compute_local_shape_and_global_offset(*key)
        shape, offset = self._places[key]
        for dimension, (length, start) in enumerate(zip(shape, offset, strict=True)):
            full = full.narrow(dimension, min(start, full.shape[dimension]), length)
        return full

    def advise(self, model: nn.Module, tie: float) -> None:
        """Tell the reference what rounding may decide otherwise, within `tie`. All ranks call it together."""

    def report(self) -> None:
        """After the compared steps: what there is to say of this strategy alone. All ranks call it together."""

    def carried(self) -> Mapping[str, Tensor]:
        """What this rank alone carries to the next step, beside parameters and the state of the optimizer."""
        return {}

    def waits(self) -> Mapping[str, str]:
        """COLLECTIVES, as these options have it."""
        return self.COLLECTIVES

    def sgd(self) -> torch.optim.Optimizer:
        return transformer.sgd(self.setup.spec, self.model)

    def chosen_optimizer(self) -> torch.optim.Optimizer:
        """The one that was asked for, whose learning rate has its schedule."""
        spec = self.setup.spec
        chosen = adamw.optimizer(spec, self.model) if adamw.is_asked_for(spec) else self.sgd()
        self.rate_schedule = adamw.schedule(spec, chosen)
        return chosen

    def own_optimizer(self) -> torch.optim.Optimizer:
        """The one that has the state of this rank's part of the parameters."""
        return self.optimizer

    def whole_model(self) -> nn.Sequential:
        """The model as every rank begins, on its device."""
        return transformer.make(self.setup.spec).to(self.setup.device)

    def wrap_in_ddp(self, **options: Any) -> DistributedDataParallel:
        """The whole model, the gradients of which torch averages the results of all ranks."""
        self.wrapper = ddp = in_ddp(self.whole_model(), self.setup.device, **options)
        self.model = ddp.module
        return ddp


class DataParallel(Strategy):
    """What strategies share in which each rank has a part of the batch and the whole of the arithmetic."""

    WITHOUT_SYNC = True

    def __init__(self, setup: Setup, replica: int | None = None, replicas: int | None = None) -> None:
        """`replica` of `replicas` has this rank's part of the batch; each rank is one when nothing is said."""
        super().__init__(setup)
        self.replica = setup.rank if replica is None else replica
        self.replicas = setup.world if replicas is None else replicas
        options = setup.spec.of(DataParallelOptions)
        accumulate, self._syncs_each = options.accumulate, options.sync_each
        self.accumulate = accumulate
        if setup.spec.batch % accumulate:
            raise CannotTrain(f"--batch {setup.spec.batch} cannot be divided into --accumulate {accumulate} parts")
        self.micro_batches = self.replicas * accumulate
        if 0 < setup.spec.of(ValidationOptions).validate < setup.world:
            raise CannotTrain("--validate has fewer sequences than there are ranks")

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """Micro-batches of this rank one by one, synchronised in the last one's backward."""
        accumulate, losses = self.accumulate, {}
        parts = tokens.chunk(self.micro_batches)
        last = (self.replica + 1) * accumulate - 1
        for index in range(self.replica * accumulate, last + 1):
            with self.synchronising(index == last or self._syncs_each):
                losses[index] = self.one_pass(parts[index], accumulate, index == last)
        return losses

    def clip(self, limit: float) -> None:
        """By torch's own function, which users call."""
        nn.utils.clip_grad_norm_(self.model.parameters(), limit)

    def synchronising(self, is_last: bool) -> AbstractContextManager[Any]:
        """Around each micro-batch: only the last one's gradients need to travel."""
        ddp = self.wrapper if isinstance(self.wrapper, DistributedDataParallel) else None
        return contextlib.nullcontext() if ddp is None or is_last else ddp.no_sync()


def in_ddp(model: nn.Module, device: torch.device, **options: Any) -> DistributedDataParallel:
    """A model, the gradients of which torch averages over the ranks of a group."""
    return DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None, **options)
