"""What a rule is, and what it may look at.

A rule is a function whose name is that of the rule, and whose docstring is its page:

@for_number("IB001", "warning", "NCCL_IB_DISABLE", needs=("rdma",)) def rdma_off(host: JudgedHost, variable:
Variable, disabled: int) -> Results: '''NCCL_IB_DISABLE switches RDMA off although ports are active.

Why: Traffic between nodes falls back to TCP, at a fraction of the bandwidth.
Example: NCCL_IB_DISABLE=1
Instead: unset NCCL_IB_DISABLE
Source: NCCL user guide, NCCL_IB_DISABLE ''' if disabled and host.active_ports: yield report.better_unset(variable,
"RDMA is switched off")

What it is made with says what it takes: `@rule` a host, `@across` all hosts of a job; `@for_number`, `@for_text`,
`@for_value` and `@for_names` a host, a variable that is set there, and what NCCL reads from it.

It looks at the settings first, and at facts only when a setting calls for it, so that it is silent where nothing
can be wrong. It reads a fact with `known(...)`, which raises NotKnown when there is none: the outcome of the rule
is then unknown, with the reason. A rule that can judge one part and not another yields `Unknown(reason)` for that
one. `needs` names the parts of HostFacts that it reads; nothing else decides what it yields, besides the settings
and the size and versions of the job in JudgedHost.
"""

import inspect
import ipaddress
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Generic, TypeAlias, TypedDict, TypeVar, Unpack

from nccltool.core.findings import Severity
from nccltool.core.text import escaped, named, shortened
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.diagnosis import RulePage
from nccltool.hosts.env_files import EnvFile
from nccltool.hosts.facts import Gpu, NotKnown, known
from nccltool.hosts.nccl import collective_library, variables
from nccltool.hosts.nccl.collective_library import CollectiveLibrary
from nccltool.hosts.nccl.host import NcclHost
from nccltool.hosts.nccl.library import LibraryAnswer
from nccltool.hosts.nccl.settings import Variable
from nccltool.hosts.nccl.values import NameList
from nccltool.hosts.nccl.variables import KnownVariable

__all__ = ["NotKnown", "Unknown", "Variable", "escaped", "known", "shortened"]

T = TypeVar("T")

OLDEST = Version(2, 14, 3)
"""Of torch 1.13: where the release is not known, an older one is not thought of."""

NO_NCCL = Unknown("NCCL version unknown; pass --nccl-version")
NO_TORCH = Unknown("torch version unknown")
NO_NODES = Unknown("number of nodes unknown; pass --nodes")
NOT_ASKED = Unknown("NCCL was not queried; pass --ask-nccl")
NO_LOCAL_RANKS = Unknown("ranks per node unknown; pass --nproc-per-node")

OWN_ADDRESSES = ("VLLM_HOST_IP", "SGLANG_HOST_IP", "VLLM_NIXL_SIDE_CHANNEL_HOST", "MOONCAKE_LOCAL_HOSTNAME")
"""Variables with the address under which the other nodes reach a node."""

RACK = re.compile(r"\bGB[23]00\b")
"""In the names of GPUs of systems whose NVLink spans nodes."""

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
    env_files: tuple[EnvFile, ...] = ()
    """The environment was read from these, in this order."""
    answer: LibraryAnswer | Unknown = NOT_ASKED
    """What NCCL itself said about this environment."""

    @property
    def name(self) -> str:
        return self.facts.host

    def nccl_is(self, *, since: tuple[int, ...] = (0,), before: tuple[int, ...] = (9999,)) -> bool:
        """Whether NCCL is `since` or newer, and older than `before`. Raises NotKnown without a version."""
        version = known(self.nccl)
        return Version(*since) <= version < Version(*before)

    @property
    def several_nodes(self) -> bool:
        """Whether the job has more than one node. Raises NotKnown when that is not known."""
        return known(self.nodes) > 1

    def if_several_nodes(
        self, several: Severity = "error", one: Severity = "info", unknown: Severity = "warning"
    ) -> Severity:
        """A severity that depends on whether the job has more than one node; `unknown`: that is not known."""
        if isinstance(self.nodes, Unknown):
            return unknown
        return several if self.nodes > 1 else one

    def if_nccl_is(
        self,
        severity: Severity,
        since: tuple[int, ...] = (0,),
        before: tuple[int, ...] = (9999,),
        *,
        other: Severity,
    ) -> Severity:
        """A severity that is true of some releases only; `other`: of the rest, and of one that is not known."""
        return (
            severity if not isinstance(self.nccl, Unknown) and self.nccl_is(since=since, before=before) else other
        )

    def listed(self, *beginnings: str) -> Iterator[tuple[Variable, KnownVariable]]:
        """The variables that are set, begin so (or in any way) and are in the catalogue."""
        entries = variables.every()
        found = self.settings.beginning(*(beginnings or ("",)))
        return ((variable, entries[variable.name]) for variable in found if variable.name in entries)

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs of the driver. Raises NotKnown. A rule that asks needs `nvidia`."""
        return known(self.facts.nvidia.gpus)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule: its names, how bad it is, what it covers and needs, and the function that looks."""

    code: str
    """Family letters and three digits; never used again for something else."""
    severity: Severity
    function: Callable[..., Results]
    """As it is written."""
    check: Callable[[Sequence[JudgedHost]], Results]
    """Looks at one host, or at all hosts of a job."""
    is_across: bool = False
    """It compares the hosts of a job, and has nothing to say about a single one."""
    covers: tuple[str, ...] | None = None
    """Ids of tests/doctor/rules/conditions.txt that it judges; None = that of its code."""
    needs: tuple[str, ...] = ()
    """Parts of HostFacts that it reads."""
    about: tuple[str, ...] = ()
    """The variables that it is called for."""
    library: CollectiveLibrary | None = None
    """The only library it holds for; None = NCCL and RCCL. Where the library is not known, it looks."""

    @property
    def parts(self) -> tuple[str, ...]:
        """`needs`, and what tells the library where that matters."""
        return (
            self.needs if self.library is None else tuple(dict.fromkeys((*self.needs, *collective_library.PARTS)))
        )

    def holds_for(self, host: JudgedHost) -> bool:
        """Whether it is about the library of a host."""
        return self.library is None or isinstance(host.library, Unknown) or host.library == self.library

    def is_asked(self, host: JudgedHost) -> bool:
        """Whether a variable that it is about is set, which may be unknown; others are about no variable."""
        settings = host.settings
        return not self.about or bool(settings.unread) or not settings.variables.keys().isdisjoint(self.about)

    @property
    def name(self) -> str:
        return self.function.__name__.replace("_", "-")

    @property
    def family(self) -> str:
        return self.code[:-3]

    @property
    def place(self) -> str:
        return f"docs/rules/{self.family}.md#{self.code.lower()}"

    @cached_property
    def page(self) -> RulePage:
        """Its page, from its docstring: the first paragraph, then `Why:`, `Example:`, `Instead:` and `Source:`.

        `Since:` is for a rule that is not about variables of the catalogue, which has their releases.
        """
        what, *rest = _SECTION.split(inspect.getdoc(self.function) or "")
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
            **{"since": _since(self.about), **pieces},
        )


