"""What a rule is, and what it may look at.

A rule is a function whose docstring is its page:

    @rule("IB001", "rdma-off", "warning", needs=("rdma",))
    def rdma_off(host: Host) -> Results:
        '''NCCL_IB_DISABLE switches RDMA off although ports are active.

        Why: Traffic between nodes falls back to TCP, at a fraction of the bandwidth.
        Example: NCCL_IB_DISABLE=1
        Instead: unset NCCL_IB_DISABLE
        Source: NCCL user guide, NCCL_IB_DISABLE
        '''
        variable = host.variable("NCCL_IB_DISABLE")
        if variable and host.integer("NCCL_IB_DISABLE") and any(is_active(host.facts.rdma)):
            yield report.better_unset(variable, "RDMA is switched off")

It looks at the settings first, and at facts only when a setting calls for it, so that it is silent where nothing
can be wrong. It reads a fact with `known(...)`, which raises NotKnown when there is none: the outcome of the rule
is then unknown, with the reason. A rule that can judge one part and not another yields `Unknown(reason)` for that
one. `needs` names the parts of HostFacts that it reads; nothing else decides what it yields, besides the settings
and the size and versions of the job in Host. A rule about several hosts is made with `@across` and takes them all.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

from nccltool.core.findings import Severity
from nccltool.core.text import escaped, shortened
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.diagnosis import RulePage
from nccltool.hosts.facts import Gpu, NotKnown, known
from nccltool.hosts.nccl.host import NcclHost
from nccltool.hosts.nccl.library import LibraryAnswer

T = TypeVar("T")

NO_NCCL = Unknown("the version of NCCL is not known; say it with --nccl-version")
NO_TORCH = Unknown("the version of torch is not known")
NO_NODES = Unknown("how many nodes the job has is not known; say it with --nodes")
NOT_ASKED = Unknown("NCCL itself was not asked; see --ask-nccl")
NO_LOCAL_RANKS = Unknown("how many ranks a node has is not known; say it with --nproc-per-node")

Results: TypeAlias = Iterator[report.RuleFinding | Unknown]


@dataclass(frozen=True, kw_only=True)
class JudgedHost(NcclHost):
    """What a rule looks at: one host, its settings, and the job that is to run there.

    A rule names in `needs` the parts of facts that the properties which it asks need.
    """

    nccl: Version | Unknown = NO_NCCL
    torch: Version | Unknown = NO_TORCH
    nodes: int | Unknown = NO_NODES
    local_ranks: int | Unknown = NO_LOCAL_RANKS
    answer: LibraryAnswer | Unknown = NOT_ASKED
    """What NCCL itself said about this environment."""

    def nccl_is(self, *, since: tuple[int, ...] = (0,), before: tuple[int, ...] = (9999,)) -> bool:
        """Whether NCCL is `since` or newer, and older than `before`. Raises NotKnown without a version."""
        version = known(self.nccl)
        return Version(*since) <= version < Version(*before)

    @property
    def several_nodes(self) -> bool:
        """Whether the job has more than one node. Raises NotKnown when that is not known."""
        return known(self.nodes) > 1

    def if_several_nodes(self, several: Severity, one: Severity, unknown: Severity = "warning") -> Severity:
        """A severity that depends on whether the job has more than one node; `unknown`: that is not known."""
        if isinstance(self.nodes, Unknown):
            return unknown
        return several if self.nodes > 1 else one

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs of the driver. Raises NotKnown. A rule that asks needs `nvidia`."""
        return known(self.facts.nvidia.gpus)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule: its names, how bad it is, what it covers and needs, and the function that looks."""

    code: str
    """Family letters and three digits; never used again for something else."""
    name: str
    """The bad pattern in words with hyphens."""
    severity: Severity
    covers: tuple[str, ...]
    """The conditions that it judges, by their ids in tests/doctor/rules/conditions.txt, e.g. `IB-001`."""
    needs: tuple[str, ...]
    """Parts of HostFacts that it reads."""
    check: Callable[[JudgedHost], Results] | None = None
    check_all: Callable[[Sequence[JudgedHost]], Results] | None = None
    """Of a rule about several hosts."""

    @property
    def family(self) -> str:
        """The letters of its code."""
        return self.code[:-3]

    @property
    def place(self) -> str:
        """Where its page is in the documentation."""
        return f"docs/rules/{self.family}.md#{self.code.lower()}"

    @cached_property
    def page(self) -> RulePage:
        """Its page, from its docstring: the first paragraph, then `Why:`, `Example:`, `Instead:` and `Source:`."""
        what, *rest = _SECTION.split(inspect.getdoc(self.check or self.check_all) or "")
        texts = dict(zip(("what", *(label.lower() for label in rest[::2])), (what, *rest[1::2]), strict=True))
        pieces = {name: " ".join(text.split()) for name, text in texts.items()}
        missing = [label for label in ("what", "why", "example", "instead", "source") if not pieces.get(label)]
        if missing:
            raise ValueError(f"the docstring of {self.code} has no {', '.join(missing)}")
        return RulePage(
            code=self.code,
            family=self.family,
            name=self.name,
            severity=self.severity,
            place=self.place,
            **pieces,
        )


def rule(
    code: str,
    name: str,
    severity: Severity,
    *,
    covers: str | tuple[str, ...] | None = None,
    needs: tuple[str, ...] = (),
) -> Callable[[Callable[[JudgedHost], Results]], Rule]:
    """Make a function a rule about one host. `covers`: ids of conditions; None = the one of its code."""

    def made(check: Callable[[JudgedHost], Results]) -> Rule:
        ids = _ids(code, covers)
        return Rule(code=code, name=name, severity=severity, covers=ids, needs=needs, check=check)

    return made


def across(
    code: str,
    name: str,
    severity: Severity,
    *,
    covers: str | tuple[str, ...] | None = None,
    needs: tuple[str, ...] = (),
) -> Callable[[Callable[[Sequence[JudgedHost]], Results]], Rule]:
    """Make a function a rule about all hosts of a job: what differs between them."""

    def made(check: Callable[[Sequence[JudgedHost]], Results]) -> Rule:
        ids = _ids(code, covers)
        return Rule(code=code, name=name, severity=severity, covers=ids, needs=needs, check_all=check)

    return made


def _ids(code: str, covers: str | tuple[str, ...] | None) -> tuple[str, ...]:
    if covers is None:
        return (f"{code[:-3]}-{code[-3:]}",)
    return (covers,) if isinstance(covers, str) else covers


def listed(names: Iterable[str], most: int = 8) -> str:
    """The first of these names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return escaped(", ".join(every[:most])) + more


_SECTION = re.compile(r"^(Why|Example|Instead|Source): ", re.MULTILINE)

__all__ = [
    "JudgedHost",
    "NotKnown",
    "Results",
    "Rule",
    "Unknown",
    "across",
    "escaped",
    "known",
    "listed",
    "rule",
    "shortened",
]
