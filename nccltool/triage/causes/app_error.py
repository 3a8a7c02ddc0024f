"""The user's program failed on one rank; the other failures follow from it.

## Meaning
A rank raised an exception in its own code or misused its framework. The other ranks then wait for it, lose the
connection to it, or are stopped by the launcher.

## Impact
The job died. Hosts and fabric are healthy.

## Verify
    grep -n -A30 'Traceback' LOG | head -60    # expected: the first traceback and the rank that printed it
    python -m torch.distributed.elastic.multiprocessing.errors.record
    # with @record, torchrun prints the traceback

## Causes
* A file is missing, or an argument is wrong.
* Tensor shapes do not match, an assertion fails, or a check finds NaN.
* In DDP, some parameters get no gradient (see find_unused_parameters).

## Fix
Correct the program or its input, then restart from the last checkpoint. Blast radius: this job.

## Escalate
Send the owner of the program the rank and the traceback.
"""

import re
from itertools import takewhile

from nccltool.triage.causes.base import (
    FITS,
    HINT,
    TYPICAL,
    Clue,
    Clues,
    Given,
    LogEvent,
    Offender,
    Timeline,
    first_to_end,
)

DECIDES = "the first traceback, and whether it precedes the first timeout"
EXPLAINS = frozenset({"straggler-timeout", "peer-exited", "other", "nccl-bug", "collective-mismatch"})

SOURCES = ("misc/argcheck",)
SIGNS_OF_FAILURE = {
    "torch.unused": (0.9, "some parameters received no gradient"),
    "nccl.bad-argument": (0.8, "NCCL was called with an invalid argument"),
    "torch.no-nccl": (0.85, "this build of torch has no NCCL"),
    "cuda.no-device": (0.6, "the process sees no usable GPU"),
    "torch.no-gpu": (TYPICAL, "the process sees no GPU"),
    "cuda.invalid-device": (0.6, "the process selected a GPU that does not exist"),
    "cuda.bad-call": (0.5, "the program made a CUDA call that CUDA rejected"),
    "torch.models-differ": (0.6, "the model differs between ranks"),
    "app.assert": (TYPICAL, "a device-side assertion failed"),
    "app.launch": (0.6, "the program could not be started with its command line"),
    "job.no-image": (0.6, "a container image could not be pulled"),
    "host.no-space": (0.6, "a file system is full, over quota, or its files are stale"),
    "host.io-error": (FITS, "a file system failed"),
    "app.stopped": (0.6, "the program stopped itself"),
    "app.segfault": (HINT, "a process crashed"),
    "kernel.segfault": (FITS, "the kernel logged the crash of a process"),
    "mpi.bad-call": (0.75, "MPI rejected a call of the program"),
}

_MISUSE = ("invalid usage", "invalid argument")


def clues(timeline: Timeline) -> Given:
    if not timeline.failed:
        return
    if (found := timeline.first("shell.sanitizer")) and not timeline.has("app.nccl-kernel"):
        yield Clue(TYPICAL, "a memory checker found an out-of-bounds access in a kernel", found)
    if used := timeline.first("torch.nccl-error", where=lambda e: e.get("error") in _MISUSE):
        yield Clue(FITS, "NCCL reported invalid usage", used)
    if event := timeline.first("app.exception"):
        elsewhere = event.get("about") or _OF_SYSTEM.search(event.text) or _OF_NUMBERS.search(event.text)
        yield Clue(0.5 if elsewhere else 0.75, _told(event), event)
        ranks = {one.rank for one in timeline.timeouts if one.rank is not None}
        if ranks and (rank := timeline.rank_of(event)) is not None and rank not in ranks:
            yield Clue(TYPICAL, "the rank that raised it is not among those that timed out", event)
        waiting = timeline.first("torch.timeout")
        if waiting and timeline.before(event, waiting):
            yield Clue(FITS, "the exception came before the other ranks timed out", event)
        elif waiting:
            yield Clue(-FITS, "other ranks timed out before it", waiting)


