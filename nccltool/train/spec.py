"""What a smoke training trains, and how."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainSpec:
    """What a smoke training trains, and how."""

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
    accumulate: int = 1
    """Micro-batches of each rank in a step."""
    micro_batches: int = 2
    """Micro-batches of a pipeline for each of its ranks."""
    clip_norm: float | None = None
    """The largest norm of the whole gradient that an update may have; None = any."""
    comm_hook: str = "none"
    bucket_mib: float = 25.0
    gradient_as_bucket_view: bool = False
    static_graph: bool = False
    recompute: bool = False
    """Activation checkpointing: a block runs forward again in the backward pass; not so in the reference."""
    shard: str = "full"
    reshard: bool = True
    """Parameters are given back after the forward pass, and gathered again for the backward pass."""
    wrap: str = "block"
    """What is gathered at once: a block, or the whole model."""
    offload: bool = False
    """Parameters, gradients and the optimizer's state live in the host's memory."""
    param_dtype: str = ""
    """Of gathered parameters and of the arithmetic; empty = as they are."""
    reduce_dtype: str = ""
    """In which gradients are reduced; empty = as they are."""
    schedule: str = "1f1b"
    stages: int | None = None
    """Of a pipeline on each rank; None = as many as the schedule has."""
    sequence_parallel: bool = False
    """Between the layers that tensor parallelism cuts, ranks share the tokens."""
    zero: int = 1
    """Stage of ZeRO: 1 shards the optimizer's state, 2 gradients too, 3 parameters too."""
    profile: str = ""
    """Folder for profiler traces, on the host of each rank; empty = none."""
    checkpoint: str = ""
    """Folder for checkpoints, which all hosts share; empty = none is saved, each training begins at step 1."""
    checkpoint_every: int = 1
    """Steps between two of them."""
    done: tuple[str, ...] = ()
    """Strategies that were done before all ranks were started anew."""
