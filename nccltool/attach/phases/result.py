"""What a rank does, in the words of the glossary."""

from dataclasses import dataclass
from typing import Literal

PhaseKind = Literal[
    "collective",
    "point-to-point",
    "async",
    "gradients",
    "parameters",
    "checkpoint-wait",
    "checkpoint",
    "loader",
    "loading",
    "store",
    "rendezvous",
    "importing",
    "compiling",
    "computing",
    "backward",
    "lock",
    "network",
    "program",
    "gpu",
    "nccl-id",
    "nccl-init",
    "nccl-connect",
    "nccl-abort",
    "cuda-start",
    "leaving",
    "sleeping",
    "gil",
    "code",
    "unknown",
]
"""backward: in autograd, computing or waiting for gradients; code: in the program's or a library's own code."""

WAITS_FOR_RANKS: frozenset[PhaseKind] = frozenset(
    (
        *("collective", "point-to-point", "async", "gradients", "parameters", "checkpoint-wait"),
        *("nccl-id", "nccl-init", "nccl-connect"),
    )
)
WAITS_FOR_STORE: frozenset[PhaseKind] = frozenset(("store", "rendezvous"))
STARTS: frozenset[PhaseKind] = frozenset(
    ("rendezvous", "importing", "compiling", "cuda-start", "nccl-id", "nccl-init", "nccl-connect")
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """What the training thread of a rank does."""

    kind: PhaseKind
    text: str
    """For people: `waits in all_reduce`, `reads data in the main process`."""
    row: int | None = None
    """Of the table of phases (`phases/table.py`)."""
    operation: str = ""
    """The function of torch.distributed that it called: all_reduce."""
    where: str = ""
    """The innermost line of the program itself: `train.py:41 train_step`."""
    path: str = ""
    """The file of `where`, in full."""
    reason: str = ""
    """Why the phase is unknown."""

    @property
    def waits_for_ranks(self) -> bool:
        return self.kind in WAITS_FOR_RANKS

    @property
    def waits_for_store(self) -> bool:
        return self.kind in WAITS_FOR_STORE
