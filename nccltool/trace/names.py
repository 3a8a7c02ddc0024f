"""What the names and arguments of events say: collectives of NCCL, RCCL, and Gloo, steps, and input."""

import re
from collections.abc import Mapping
from typing import Any

from nccltool.core.text import escaped

_NCCL = re.compile(r"(?:void )?(?:nccl(?:Sym[a-z]*)?(?:Dev)?Kernel|mscclKernel)")
_OPERATION = re.compile(
    r"(?P<op>All_?Reduce|All_?Gather|Reduce_?Scatter|All_?To_?All|Broadcast|Reduce|Send_?Recv|Send|Recv|Gather"
    r"|Scatter|Barrier)",
    re.IGNORECASE,
)
_STEP = re.compile(r"(?:ProfilerStep#|nccltool step )(\d{1,15})$")
_OPTIMIZER = re.compile(r"Optimizer\.step#")
_INPUT = re.compile(r"enumerate\(DataLoader\)|DataLoader|DataPipe|nccltool input$")
_RANK_IN_NAME = re.compile(r"rank[-_.]?(\d{1,7})(?!\d)", re.IGNORECASE)
_WORDS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "sendrecv": "send_recv",
}
SYNCHRONIZING = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})
"""No rank ends one of these before the last one has begun."""
WAITS = re.compile(r"(cuda|hip)\w*(Synchronize|WaitEvent)$")
"""Calls in which the CPU waits for a GPU."""
_CALLS = ("c10d::", "c10d_functional::", "_c10d_functional::", "record_param_comms", "gloo:", "nccl:")


def is_nccl_kernel(name: str) -> bool:
    return _NCCL.match(name) is not None


def operation_of(text: str) -> str:
    """`all_reduce`, of the name of a kernel, an annotation, or a collective; empty if it names none."""
    found = _OPERATION.search(text)
    if found is None:
        return ""
    word = found["op"].lower().replace("_", "")
    return _WORDS.get(word, word)


def gloo_operation(name: str) -> str:
    return operation_of(name) if name.startswith("gloo:") else ""


def is_call_of_communication(name: str) -> bool:
    """Whether an operator only starts or awaits communication: it computes nothing."""
    return name.startswith(_CALLS)


def step_number(name: str) -> int | None:
    found = _STEP.match(name)
    return int(found[1]) if found else None


def is_optimizer_step(name: str) -> bool:
    return _OPTIMIZER.match(name) is not None


def is_input(name: str) -> bool:
    return _INPUT.match(name) is not None


def rank_in(file_name: str) -> int | None:
    """Of `ddp-rank3.pt.trace.json.gz`."""
    found = _RANK_IN_NAME.search(file_name)
    return int(found[1]) if found else None


def text_of(args: Mapping[str, Any], key: str) -> str:
    """A short text argument, escaped: half a surrogate fits in no document. Empty = missing, or something else."""
    value = args.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 1 << 63 else ""
    return escaped(value[:200]) if isinstance(value, str) else ""


def count_of(args: Mapping[str, Any], key: str) -> int | None:
    value = args.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 60 else None
