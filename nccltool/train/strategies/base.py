"""Options of ways to train: how one is declared, and groups that several ways take."""

import math
from collections.abc import Iterator
from dataclasses import Field, dataclass, field, replace
from typing import Any

from nccltool.train.pipeline_schedules import SCHEDULES

OptionValue = bool | int | float | str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionTraits:
    """How `nccltool train` takes a field of a group. A truth is a flag, which says the opposite of the default."""

    place: int
    """Among these options in the help."""
    help: str
    word: str = ""
    """Without its dashes, where the field has another name."""
    metavar: str = ""
    """What the value is, in the help."""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: int | None = None
    is_above_least: bool = False
    """Of a number with a fraction."""
    is_folder: bool = False
    """It names one to write to, which no file of a project may set."""


def option(default: OptionValue, place: int, help: str, **traits: Any) -> Any:  # noqa: A002 - as click has it
    """A field of a group that `nccltool train` takes."""
    return field(default=default, metadata={"traits": OptionTraits(place=place, help=help, **traits)})


def traits(declared: Field[Any]) -> OptionTraits:
    found: OptionTraits = declared.metadata["traits"]
    return found


def word(declared: Field[Any]) -> str:
    return f"--{traits(declared).word or declared.name.replace('_', '-')}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Needs:
    """What a model must have that some ranks share (nccltool.train.sharing)."""

    heads: int = 1
    """So many, or a multiple."""
    tokens: int = 1
    """Of a sequence: so many, or a multiple."""
    parts: int = 1
    """At least so many; the layers and both ends are parts."""
    sequences: int = 1
    """Of each rank: so many, or a multiple."""
    experts: int = 0
    """In each block, instead of its feed-forward part."""


@dataclass(frozen=True, kw_only=True)
class CommonOptions:
    """Of every way to train; a base of TrainSpec."""

    clip_norm: float | None = option(
        None, 30, "Clip gradients to this norm.", metavar="NORM", least=0, is_above_least=True
    )
    """None = any."""
    recompute: bool = option(False, 80, "Use activation checkpointing in every block.")
    """A block runs forward again in the backward pass; not so in the reference."""


@dataclass(frozen=True, kw_only=True)
class StrategyOptions:
    """What is for some ways to train only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """A setting of a strategy's overlap, which `--tune` compares with what was asked for."""

    name: str
    setting: str
    """How to set it in torch."""
    options: StrategyOptions
    """All options of the strategy, with this setting."""
    is_exact: bool = True
    """It changes results only through the order of sums."""


NO_OVERLAP = "no overlap"
"""How the name of the setting ends with which all communication is exposed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TuningPlace:
    """What the settings worth a comparison depend on."""

    ranks: int
    mib: float
    """Of all parameters, and of their gradients."""
    batch: int
    """Sequences of a rank."""


@dataclass(frozen=True, kw_only=True)
class DataParallelOptions(StrategyOptions):
    """Where each rank has a part of the batch."""

    accumulate: int = option(1, 10, "Micro-batches per rank and step (data parallel).", least=1)
    sync_each: bool = False
    """Gradients travel in each micro-batch's backward pass, not in the last one's alone."""


EXPERTS = 8
"""Of a block: as many as the most ranks that share a model, so that each has one."""


@dataclass(frozen=True, kw_only=True)
class ExpertOptions(DataParallelOptions):
    """Where a router chooses from the experts of each block."""

    top_k: int = option(2, 200, "MoE: experts per token.", least=1, most=EXPERTS)
    capacity: float | None = option(
        None,
        210,
        "MoE: drop what exceeds FACTOR times an expert's even share.  [default: drop nothing]",
        metavar="FACTOR",
        least=0,
        is_above_least=True,
    )


@dataclass(frozen=True, kw_only=True)
class PipelineOptions(StrategyOptions):
    """Where micro-batches flow through stages."""

    micro_batches: int = option(2, 20, "Micro-batches per pipeline rank.", least=1)
    schedule: str = option("1f1b", 150, "Pipeline schedule.", choices=tuple(SCHEDULES))
    stages: int | None = option(None, 160, "Pipeline stages per rank.  [default: from --schedule]", least=1)
    """None = as many as the schedule has."""


@dataclass(frozen=True, kw_only=True)
class OptimizerOptions(StrategyOptions):
    """Where another optimizer than plain SGD can be compared."""

    adamw: bool = option(False, 6, "DDP, FSDP, ZeRO-1: AdamW instead of SGD.")
    lr_warmup: int = option(
        0, 8, "DDP, FSDP, ZeRO-1: linear warm-up, then cosine decay.", metavar="STEPS", least=0
    )
    """0 = the learning rate stays as it is."""


@dataclass(frozen=True, kw_only=True)
class ValidationOptions(StrategyOptions):
    """Where a forward pass alone can be compared, with parts of other sizes on each rank."""

    validate: int = option(
        0, 14, "DDP, FSDP, ZeRO-1: held-out sequences to validate with after each step.", metavar="N", least=0
    )
    """0 = none."""
    patience: int = option(
        0, 16, "With --validate: stop after N steps without a new best loss.", metavar="N", least=0
    )
    """0 = do all steps."""


@dataclass(frozen=True, kw_only=True)
class ShardOptions(StrategyOptions):
    """Where ranks hold shards of parameters."""

    shard: str = option("full", 90, "FSDP: what to shard.", choices=("full", "grad", "hybrid", "none"))


@dataclass(frozen=True, kw_only=True)
class OffloadOptions(StrategyOptions):
    """Where a rank's part may live elsewhere."""

    offload: bool = option(False, 120, "FSDP, DeepSpeed: keep state and updates in host memory.")
    """Parameters, gradients and the optimizer's state."""


_BUCKETS_MIB = (1.0, 5.0, 25.0, 100.0)
"""Around torch's 25; 5 was best over Gloo, and 10 to 25 over NCCL (Li and others 2020, PyTorch Distributed)."""


def buckets(place: TuningPlace) -> Iterator[tuple[str, str, float]]:
    """(Name, setting, MiB)."""
    whole = float(math.ceil(place.mib * 2))
    yield f"one bucket: {NO_OVERLAP}", f"bucket_cap_mb={whole:g}, more than the model has", whole
    for mib in _BUCKETS_MIB:
        if mib < place.mib:
            yield f"buckets of {mib:g} MiB", f"bucket_cap_mb={mib:g}", mib


_KEEPS = {"gpipe": "; a rank then keeps the activations of all micro-batches"}
"""What a schedule costs besides time."""


def schedules(own: PipelineOptions, place: TuningPlace) -> Iterator[Variant]:
    """Schedules fill a rank's waits with other micro-batches, stages, or halves of a backward pass."""
    for schedule in SCHEDULES:
        if schedule != own.schedule:
            yield Variant(
                name=f"schedule {schedule}",
                setting=f"--schedule {schedule}{_KEEPS.get(schedule, '')}",
                options=replace(own, schedule=schedule, stages=None),
            )
    yield Variant(
        name=f"{2 * own.micro_batches} micro-batches per rank",
        setting=f"--micro-batches {2 * own.micro_batches}",
        options=replace(own, micro_batches=2 * own.micro_batches),
    )