def _since(names: Iterable[str]) -> str:
    """The first releases that read these variables: `NCCL 2.21.5`, or each with its variable."""
    entries = variables.every()
    found = {name: entries[name].since for name in names if name in entries}
    releases = set(found.values())
    if len(releases) == 1:
        only = releases.pop()
        return f"NCCL {only}" if only else ""
    return ", ".join(f"NCCL {since} ({name})" for name, since in found.items() if since)


_SECTION = re.compile(r"^(Why|Example|Instead|Source|Since): ", re.MULTILINE)


class _Reach(TypedDict, total=False):
    covers: tuple[str, ...]
    needs: tuple[str, ...]
    library: CollectiveLibrary


class _ReachOfHost(_Reach, total=False):
    about: tuple[str, ...]
    """Variables without which it finds nothing."""


def across(
    code: str, severity: Severity, **reach: Unpack[_Reach]
) -> Callable[[Callable[[Sequence[JudgedHost]], Results]], Rule]:
    """Make a function a rule about all hosts of a job: what differs between them."""
    made = partial(Rule, code=code, severity=severity, is_across=True, **reach)
    return lambda function: made(function=function, check=function)


def rule(
    code: str, severity: Severity, **reach: Unpack[_ReachOfHost]
) -> Callable[[Callable[[JudgedHost], Results]], Rule]:
    made = partial(Rule, code=code, severity=severity, **reach)
    return lambda function: made(function=function, check=lambda hosts: function(hosts[0]))


class _ForVariable(Generic[T]):
    """Makes a function a rule about variables: it is called for each of them that is set and can be read."""

    def __init__(self, read: Callable[[JudgedHost, str], T | None]) -> None:
        self._read = read

    def __call__(
        self, code: str, severity: Severity, *names: str, **reach: Unpack[_Reach]
    ) -> Callable[[Callable[[JudgedHost, Variable, T], Results]], Rule]:
        def check(function: Callable[[JudgedHost, Variable, T], Results], host: JudgedHost) -> Results:
            for name in names:
                variable, value = host.variable(name), self._read(host, name)
                if variable is not None and value is not None:
                    yield from function(host, variable, value)

        made = partial(Rule, code=code, severity=severity, about=names, **reach)
        return lambda function: made(function=function, check=lambda hosts: check(function, hosts[0]))


for_number = _ForVariable(JudgedHost.integer)
for_value = _ForVariable(JudgedHost.get)
for_text = _ForVariable[str](lambda host, name: host.get(name) or None)
"""Like for_value, without variables that are empty."""
for_names = _ForVariable[NameList](lambda host, name: host.settings.names(name))
"""Of a list of interfaces or adapters, when NCCL obeys it."""


def by_value(
    hosts: Iterable[JudgedHost], value: Callable[[JudgedHost], T | Unknown | None]
) -> Generator[Unknown, None, dict[T, list[JudgedHost]]]:
    """The hosts that have each value; those without one are left out. Yields what is not known."""
    found: dict[T, list[JudgedHost]] = {}
    for host in hosts:
        own = value(host)
        if isinstance(own, Unknown):
            yield own
        elif own is not None:
            found.setdefault(own, []).append(host)
    return found


def listed(names: Iterable[str], most: int = 8) -> str:
    """The first of these names, and how many more there are."""
    return escaped(named(names, most))


def is_unspecified(address: str) -> bool:
    """Whether an address is 0.0.0.0 or ::, at which nobody can be reached from another host."""
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


def is_loopback_name(address: str) -> bool:
    """Whether an address, or the name of a host, means this host itself."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return address.lower() in ("localhost", "localhost.localdomain", "ip6-localhost")
