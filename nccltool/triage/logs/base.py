"""What a line of a log is, and what an event is."""

from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeAlias, cast, get_args

import msgspec

Role: TypeAlias = Literal["failure", "echo", "doubt", "state", "success"]
"""failure: something went wrong here. echo: the consequence of something elsewhere. doubt: a warning that also
healthy jobs print. state: how things are. success: the job, or a part of it, came to its end in order."""

Family: TypeAlias = Literal[
    "app", "bench", "cuda", "data", "efa", "env", "fabric", "gdr", "gdrcopy", "gloo", "host", "hvd", "ib", "imex",
    "iommu", "job", "kernel", "limits", "log", "mnnvl", "mpi", "nccl", "net", "nvls", "nvml", "nvshmem", "plugin",
    "ras", "run", "sharp", "shell", "shm", "store", "topology", "torch", "torchrun", "ucx", "version",
]  # fmt: skip
"""Who says something, or what it is about: the first word of the kind of an event."""

CUT = "log.cut"
"""The kind of the last event of a packed log that ends early: what followed is missing."""
UNREAD = "log.unread"
"""The kind of the event of a file in a folder that could not be read: what it says is missing."""
OF_A_PART = (
    r"\b(?i:prolog|epilog|clean-?up|set-?up|(?:r?sync|cop(?:y|ied)|upload|download|transfer|backup|archiv|evaluat|"
    r"validat|checkpoint|sav|load|stag|install|build|compil|warm-?up|import|health ?check)\w*|side-?car\w*|"
    r"exporter)\b"
)
"""Of what a line says that it is over, and the job is not."""
WORDS = "log.words"
"""The kind of the event at the end of a log that has its words (wording/words.py)."""
LONGEST_TEXT = 600
"""Characters of a line that an event keeps."""


class SourceLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line without what terminals, launchers and collectors put around it."""

    file: str
    number: int
    text: str
    """What the program wrote."""
    label: str = ""
    """What stood before it: lines of one label come from one writer."""
    host: str | None = None
    rank: int | None = None
    task: int | None = None
    """The number that a launcher put before it: a rank, or a node where one task starts the ranks of a node."""
    pid: int | None = None
    address: str | None = None
    time: str | None = None
    is_error: bool = False
    """Its logger gave it the level of an error."""


class LogEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one line says."""

    kind: str
    role: Role
    text: str
    file: str
    line: int
    label: str = ""
    host: str | None = None
    rank: int | None = None
    task: int | None = None
    pid: int | None = None
    device: int | None = None
    time: str | None = None
    """MM-DD HH:MM:SS[.fraction], with the year before it where the log has one."""
    fields: Mapping[str, str] = msgspec.field(default_factory=dict)
    repeats: int = 0
    """More than 0: no line of its own, but that many more that say the same."""

    @property
    def family(self) -> Family:
        return family_of(self.kind)

    def get(self, name: str, default: str = "") -> str:
        """A part of the line; "" when it is not there."""
        return self.fields.get(name, default)


@cache
def family_of(kind: str) -> Family:
    name = kind.partition(".")[0]
    assert name in get_args(Family), kind
    return cast(Family, name)
