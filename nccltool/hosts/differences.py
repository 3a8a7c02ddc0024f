"""JUDGE the hosts of a job against each other: what most have is the norm, who differs is named. Pure.

Hosts are looked at one by one and let go, so ten thousand snapshots never lie in memory together.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from nccltool.core.findings import SEVERITIES, Finding, Severity, Subject, SubjectKind
from nccltool.core.host_lists import fold
from nccltool.core.unknown import Unknown
from nccltool.hosts.aspects import Aspect, aspects
from nccltool.hosts.facts import HostFacts, Text

PAGE = "docs/differences.md"
UNSET = "not set"


@dataclass(frozen=True, slots=True)
class DifferenceKind:
    """A kind of difference."""

    code: str
    severity: Severity
    subject: SubjectKind
    """Kind of the finding's subject."""
    remedy: str

    def finding(self, name: str, message: str, evidence: tuple[str, ...]) -> Finding:
        """A difference of this kind; `name` is that of its subject."""
        return Finding(
            code=self.code,
            severity=self.severity,
            subject=Subject(kind=self.subject, name=name),
            message=message,
            evidence=evidence,
            remedy=self.remedy,
            page=f"{PAGE}#{self.code}",
        )


_ROWS: tuple[tuple[str, Severity, SubjectKind, str], ...] = (
    ("env-differs", "warning", "variable", "set the same value on every host, in the launcher"),
    ("conf-differs", "warning", "file", "distribute the same file to every host"),
    ("version-differs", "error", "host", "install the same release on every host"),
    ("driver-differs", "warning", "host", "install the same driver and firmware on every host"),
    ("system-differs", "info", "host", "boot the same image on every host"),
    ("interface-differs", "warning", "interface", "compare `ip -d link show` of a host of each kind"),
    ("rdma-differs", "warning", "device", "compare `rdma link show` and `ibstat` of a host of each kind"),
    ("gpu-differs", "warning", "device", "compare `nvidia-smi -q` of a host of each kind"),
    ("limit-differs", "warning", "host", "set the same limits: limits.d, the unit of the daemon, the container"),
    ("kernel-differs", "info", "host", "set the same in sysctl.d or on the kernel's command line"),
    ("clock-differs", "warning", "host", "start chronyd on these hosts; `chronyc tracking` shows its state"),
    ("name-duplicate", "error", "host", "give each host its own name, or set NCCL_HOSTID"),
)
KINDS = {row[0]: DifferenceKind(*row) for row in _ROWS}
"""By code: docs/differences.md has a section for each."""

_MOST_VALUES = 4
"""Of one difference that the evidence shows."""
_CLOCK_S = 30.0
"""AMD's Primus warns at this spread of clocks that were read as a job started: its start is inside of it."""


@dataclass(slots=True)
class _ValuesSeen:
    hosts: dict[str, "array[int]"] = field(default_factory=lambda: defaultdict(lambda: array("I")))
    unknown: "array[int]" = field(default_factory=lambda: array("I"))
    reason: str = ""


def compare(
    snapshots: Iterable[HostFacts],
    together: bool = False,
    left_out: Callable[[Aspect], bool] = lambda aspect: False,
) -> tuple[Finding, ...]:
    """Hold the hosts against each other. `together`: looked at in one moment, so clocks can be compared.

    `left_out` says which aspects are not to be compared.
    """
    names: list[str] = []
    boots: dict[str, set[str]] = defaultdict(set)
    clocks: list[tuple[float, str]] = []
    seen: dict[Aspect, _ValuesSeen] = defaultdict(_ValuesSeen)
    for number, host in enumerate(snapshots):
        names.append(host.host)
        if isinstance(host.boot_id, str):
            boots[host.host].add(host.boot_id)
        if together and isinstance(host.clock.time_s, float):
            clocks.append((host.clock.time_s, host.host))
        for aspect, value in aspects(host):
            _note(seen[aspect], number, value)
    compared = (_difference(aspect, one, names) for aspect, one in seen.items() if not left_out(aspect))
    findings = (*_duplicates(boots), *_clock_spread(clocks), *chain.from_iterable(compared))
    return tuple(sorted(findings, key=_order))


