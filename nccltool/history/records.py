"""What the history keeps of a run. Frozen."""

from dataclasses import dataclass, field
from typing import Literal, get_args

VisitStatus = Literal["pass", "warn", "fail", "unknown", "missing", "undetermined"]
VISIT_STATUSES: tuple[VisitStatus, ...] = get_args(VisitStatus)
"""In the file, a status is its place here: new ones go to the end."""
TroubleStatus = Literal["fail", "warn"]
ALL_HOSTS = ""
"""Instead of the name of a host: of all hosts of a run together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunVersions:
    """What a run used; empty = not known."""

    nccltool: str = ""
    torch: str = ""
    backend: str = ""
    """`nccl 2.29.7`."""
    gpu: str = ""
    nics: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """That a run was on a host, and what came of it there."""

    host: str
    status: VisitStatus
    driver: str = ""
    """Version of the GPU driver; empty = not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
    """A check that did not pass."""

    host: str
    check: str
    """Its code, or that of the finding."""
    status: TroubleStatus
    proven: bool
    """The run showed it to be the fault of this host."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """What is measured again and again, under circumstances that do not change."""

    name: str
    """The code of a check, or operation and size."""
    detail: str = ""
    """The circumstances: values of another number of ranks are another series."""
    unit: str = ""
    of: str = ""
    """Operation or strategy; empty = of none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredValue:
    """A value of a series in one run."""

    host: str
    series: Series
    value: float
    """Above 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """A run."""

    id: str
    started: float
    """Unix time."""
    kind: str
    """The command."""
    status: str
    folder: str = ""
    versions: RunVersions = field(default_factory=RunVersions)
    visits: tuple[Visit, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    values: tuple[MeasuredValue, ...] = ()
