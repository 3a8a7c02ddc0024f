"""Ranks could not register memory with the HCA: the limit on locked memory is too low.

## Meaning
RDMA pins the memory that it reads and writes. The limit on locked memory (ulimit -l, RLIMIT_MEMLOCK) is too low,
so ibv_reg_mr, ibv_create_cq, or ibv_create_qp fail with "Cannot allocate memory".

## Impact
Ranks on this host fail when they set up RDMA, and so does every RDMA job that is started on it in the same way.

## Verify
    srun -w HOST bash -c 'ulimit -l'           # started the same way as the job; expected: unlimited
    grep -i 'locked' /proc/$(pgrep -n slurmd)/limits   # expected: unlimited
    docker run ... bash -c 'ulimit -l'         # expected: unlimited

## Causes
* slurmd or sshd started before the limits were raised.
* The container was started without --ulimit memlock=-1.
* limits.conf applies to login shells, but not to batch steps.
* Less often, the HCA is out of resources, or GPU memory cannot be registered.

## Fix
Containers: --ulimit memlock=-1:-1. Slurm: set LimitMEMLOCK=infinity in slurmd.service and
PropagateResourceLimitsExcept=MEMLOCK in slurm.conf, then run systemctl restart slurmd. Blast radius: a restart of
slurmd does not end running jobs; the new limit applies to new jobs.

## Escalate
Ask the platform team to correct the unit file or the container runtime.
"""

from nccltool.core.text import whole
from nccltool.triage.causes.base import FITS, SAYS, Clue, Clues, Given, LogEvent, Offender, Timeline

DECIDES = "`ulimit -l` inside the job"

EXPLAINS = frozenset({"app-error", "nccl-bug", "out-of-memory"})
SIGNS = {
    "ib.memlock": (SAYS, "a message mentions the limit on locked memory"),
    "ib.no-memory": (0.8, "the HCA driver could not allocate memory"),
    "ib.create-failed": (0.6, "the HCA driver could not create a queue"),
    "ib.register-failed": (0.5, "memory could not be registered with the HCA"),
}
_SMALL_KBYTES = 1 << 20
"""1 GiB: NCCL's buffers of one rank with 16 channels and several peers come near it."""


def clues(timeline: Timeline) -> Given:
    if (event := _limit(timeline)) and timeline.failed:
        refused = timeline.first("host.oom", where=lambda e: "Cannot allocate memory" in e.text)
        yield Clue(0.75 if refused else FITS, f"{event.get('name')} is {event.get('limit')} kbytes", event)


def _limit(timeline: Timeline) -> LogEvent | None:
    return timeline.first(
        "shell.memlock", where=lambda e: (limit := whole(e.get("limit"))) is not None and limit < _SMALL_KBYTES
    )


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The host; where no line names it, the limit that is shown."""
    if found := timeline.part("device", "ib.memlock-device", "ib.no-memory", name="hca"):
        return found
    refusing, limit = timeline.host_named(*SIGNS), _limit(timeline)
    if limit and limit.get("name").startswith("ulimit"):  # somebody asked on the host that has it
        return refusing or clues.host_or_rank()
    if limit and not (refusing and len(timeline.hosts) == 1):
        return Offender("limit", limit.get("name"))
    return refusing or clues.host_or_rank()
