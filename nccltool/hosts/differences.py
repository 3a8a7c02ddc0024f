"""JUDGE the hosts of a job against each other: what most have is the norm, who differs is named. Pure.

Hosts are looked at one by one and let go, so ten thousand snapshots never lie in memory together.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from nccltool.core.findings import SEVERITIES, Finding, Severity, Subject, SubjectKind
from nccltool.core.host_lists import briefly, fold
from nccltool.core.text import counted
from nccltool.core.unknown import Unknown
from nccltool.hosts.aspects import Aspect, aspects
from nccltool.hosts.facts import HostFacts, Text

PAGE = "docs/differences.md"
UNSET = "not set"

KINDS: dict[str, tuple[Severity, SubjectKind, str]] = {
    "env-differs": ("warning", "variable", "set the same value on all hosts, in the launcher"),
    "conf-differs": ("warning", "file", "distribute the same file to all hosts"),
    "version-differs": ("error", "host", "install the same release on all hosts"),
    "driver-differs": ("warning", "host", "install the same driver and firmware on all hosts"),
    "system-differs": ("info", "host", "boot the same image on all hosts"),
    "interface-differs": ("warning", "interface", "compare `ip -d link show` on one host of each group"),
    "rdma-differs": ("warning", "device", "compare `rdma link show` and `ibstat` on one host of each group"),
    "gpu-differs": ("warning", "device", "compare `nvidia-smi -q` on one host of each group"),
    "limit-differs": (
        "warning",
        "host",
        "set the same limits in limits.d, the daemon's systemd unit, and the container",
    ),
    "kernel-differs": ("info", "host", "set the same value in sysctl.d or on the kernel command line"),
    "clock-differs": (
        "warning",
        "host",
        "systemctl start chronyd on these hosts, then check with chronyc tracking",
    ),
    "name-duplicate": ("error", "host", "give each host a unique name or set NCCL_HOSTID"),
}
"""By code: severity, kind of the subject, remedy; docs/differences.md has a section for each."""

_MOST_VALUES = 4
"""Of one difference that the evidence shows."""
_CLOCK_S = 30.0
"""AMD's Primus warns at this spread of clocks that were read as a job started: its start is inside of it."""

_Seen = dict[Text, "array[int]"]
"""Of an aspect: the numbers of the hosts with each value, and of those where it is not known."""


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
    seen: dict[Aspect, _Seen] = defaultdict(lambda: defaultdict(lambda: array("I")))
    for number, host in enumerate(snapshots):
        names.append(host.host)
        if isinstance(host.boot_id, str):
            boots[host.host].add(host.boot_id)
        if together and isinstance(host.clock.time_s, float):
            clocks.append((host.clock.time_s, host.host))
        for aspect, value in aspects(host):
            seen[aspect][value].append(number)
    compared = (_difference(aspect, one, names) for aspect, one in seen.items() if not left_out(aspect))
    findings = (*_duplicates(boots), *_clock_spread(clocks), *chain.from_iterable(compared))
    return tuple(sorted(findings, key=lambda one: (SEVERITIES.index(one.severity), one.code, one.subject.name)))


def _difference(aspect: Aspect, seen: _Seen, names: list[str]) -> Iterator[Finding]:
    by_value = {
        value: {names[number] for number in numbers} for value, numbers in seen.items() if isinstance(value, str)
    }
    if aspect.code == "env-differs":  # a snapshot has no line for a variable that is not set
        having = set(chain.from_iterable(seen.values()))
        unset = {name for number, name in enumerate(names) if number not in having}
        by_value |= {UNSET: unset} if unset else {}
    if len(by_value) < 2:
        return
    ranked = sorted(by_value.items(), key=lambda item: (-len(item[1]), item[0]))
    (norm, most), (other, second), *_ = ranked
    tied = len(second) == len(most)
    odd = set().union(*(hosts for _, hosts in ranked[1:])) - (set() if tied else most)
    what = str(aspect)
    if tied:
        message = f"{what} differs between hosts: {len(ranked)} values, and no majority"
    elif len(ranked) == 2:
        message = f"{what} is {_short(other)} on {briefly(odd)}, and {_short(norm)} on the other {len(most)}"
    else:
        message = f"{what} is {_short(norm)} on {counted(len(most), 'host')}, but not on {briefly(odd)}"
    subject = fold(odd) if KINDS[aspect.code][1] == "host" else what
    yield _finding(aspect.code, subject, message, _evidence(ranked, seen, names))


def _finding(code: str, name: str, message: str, evidence: Iterable[str]) -> Finding:
    """A difference of this kind; `name` is that of its subject."""
    severity, kind, remedy = KINDS[code]
    return Finding(
        code=code,
        severity=severity,
        subject=Subject(kind=kind, name=name),
        message=message,
        evidence=tuple(evidence),
        remedy=remedy,
        page=f"{PAGE}#{code}",
    )


def _short(value: str) -> str:
    text = value if len(value) <= 80 else value[:77] + "..."
    return text or "empty"


def _evidence(ranked: list[tuple[str, set[str]]], seen: _Seen, names: list[str]) -> Iterator[str]:
    for value, hosts in ranked[:_MOST_VALUES]:
        yield f"{_short(value)}: {briefly(hosts)} ({len(hosts)})"
    if rest := ranked[_MOST_VALUES:]:
        yield f"{len(rest)} more values: {briefly(set().union(*(hosts for _, hosts in rest)))}"
    unknown = {why: numbers for why, numbers in seen.items() if isinstance(why, Unknown)}
    if unknown:
        last = max(unknown, key=lambda why: unknown[why][-1])
        yield f"unknown on {briefly({names[number] for number in chain(*unknown.values())})}: {last.reason}"


def _duplicates(boots: dict[str, set[str]]) -> Iterator[Finding]:
    """Containers of one host share its boot id; two hosts of one name do not."""
    names = [name for name, ids in boots.items() if len(ids) > 1]
    if names:
        message = f"more than one host is named {briefly(names)}"
        evidence = (f"{name}: {len(boots[name])} boot ids" for name in names[:_MOST_VALUES])
        yield _finding("name-duplicate", fold(names), message, evidence)


def _clock_spread(clocks: list[tuple[float, str]]) -> Iterator[Finding]:
    if len(clocks) < 2:
        return
    middle = sorted(clocks)[len(clocks) // 2][0]
    off = {name: time - middle for time, name in clocks if abs(time - middle) > _CLOCK_S}
    if off:
        message = f"the clock of {briefly(off)} is more than {_CLOCK_S:g} s off the majority"
        evidence = (f"{name}: {seconds:+.0f} s" for name, seconds in sorted(off.items())[:_MOST_VALUES])
        yield _finding("clock-differs", fold(off), message, evidence)
