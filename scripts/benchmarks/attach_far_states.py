"""The states that a job on several hosts is put into, and what a look at it must say."""

from dataclasses import dataclass
from typing import Literal

Act = Literal["none", "kill", "stop", "drop", "drop-store", "stop-agent"]
Named = Literal["rank", "host", "store", "nobody"]
"""What the first suspect must be: the faulty rank on its host, that host, the store, or no suspect at all."""
Hidden = Literal["", "fault", "other"]
"""Which host ssh does not reach: that of the faulty rank, or another one."""


@dataclass(frozen=True, kw_only=True)
class FarState:
    """One state."""

    name: str
    states: tuple[str, ...]
    causes: tuple[str, ...] = ()
    named: Named = "rank"
    fault: str = ""
    act: Act = "none"
    at: int = 5
    fifo: str = ""
    settle_s: float = 12.0
    """After the fault: a look calls nothing a hang before 10 s."""
    strategies: tuple[str, ...] = ("ddp", "fsdp", "pipeline")
    per_host: tuple[int, ...] = (1, 2)
    launchers: tuple[str, ...] = ("torchrun", "none")
    hidden: Hidden = ""
    places: tuple[str, ...] = ("ssh",)


_ALL = ("ssh", "slurm", "containers")
STATES = (
    FarState(name="healthy", states=("healthy",), named="nobody", settle_s=2, places=_ALL),
    FarState(
        name="dead",
        states=("hung",),
        causes=("dead",),
        fault="dead",
        act="kill",
        settle_s=4,
        launchers=("none",),  # torchrun ends the others
    ),
    FarState(name="stopped", states=("hung",), causes=("stopped",), act="stop", settle_s=4, places=_ALL),
    FarState(name="asleep", states=("hung",), causes=("own-code",), fault="sleep", places=_ALL),
    FarState(
        name="data loader on a FIFO",
        states=("hung",),
        causes=("data-loader",),
        fault="loader",
        at=8,
        fifo="fifo",
        places=_ALL,
    ),
    FarState(
        name="data port dropped", states=("hung",), causes=("network",), named="host", act="drop", settle_s=14
    ),
    FarState(
        name="store stopped",
        states=("hung",),
        causes=("store",),
        named="store",
        fault="store",
        act="stop-agent",
        strategies=("ddp",),
        launchers=("torchrun",),
    ),
    FarState(
        name="store dropped",
        states=("hung",),
        causes=("store",),
        named="store",
        fault="store",
        act="drop-store",
        strategies=("ddp",),
        launchers=("torchrun",),
    ),
    FarState(name="healthy, a host unreachable", states=("healthy",), named="nobody", settle_s=2, hidden="other"),
    FarState(
        name="stopped, another host unreachable",
        states=("hung",),
        causes=("stopped",),
        act="stop",
        settle_s=4,
        hidden="other",
    ),
    FarState(
        name="asleep on the host that is unreachable",
        states=("hung", "unknown"),
        named="nobody",
        fault="sleep",
        hidden="fault",
    ),
)
