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

from nccltool.triage.causes.base import FITS, TYPICAL, Clue, Clues, Given, LogEvent, Offender, Timeline

DECIDES = "LOCAL_RANK and GPU PCI address of each rank"
EXPLAINS = frozenset({"app-error", "nccl-bug", "out-of-memory"})

LASTING = True
SIGNS = {
    "nccl.duplicate-gpu": (0.95, "NCCL found two ranks on one GPU"),
    "cuda.shared-device": (0.8, "a program reports several ranks on one GPU"),
}


def clues(timeline: Timeline) -> Given:
    """NCCL's own check, and two ranks with one PCI address."""
    if (same := _same_local(timeline)) and timeline.failed:
        yield Clue(0.85, "several ranks have the same LOCAL_RANK and the same visible GPUs", same)
    if timeline.failed and _shared(timeline):
        event = timeline.first("nccl.init-start")
        yield Clue(TYPICAL, "two ranks of a communicator have the same PCI address", event)
    if timeline.failed and (event := timeline.first("torch.guessed-gpu", where=lambda e: e.rank not in (None, 0))):
        yield Clue(FITS, f"rank {event.rank} took GPU 0, which is rank 0's", event)
    if timeline.failed and (event := _listed_twice(timeline)):
        yield Clue(0.85, f"two ranks are on GPU {event.get('bus') or event.get('gpu')} of a host", event)
    if timeline.failed and (event := _all_on_one(timeline)):
        strength = 0.85 if timeline.has("torch.nccl-error") else FITS
        yield Clue(strength, f"all processes are on GPU {event.get('bus') or event.get('gpu')}", event)


def _all_on_one(timeline: Timeline) -> LogEvent | None:
    """The first row of a list of processes that has several, all on one GPU."""
    rows = timeline.of("shell.gpu-process")
    gpus = {event.get("bus") or event.get("gpu") for event in rows}
    return rows[0] if len(gpus) == 1 and len({event.get("pid") for event in rows}) > 1 else None


def _listed_twice(timeline: Timeline) -> LogEvent | None:
    """The second rank that a test lists on a GPU of a host."""
    seen: dict[tuple[str, str], str] = {}
    for event in timeline.of("shell.rank-gpu"):
        own = seen.setdefault((event.host or "", event.get("gpu") or event.get("index")), event.get("of"))
        if own != event.get("of") and (event.get("gpu") or timeline.nodes <= 1):
            return event
    for event in timeline.of("bench.device"):
        device = event.text.partition(" device ")[2].strip()  # its number too: buses of two PCI domains look alike
        own = seen.setdefault((event.get("node"), device), event.get("of"))
        if own != event.get("of"):
            return event
    return None


def _same_local(timeline: Timeline) -> LogEvent | None:
    """A rank that takes the same one of several visible GPUs as another rank of its host."""
    taken: dict[tuple[str | None, str, str], str] = {}
    for event in timeline.of("shell.local-rank"):
        place = (event.host or event.get("ip"), event.get("local"), event.get("seen"))
        if "," in event.get("seen") and taken.setdefault(place, event.get("rank")) != event.get("rank"):
            return event
    return None


def _shared(timeline: Timeline) -> list[int]:
    for known in timeline.communicators:
        for (_, bus), ranks in known.gpus.items():
            if bus and len(ranks) > 1 and len(known.started) == known.size:
                return sorted(ranks)
    return []


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The GPU that NCCL names, else the rank that is too many on it."""
    if found := timeline.part("gpu", "nccl.duplicate-gpu", name="gpu"):
        return found
    if ranks := _shared(timeline):
        return Offender("rank", str(ranks[-1]))
    if event := _all_on_one(timeline):
        return Offender("gpu", event.get("bus") or event.get("gpu"))
    return clues.host_or_rank()
