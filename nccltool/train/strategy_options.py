"""Which options of a smoke training are for which strategies; the others train as if they had not been given."""

from dataclasses import fields, replace
from typing import Any

from nccltool.train.spec import TrainSpec

_DATA_PARALLEL = ("ddp", "deepspeed", "fsdp", "fsdp1", "tp_fsdp", "zero1")
_PIPELINES = ("pipeline", "three_d")

OF = {
    "accumulate": _DATA_PARALLEL,
    "micro_batches": _PIPELINES,
    "schedule": _PIPELINES,
    "stages": _PIPELINES,
    "sequence_parallel": ("tensor",),
    "zero": ("deepspeed",),
    "comm_hook": ("ddp",),
    "bucket_mib": ("ddp",),
    "gradient_as_bucket_view": ("ddp",),
    "static_graph": ("ddp",),
    "shard": ("fsdp", "fsdp1"),
    "reshard": ("fsdp",),
    "wrap": ("fsdp",),
    "offload": ("deepspeed", "fsdp"),
    "param_dtype": ("fsdp",),
    "reduce_dtype": ("fsdp",),
}
"""Field of TrainSpec -> strategies. Fields that are not here are for all."""


def of(strategy: str, spec: TrainSpec) -> TrainSpec:
    """What of a job is for this strategy."""
    return replace(spec, **{name: _DEFAULTS[name] for name, takers in OF.items() if strategy not in takers})


def strays(spec: TrainSpec) -> list[str]:
    """Fields that were given and that none of the strategies of the job takes."""
    return [
        name
        for name, takers in OF.items()
        if getattr(spec, name) != _DEFAULTS[name] and not set(takers) & set(spec.strategies)
    ]


_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(TrainSpec) if field.name in OF}