def _note(seen: _ValuesSeen, number: int, value: Text) -> None:
    if isinstance(value, Unknown):
        seen.unknown.append(number)
        seen.reason = value.reason
        return
    seen.hosts[value].append(number)


def _order(finding: Finding) -> tuple[int, str, str]:
    return SEVERITIES.index(finding.severity), finding.code, finding.subject.name


def _difference(aspect: Aspect, seen: _ValuesSeen, names: list[str]) -> Iterator[Finding]:
    by_value = {value: {names[number] for number in hosts} for value, hosts in seen.hosts.items()}
    if aspect.code == "env-differs":
        _add_unset(by_value, seen, names)
    if len(by_value) < 2:
        return
    ranked = sorted(by_value.items(), key=lambda item: (-len(item[1]), item[0]))
    norm, most = ranked[0]
    minority = set().union(*(hosts for _, hosts in ranked[1:])) - (
        most if len(most) > len(ranked[1][1]) else set()
    )
    tied = len(ranked[1][1]) == len(most)
    kind, what = KINDS[aspect.code], str(aspect)
    yield kind.finding(
        what if kind.subject != "host" else fold(minority),
        _message(what, norm, most, minority, ranked, tied),
        tuple(_shown(value, hosts) for value, hosts in ranked[:_MOST_VALUES]) + _more(ranked, seen, names),
    )


def _add_unset(by_value: dict[str, set[str]], seen: _ValuesSeen, names: list[str]) -> None:
    """A snapshot has no line for a variable that is not set."""
    having = {number for hosts in seen.hosts.values() for number in hosts}
    if len(having) < len(names):
        by_value[UNSET] = {name for number, name in enumerate(names) if number not in having}


def _message(
    what: str, norm: str, most: set[str], minority: set[str], ranked: list[tuple[str, set[str]]], tied: bool
) -> str:
    if tied:
        return f"{what} differs between hosts: {len(ranked)} values, and none is that of most"
    if len(ranked) == 2:
        return f"{what} is {_short(ranked[1][0])} on {fold(minority)}, and {_short(norm)} on the other {len(most)}"
    return f"{what} is not {_short(norm)} on {fold(minority)}, as on the other {len(most)}"


def _short(value: str) -> str:
    text = value if len(value) <= 80 else value[:77] + "..."
    return text or "empty"


def _shown(value: str, hosts: set[str]) -> str:
    return f"{_short(value)}: {fold(hosts)} ({len(hosts)})"


def _more(ranked: list[tuple[str, set[str]]], seen: _ValuesSeen, names: list[str]) -> tuple[str, ...]:
    lines = []
    if len(ranked) > _MOST_VALUES:
        rest = ranked[_MOST_VALUES:]
        lines.append(f"{len(rest)} more values: {fold(set().union(*(hosts for _, hosts in rest)))}")
    if seen.unknown:
        lines.append(f"not known: {fold({names[number] for number in seen.unknown})}: {seen.reason}")
    return tuple(lines)


def _duplicates(boots: dict[str, set[str]]) -> Iterator[Finding]:
    """Containers of one host share its boot id; two hosts of one name do not."""
    names = [name for name, ids in boots.items() if len(ids) > 1]
    if names:
        kind = KINDS["name-duplicate"]
        yield kind.finding(
            fold(names),
            f"{fold(names)} is the name of more than one host",
            tuple(f"{name}: {len(boots[name])} boot ids" for name in names[:_MOST_VALUES]),
        )


def _clock_spread(clocks: list[tuple[float, str]]) -> Iterator[Finding]:
    if len(clocks) < 2:
        return
    middle = sorted(clocks)[len(clocks) // 2][0]
    off = {name: time - middle for time, name in clocks if abs(time - middle) > _CLOCK_S}
    if off:
        kind = KINDS["clock-differs"]
        yield kind.finding(
            fold(off),
            f"the clock of {fold(off)} is more than {_CLOCK_S:g} s from that of most",
            tuple(f"{name}: {seconds:+.0f} s" for name, seconds in sorted(off.items())[:_MOST_VALUES]),
        )
