"""The ranks did not meet: wrong or unresolvable master address, port in use, too few joined.

## Meaning
Before NCCL starts, ranks meet at a TCPStore or a rendezvous at MASTER_ADDR:MASTER_PORT. That did not work.

## Impact
The job does not start. Nothing was trained or measured.

## Verify
    getent hosts MASTER_ADDR                   # on every host; expected: the same, routed address
    ss -ltnp 'sport = :29500'  # on the master; expected: this job's process, or nothing before it starts
    nc -vz MASTER_ADDR 29500                   # from the others; expected: succeeded
    squeue -j JOB -o '%D %N'                   # expected: as many nodes as --nnodes says

## Causes
An old process that still holds the port; two jobs with the same port on a host; a pod name that DNS does not
know yet; a wrong --nnodes; a node that started late or not at all; clocks that differ (torchrun's c10d
rendezvous drops a node that is some 15 s behind).

## Fix
Port in use: end the old process, or choose another --master-port / --rdzv-endpoint. Name not found: use an
address, or wait for the service record. Too few: start the missing nodes, or raise join_timeout. Blast radius:
this job only.

## Escalate
To whoever runs the name service or the scheduler, when names or nodes are missing.
"""

from nccltool.triage.causes.base import FITS, HINT, SAYS, TYPICAL, Clue, Clues, Offender, Timeline

DECIDES = "whether MASTER_ADDR resolves on every host and its port answers, before the job starts"

SIGNS_OF_FAILURE = {
    "store.in-use": (SAYS, "the port of the store is taken"),
    "store.unresolved": (SAYS, "a host name could not be resolved"),
    "gloo.unresolved": (TYPICAL, "Gloo could not resolve the name of its own host"),
    "mpi.no-start": (0.8, "the launcher could not start processes on all hosts"),
    "store.timeout": (TYPICAL, "the store could not be reached in time"),
    "store.too-few": (TYPICAL, "too few ranks or nodes joined"),
    "store.no-environment": (0.65, "the environment lacks what the rendezvous needs"),
    "store.rendezvous": (FITS, "the rendezvous failed"),
    "nccl.bind-failed": (0.6, "an address could not be bound"),
    "nccl.bootstrap-mismatch": (FITS, "ranks of different jobs or sizes met at one address"),
    "store.keep-alive": (HINT, "a node lost the rendezvous"),
    "nccl.init-complete": (-FITS, "communicators were made: the ranks had met"),
}
_NAMING = ("store.timeout", "store.unresolved", "store.lookup-retry", "store.endpoint", "store.retry")


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The port, or the host that cannot be found."""
    taken = timeline.first_part("port", "store.in-use", "store.endpoint", name="port")
    if taken and timeline.has("store.in-use"):
        return taken
    met = timeline.first("nccl.bootstrap-mismatch", "nccl.bind-failed")
    if met and not timeline.has("store.timeout", "store.too-few", "store.unresolved"):
        return Clues([Clue(FITS, "", met)]).host_or_rank()
    return timeline.first_part("host", *_NAMING, name="host") or clues.host_or_rank()
