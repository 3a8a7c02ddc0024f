"""How long ranks take until they measure, on healthy hosts: a model, and where its figures are from. Pure.

It is for estimates and budgets. Deadlines of ranks are longer by what a cold driver and a slow fabric may take.
Nothing of a GPU was measured here: what is not published is marked as assumed, and errs to the long side.
"""

from dataclasses import dataclass

from nccltool.core.errors import BadInput
from nccltool.core.units import format_decimal_bytes

PYTHON_S = 3.9
"""Python, torch, the agent. Here a run of two ranks began to measure 1.1 s after its start on an idle machine, and
2 to 4 s on a busy one: the larger figure counts."""
CUDA_BUILD_S = 2.0
"""What a torch with CUDA or ROCm takes longer to import. Assumed: some GB of libraries, from a warm cache."""
RANK_S = 0.05
"""A rank of a host is forked and says hello: 32 ranks took 1.05 s longer than 2 on two cores here."""
LOGIN_S = 2.0
"""A login by ssh, or srun's step, and Python's start there: a second or two."""
HOST_S = 0.02
"""Of each host, on the one that starts them all: an ssh to set up. Assumed: 50 a second."""
GREETING_S = 0.001
"""Rank 0 reads what each rank says of itself: 0.03 ms on loopback here. Assumed: a millisecond by network."""
CONTEXT_S = 0.5
"""The CUDA context of a rank. The driver makes those of a host one after another
(https://github.com/rapidsai/dask-cuda/issues/198: more than a second each of 16 that see all GPUs); one takes
about 0.5 s (https://github.com/NVIDIA/nvtrust/issues/113)."""
DRIVER_COLD_S = 3.0
"""Of each GPU, where nothing keeps the driver awake: 1 to 3 s
(https://docs.nvidia.com/deploy/driver-persistence/overview.html). Healthy hosts run nvidia-persistenced: not in
estimates."""
COMMUNICATOR_S = 3.0
"""ncclCommInitRank on one host, with the first connections: 2.6 to 2.8 s on 8 B200 without the loading of kernels,
which took far too long there (https://github.com/NVIDIA/nccl/issues/1646)."""
COMMUNICATOR_RANK_S = 0.0027
"""Of each rank more: 265 s at 96 Ki ranks (https://arxiv.org/abs/2510.20171); the bootstrap goes around a ring."""
FIRST_CALL_S = 0.4
"""The first call of an operation makes its connections: 0.39 s for those of one algorithm (nccl issue 1646)."""

RANK_BYTES = 14 << 20
"""Of a rank and its supervisor on a processor, without buffers: 8 ranks over Gloo had 9.9 MB and 3.7 MB of their
own each here (torch 2.13, Private_Dirty of smaps_rollup)."""
_RANKS_OF_CORE = 8
"""Where a core has more ranks, they mostly wait for it: then it is said what they cost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """Ranks that are started together."""

    hosts: int
    per_host: int
    gpus: bool = False
    """Each has one; else they use Gloo on processors."""
    remote: bool = False
    """Their hosts are reached by ssh or srun."""

    @property
    def world(self) -> int:
        return self.hosts * self.per_host


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """One part of a start."""

    what: str
    seconds: float


def costs(ranks: Started) -> tuple[Cost, ...]:
    """What the start consists of, in the order in which it happens."""
    on_host = RANK_S * ranks.per_host
    parts = [
        Cost(what="hosts", seconds=logins_s(ranks.hosts) if ranks.remote else 0.0),
        Cost(what="Python and torch", seconds=PYTHON_S + (CUDA_BUILD_S if ranks.gpus else 0.0)),
        Cost(what="ranks", seconds=on_host + GREETING_S * ranks.world),
        Cost(what="GPU contexts", seconds=CONTEXT_S * ranks.per_host if ranks.gpus else 0.0),
        Cost(what="communicator", seconds=communicator_s(ranks.world) if ranks.gpus else 0.0),
    ]
    return tuple(part for part in parts if part.seconds)


def start_s(ranks: Started) -> float:
    """Until they begin to measure."""
    return sum(part.seconds for part in costs(ranks))


def logins_s(hosts: int) -> float:
    """Until all hosts have answered."""
    return LOGIN_S + HOST_S * hosts


def communicator_s(world: int) -> float:
    """A communicator of NCCL, with its first connections."""
    return COMMUNICATOR_S + COMMUNICATOR_RANK_S * world


def told_of_host(ranks: int, free_bytes: int | None, cores: int) -> str:
    """What to say of so many ranks, mostly nothing. Raises BadInput when their memory is not there."""
    needed = ranks * RANK_BYTES
    if free_bytes is not None and needed > free_bytes:
        raise BadInput(
            f"{ranks} ranks need about {format_decimal_bytes(needed)} of memory, and this host has"
            f" {format_decimal_bytes(free_bytes)} free",
            f"start at most {max(1, free_bytes // RANK_BYTES)}: --nodes, --nproc-per-node",
        )
    if ranks <= _RANKS_OF_CORE * cores:
        return ""
    starts_s = start_s(Started(hosts=1, per_host=ranks))
    return (
        f"{ranks} ranks on {cores} cores: {2 * ranks} processes, about {format_decimal_bytes(needed)} of memory,"
        f" and {starts_s:.0f} s to start"
    )
