"""The user's program failed on a rank; the rest follows.

## Meaning
A rank raised an exception of its own, or broke a rule of a framework. The other ranks then wait for it, lose
it, or are ended by the agent.

## Impact
The job died. Hosts and fabric are innocent.

## Verify
    grep -n -A30 'Traceback' LOG | head -60    # expected: the first one, and the rank that printed it
    python -m torch.distributed.elastic.multiprocessing.errors.record
    # with @record the agent prints the traceback

## Causes
A missing file, a wrong argument, a shape that does not fit, an assertion; parameters without a gradient in DDP
(find_unused_parameters); a NaN check.

## Fix
Correct the program or its input, and start again from the last checkpoint. Blast radius: this job only.

## Escalate
To the owner of the program, with rank and traceback.
"""

from itertools import takewhile

from nccltool.triage.causes.base import FITS, TYPICAL, Clue, Clues, Given, Offender, Timeline, first_to_end

DECIDES = "the first traceback, and whether it came before the first time-out"
EXPLAINS = frozenset({"straggler-timeout", "peer-exited", "other", "nccl-bug", "collective-mismatch"})

SOURCES = ("misc/argcheck",)
SIGNS_OF_FAILURE = {
    "torch.unused": (0.9, "parameters got no gradient"),
    "nccl.bad-argument": (0.8, "NCCL was called with an argument that is not allowed"),
    "torch.no-nccl": (0.85, "this torch has no NCCL"),
    "cuda.no-device": (0.6, "the process sees no usable GPU"),
    "torch.no-gpu": (TYPICAL, "the process sees no GPU"),
    "cuda.invalid-device": (0.6, "the process asked for a GPU that it does not have"),
    "torch.models-differ": (0.6, "the models of the ranks differ"),
    "app.assert": (TYPICAL, "an assertion in a kernel failed"),
    "app.launch": (0.6, "the program could not be started as it was told"),
    "app.stopped": (0.6, "the program gave up of its own accord"),
    "app.segfault": (FITS, "a process crashed"),
}

_MISUSE = ("invalid usage", "invalid argument")


def clues(timeline: Timeline) -> Given:
    if not timeline.failed:
        return
    if used := timeline.first("torch.nccl-error", where=lambda e: e.get("error") in _MISUSE):
        yield Clue(FITS, "NCCL was used in a way that it does not allow", used)
    if event := timeline.first("app.exception"):
        yield Clue(0.75, f"a rank raised {event.get('type')}", event)
        waiting = timeline.first("torch.timeout")
        if waiting and timeline.before(event, waiting):
            yield Clue(FITS, "it did so before the others timed out", event)
        elif waiting:
            yield Clue(-FITS, "others had timed out before", waiting)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The parameters that DDP names, else the rank that failed first."""
    if event := timeline.first("torch.unused-names"):
        return Offender("parameter", _module(event.get("names")))
    own = timeline.of("app.exception", "app.assert", "nccl.bad-argument", *SIGNS_OF_FAILURE)
    ranks = [str(rank) for event in own if (rank := timeline.rank_of(event)) is not None]
    if first := next(iter(ranks), None) or first_to_end(timeline):
        return Offender("rank", first)
    found = clues.rank_or_host()
    return found if found and found.kind == "rank" else _of_a_library(timeline) or found


def _of_a_library(timeline: Timeline) -> Offender | None:
    """The rank whose traceback ends with what CUDA or NCCL answered to it: the line that tells why has no rank."""
    answers = (e for e in timeline.of("app.echo") if any(words in e.text for words in ("CUDA error", *_MISUSE)))
    ranks = (rank for event in answers if (rank := timeline.rank_of(event)) is not None)
    return next((Offender("rank", str(rank)) for rank in ranks), None)


def _module(names: str) -> str:
    """What the parameters have in common: layer.proj.weight, layer.proj.bias -> layer.proj."""
    words = [name.strip().split(".") for name in names.split(",") if name.strip()]
    common = [parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, zip(*words, strict=False))]
    if len(words) == 1 and len(common) > 1 and common[-1] in ("weight", "bias"):
        common.pop()
    return ".".join(common) or names.split(",")[0].strip()
