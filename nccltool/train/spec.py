"""What a smoke training trains, and how."""

from dataclasses import dataclass

from nccltool.train.strategies import ddp, deepspeed, fsdp, fsdp1, pipeline, tensor


@dataclass(frozen=True, kw_only=True)
class TrainSpec(ddp.Options, fsdp.Options, fsdp1.Options, deepspeed.Options, pipeline.Options, tensor.Options):
    """What all smoke trainings have in common; and the options of those that have some of their own."""

    strategies: tuple[str, ...]
    steps: int = 6
    """Steps that are held against the reference."""
    timed_steps: int = 10
    """Steps that are timed after them; 0 = none."""
    layers: int = 4
    width: int = 64
    heads: int = 4
    context: int = 32
    vocabulary: int = 256
    batch: int = 4
    """Sequences of each rank in a step: the global batch has so many times the ranks."""
    seed: int = 1
    learning_rate: float = 0.1
    momentum: float = 0.0
    dtype: str = "float32"
    """Of the arithmetic; under a short one the parameters stay in float32."""
    clip_norm: float | None = None
    """The largest norm of the whole gradient that an update may have; None = any."""
    recompute: bool = False
    """Activation checkpointing: a block runs forward again in the backward pass; not so in the reference."""
    profile: str = ""
    """Folder for profiler traces, on the host of each rank; empty = none."""
    checkpoint: str = ""
    """Folder for checkpoints, which all hosts share; empty = none is saved, each training begins at step 1."""
    checkpoint_every: int = 1
    """Steps between two of them."""
    done: tuple[str, ...] = ()
    """Strategies that were done before all ranks were started anew."""