_OF_SYSTEM = re.compile(
    r"(?i)\b(?:cuda(?:_error)?\w*|cuinit|nvml|mlock|pin(?:ned)? (?:host )?memory|/dev/shm|shared memory|bus error|"
    r"fabric|resource temporarily|too many|system not ready|driver|raylet)\b"
)
"""Words of exceptions that tell of the host rather than of the program."""
_OF_NUMBERS = re.compile(r"\b(?:NaN|nan|Inf)\b")
"""Words of exceptions that tell of numbers which were wrong before."""
_LAYERS = (
    (
        "the compiler",
        r"torch/_inductor|torch/_dynamo|[Tt]riton|Inductor|BackendCompiler|nvcc|ninja|building extension",
    ),
    ("the data loader", r"DataLoader worker|utils/data/|webdataset|datasets/"),
    ("the model hub", r"huggingface|HTTPError|GatedRepo|RepositoryNotFound|HfHub|LocalEntryNotFound"),
    ("the tokenizer", r"tokeniz|sentencepiece|chat_template"),
    ("the checkpoint", r"checkpoint|state_dict|safetensors|inline_container|PytorchStream|torch\.(?:save|load)"),
    (
        "the file system",
        r"Errno (?:2|5|13|17|28|30|116|121|122)\b|No such file|Stale file|No space|quota exceeded",
    ),
    ("an import", r"ModuleNotFoundError|ImportError"),
)
"""The layer that raised an exception, by what the exception or its frame says."""


def _told(event: LogEvent) -> str:
    """The exception with the layer that it comes from, where that is known."""
    said = f"{event.text} {event.get('frame')}"
    layer = next((name for name, words in _LAYERS if re.search(words, said)), None)
    raised = f"a rank raised {event.get('type')}"
    return f"{raised} in {layer}" if layer else raised


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The parameters that DDP names, else the rank that failed first."""
    if event := timeline.first("torch.unused-names"):
        return Offender("parameter", _module(event.get("names")))
    own = timeline.of("app.exception", "app.assert", "nccl.bad-argument", *SIGNS_OF_FAILURE)
    ranks = [str(rank) for event in own if (rank := timeline.rank_of(event)) is not None]
    if first := next(iter(ranks), None) or first_to_end(timeline):
        return Offender("rank", first)
    found = clues.rank_or_host()
    if found and found.kind == "rank":
        return found
    return _of_a_library(timeline) or _mask(timeline) or found or _task(timeline)


def _of_a_library(timeline: Timeline) -> Offender | None:
    """The rank whose traceback ends with what CUDA or NCCL answered to it: the line that tells why has no rank."""
    answers = (e for e in timeline.of("app.echo") if any(words in e.text for words in ("CUDA error", *_MISUSE)))
    ranks = (rank for event in answers if (rank := timeline.rank_of(event)) is not None)
    return next((Offender("rank", str(rank)) for rank in ranks), None)


_MASK = re.compile(r"\b(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES\b")


def _mask(timeline: Timeline) -> Offender | None:
    """The variable that hides GPUs, where a process chose one by a number that is not among the visible ones."""
    if not timeline.has("cuda.invalid-device"):
        return None
    named = (_MASK.search(event.text) for event in timeline.of("shell.visible", "shell.command"))
    return next((Offender("variable", match[0]) for match in named if match), None)


def _task(timeline: Timeline) -> Offender | None:
    """The process of the innermost task that Ray names: a task raises what one in it raised."""
    tasks = timeline.of("app.task")
    return Offender("process", tasks[-1].get("task")) if tasks else None


def _module(names: str) -> str:
    """What the parameters have in common: layer.proj.weight, layer.proj.bias -> layer.proj."""
    words = [name.strip().split(".") for name in names.split(",") if name.strip()]
    common = [parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, zip(*words, strict=False))]
    if len(words) == 1 and len(common) > 1 and common[-1] in ("weight", "bias"):
        common.pop()
    return ".".join(common) or names.split(",")[0].strip()
