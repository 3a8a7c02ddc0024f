"""The states that a job is put into, and what a look at it must say."""

from dataclasses import dataclass, field
from typing import Literal

Act = Literal[
    "none",
    "kill",
    "stop",
    "freeze-v1",
    "freeze-v2",
    "starve",
    "stop-agent",
    "drop",
    "early",
    "drain",
    "storm",
]
"""What is done from outside, once the job has come to its step."""
_UNDONE = ("none", "stop", "freeze-v1", "freeze-v2", "starve")
ALL_STRATEGIES = ("ddp", "fsdp", "pipeline")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One state."""

    name: str
    states: tuple[str, ...]
    causes: tuple[str, ...] = ()
    """() = no culprit may be named."""
    names_rank: bool = True
    """Whether the faulty rank must be named; if not, no rank may be."""
    fault: str = ""
    act: Act = "none"
    strategies: tuple[str, ...] = ALL_STRATEGIES
    ranks: tuple[int, ...] = (*(2,) * 9, *(3,) * 9, 5, 8)
    """One is chosen: most of the CPU time of a trial is that in which its ranks import torch."""
    more: tuple[str, ...] = ()
    """Options of the script."""
    settle_s: float = 12.0
    """After the fault: a look calls nothing a hang before 10 s."""
    fifos: tuple[str, ...] = field(default=())


_ODD_ONE = (*(3,) * 9, 6)
"""Of two ranks that differ, neither is the odd one."""
SCENARIOS = (
    Scenario(name="healthy", states=("healthy",), settle_s=1),
    Scenario(name="starting", states=("starting",), act="early", settle_s=0),
    Scenario(name="ending", states=("ending",), fault="ending", more=("--steps", "8"), settle_s=4),
    Scenario(name="dead", states=("hung",), causes=("dead",), fault="dead", act="kill", settle_s=3),
    Scenario(name="stopped", states=("hung",), causes=("stopped",), act="stop", settle_s=3),
    Scenario(name="frozen, cgroup v1", states=("hung",), causes=("frozen",), act="freeze-v1", settle_s=3),
    Scenario(name="frozen, cgroup v2", states=("hung",), causes=("frozen",), act="freeze-v2", settle_s=3),
    Scenario(
        name="data loader on a FIFO",
        states=("hung",),
        causes=("data-loader",),
        fault="loader",
        fifos=("fifo",),
        more=("--at", "8"),
    ),
    Scenario(
        name="data in the main process on a FIFO",
        states=("hung",),
        causes=("data-loader",),
        fault="loader-main",
        fifos=("fifo",),
        more=("--at", "8"),
    ),
    Scenario(
        name="checkpoint to a slow disk",
        states=("slow",),
        causes=("checkpoint-slow",),
        fault="checkpoint",
        fifos=("disk",),
        act="drain",
    ),
    Scenario(
        name="checkpoint to a dead disk",
        states=("hung",),
        causes=("checkpoint-stuck",),
        fault="checkpoint",
        fifos=("disk",),
    ),
    Scenario(name="import storm", states=("slow", "hung"), causes=("starting",), fault="imports", act="storm"),
    Scenario(name="compile storm", states=("slow", "hung"), causes=("compiling",), fault="compile"),
    Scenario(
        name="different size",
        states=("hung",),
        causes=(
            "size-mismatch",
            "order-mismatch",
        ),  # stacks show that the calls differ; sizes only a recorder does
        fault="size",
        ranks=_ODD_ONE,
    ),
    Scenario(name="different order", states=("hung",), causes=("order-mismatch",), fault="order", ranks=_ODD_ONE),
    Scenario(
        name="different number of batches",
        states=("hung",),
        causes=("left-early",),
        fault="batches",
    ),
    Scenario(name="asleep in its own code", states=("hung",), causes=("own-code",), fault="sleep"),
    Scenario(name="busy in its own code", states=("hung",), causes=("own-code",), fault="busy"),
    Scenario(name="GIL held by native code", states=("hung",), causes=("gil",), fault="gil"),
    Scenario(
        name="store gone",
        states=("hung",),
        causes=("store",),
        names_rank=False,
        fault="store",
        act="stop-agent",
        strategies=("ddp",),
    ),
    Scenario(
        name="CPU-starved",
        states=("slow",),
        causes=("cpu-starved",),
        act="starve",
        settle_s=4,
    ),
    Scenario(
        name="data port dropped",
        states=("hung",),
        causes=("network",),
        names_rank=False,
        act="drop",
        ranks=(*(2,) * 9, 6),
    ),
)
BY_NAME = {one.name: one for one in SCENARIOS}
ONE_AFTER_THE_OTHER = tuple(one for one in SCENARIOS if not one.fault and one.act in _UNDONE)
"""These can be undone, and so are tried on one job."""


def _healthy(name: str, *more: str, strategies: tuple[str, ...] = ALL_STRATEGIES) -> Scenario:
    return Scenario(name=f"healthy: {name}", states=("healthy",), settle_s=0, strategies=strategies, more=more)


_DATA_PARALLEL = ("ddp", "fsdp")
HEALTHY = (
    _healthy("steps of 5 ms", "--step-s", "0.005"),
    _healthy("steps of 0.1 s", "--step-s", "0.1"),
    _healthy("steps of 2 s", "--step-s", "2"),
    _healthy("uneven ranks", "--step-s", "0.2", "--uneven", "ranks"),
    _healthy("uneven steps", "--step-s", "0.1", "--uneven", "steps"),
    _healthy("all evaluate", "--step-s", "0.05", "--evaluate", "all"),
    _healthy("rank 0 evaluates", "--step-s", "0.05", "--evaluate", "first"),
    _healthy("checkpoints", "--step-s", "0.05", "--save"),
    _healthy("data loaders", "--step-s", "0.02", "--load-s", "0.02", "--workers", "2"),
    _healthy("data in the main process", "--step-s", "0.02", "--load-s", "0.01", "--workers", "0"),
    _healthy("accumulated gradients", "--step-s", "0.05", "--accumulate", "8", strategies=_DATA_PARALLEL),
)
"""Kinds of healthy work."""
