"""Two ranks use the same GPU.

## Meaning
Each rank of a communicator needs its own GPU. Two ranks selected the same one, usually because both use the
default device of their host.

## Impact
NCCL cannot create communicators ("invalid usage"). The job does not start.

## Verify
    grep -h 'Init START' LOG | grep -o 'rank [0-9]* .*busId [0-9a-f]*' | sort -k6
    # expected: each busId once per host
    python -c 'import os,torch; print(os.environ["LOCAL_RANK"], torch.cuda.current_device())'   # expected: equal
    echo $CUDA_VISIBLE_DEVICES                 # on each rank; expected: all GPUs or a different one on each

## Causes
* The program does not call torch.cuda.set_device(LOCAL_RANK) or calls it after the first collective.
* There are more ranks than GPUs.
* All ranks have the same CUDA_VISIBLE_DEVICES.
* Two containers with different hostnames share a GPU.
* Ranks use MIG slices of the same GPU.

## Fix
Call torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) before init_process_group and start at most one rank
per GPU. Blast radius: this job.

## Escalate
If the scheduler assigns one GPU to two tasks, contact its owner.
"""

from nccltool.triage.causes.base import TYPICAL, Clue, Clues, Given, Offender, Timeline

DECIDES = "LOCAL_RANK and GPU PCI address of each rank"
EXPLAINS = frozenset({"app-error", "nccl-bug"})

SIGNS = {"nccl.duplicate-gpu": (0.95, "NCCL found two ranks on one GPU")}


def clues(timeline: Timeline) -> Given:
    """NCCL's own check, and two ranks with one PCI address."""
    if timeline.failed and _shared(timeline):
        event = timeline.first("nccl.init-start")
        yield Clue(TYPICAL, "two ranks of a communicator have the same PCI address", event)


def _shared(timeline: Timeline) -> list[int]:
    for known in timeline.communicators:
        for (_, bus), ranks in known.gpus.items():
            if bus and len(ranks) > 1 and len(known.started) == known.size:
                return sorted(ranks)
    return []


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The GPU when both ranks name each other or more than two share it, else the rank that names the other."""
    named = [event for event in timeline.of("nccl.duplicate-gpu") if event.get("rank")]
    pairs = {(event.get("rank"), event.get("other")) for event in named}
    alike = {frozenset(pair) for pair in pairs}
    if named and (len(alike) > 1 or all((other, rank) in pairs for rank, other in pairs)):
        return Offender("gpu", named[0].get("gpu"))
    if named:
        return Offender("rank", named[0].get("rank"))
    if ranks := _shared(timeline):
        return Offender("rank", str(ranks[-1]))
    return clues.host_or_rank()
