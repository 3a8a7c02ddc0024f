"""How long nothing may move, beyond --timeout: what is slow by nature is no hang. Pure.

A rank notes its allowance on its progress page, its supervisor says it with each beat, and the runner waits for
that long. Only those count who are waited for: of a rank that is stopped, cut off, or outside of communication
while the others wait inside, --timeout is enough to say so, whatever the others are in the middle of.
"""

from nccltool.launch import start_costs
from nccltool.launch.job import Job
from nccltool.launch.run_state import RankState, RunState

_SLOWER = 2.0
"""How many times slower than the published figures a start may be."""
_COMMUNICATOR_S = 120.0
"""The slowest start of a communicator that is published took 55 s for 8 ranks, 52 s of it to load kernels
(https://github.com/NVIDIA/nccl/issues/1646); about twice that."""
_COMMUNICATOR_S_PER_RANK = 0.5
"""1,047 s for 2,048 ranks and all their groups, before it was mended (MegaScale, NSDI 2024)."""
_MESH_S_PER_PAIR = 1e-4
"""Gloo connects each rank with each other: 64 ranks on 2 cores took 0.23 s, 56 us for each of 4,096; twice
that."""
_CONNECT_S_PER_RANK = _COMMUNICATOR_S_PER_RANK
"""The first call of an operation connects to the peers that it needs, at the worst to all of them."""
_RATE_S = 3.0
"""The rate between the ranks is told from calls of about a second at most (nccltool.worker.rank.contact)."""
BELOW_DEADLINE_S = 60.0
"""How much longer than the deadline the nets below it wait: the runner ends a run and names the culprit."""
UNHEARD_S = 11.0
"""A host of which nothing came for so long is cut off: its supervisors speak every five seconds."""


def of_driver(job: Job, gpus: int) -> float:
    """While a rank asks the driver of so many GPUs, which may be started cold: as long as --join-timeout says."""
    cold_s = _SLOWER * (start_costs.DRIVER_COLD_S + start_costs.CONTEXT_S) * gpus
    return max(cold_s, job.join_timeout_s - job.timeout_s)


def of_first_contact(backend: str, ranks: int) -> float:
    """While ranks connect for the first time."""
    if backend == "nccl":
        return _COMMUNICATOR_S + _COMMUNICATOR_S_PER_RANK * ranks + _RATE_S
    return _MESH_S_PER_PAIR * ranks**2 + _RATE_S


def of_first_call(backend: str, ranks: int) -> float:
    """While an operation runs for the first time; Gloo is connected by then."""
    return _CONNECT_S_PER_RANK * ranks if backend == "nccl" else 0.0


def of_libraries(deadline_s: float) -> float:
    """The time-out of process groups and of waits in the store, which NCCL counts from the time at which a call is
    queued: longer than the runner ever waits."""
    return deadline_s + BELOW_DEADLINE_S


def of_run(run: RunState) -> float:
    """Seconds beyond --timeout in which nothing may move where the ranks are now."""
    living = [state for state in run.ranks.values() if not state.ended and not state.said_bye]
    heard_at = max((state.heard_at for state in living), default=0.0)
    # what a slow link carries besides holds up what is said over it, too
    unheard_s = max(UNHEARD_S, run.job.timeout_s / 2)
    away = [state for state in living if state.is_stopped or state.heard_at < heard_at - unheard_s]
    if away:
        return 0.0
    outside = [state for state in living if not state.inside_call]
    waited_for = outside if len(outside) < len(living) else []
    return max(map(_of_rank, waited_for or living), default=0.0)


def _of_rank(state: RankState) -> float:
    return state.beat.allowance_s if state.beat else 0.0
