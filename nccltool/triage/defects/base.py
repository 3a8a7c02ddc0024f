"""What a known defect of a release is: which releases have it, what a log shows of it, and what to do.

A release alone proves nothing. A defect counts only where the log names an affected release, shows one of the
symptoms, and meets all conditions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeAlias

from nccltool.triage.causes.base import TYPICAL
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline

Release: TypeAlias = tuple[int, ...]
Releases: TypeAlias = Mapping[str, frozenset[Release]]
"""Library -> its releases that a log names."""
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_COUNTED = 20
"""From this first number on, a version is NCCL's version code as torch 1.x splits it: 21.0.3 is 2.10.3."""


@lru_cache(maxsize=1024)
def release(text: str) -> Release:
    """The numbers of a release: 2.21.5+cuda12.4 is (2, 21, 5); () if the text has none."""
    found = _NUMBERS.search(text)
    return tuple(map(int, found[0].split("."))) if found else ()


def release_of_nccl(text: str) -> Release:
    numbers = release(text)
    if numbers and numbers[0] >= _COUNTED and len(numbers) == 3:
        code = numbers[0] * 1000 + numbers[1] * 100 + numbers[2]
        return code // 10000, code // 100 % 100, code % 100
    return numbers


class Symptom(Protocol):
    """What a log can show of a defect."""

    def event(self, timeline: Timeline) -> LogEvent | None:
        """The first line that shows it."""


class Condition(Protocol):
    """What must hold for a defect to count."""

    def holds(self, timeline: Timeline) -> bool: ...


@dataclass(frozen=True, slots=True)
class Says:
    """A line that matches an expression and reports a problem, or at least a doubt."""

    text: str
    kinds: tuple[str, ...] = ()
    """Only events of these kinds."""

    def event(self, timeline: Timeline) -> LogEvent | None:
        found = re.compile(self.text)
        if self.kinds:
            return timeline.first(*self.kinds, where=lambda e: found.search(_said(e)))
        return timeline.earliest(e for e in timeline.everything() if e.role in _BAD and found.search(_said(e)))


def _said(event: LogEvent) -> str:
    """The text of a line; that of an NCCL warning begins with its place in the source."""
    where = event.get("where")
    return f"{where} {event.text}" if where and not event.text.startswith(where) else event.text


_BAD = ("failure", "echo", "doubt")
_FRAMES = ("nccl.frame", "job.stack", "app.nccl-crash", "app.plugin-crash", "app.nccl-kernel", "app.frame")


def frame(function: str) -> Says:
    """A function on a stack."""
    return Says(rf"(?<!\w)(?:{function})(?!\w)", _FRAMES)


@dataclass(frozen=True, slots=True)
class Kinds:
    """An event of one of some kinds."""

    kinds: tuple[str, ...]

    def event(self, timeline: Timeline) -> LogEvent | None:
        return timeline.first(*self.kinds)


@dataclass(frozen=True, slots=True)
class Hang:
    """Ranks wait in a call, and nothing follows."""

    def event(self, timeline: Timeline) -> LogEvent | None:
        return timeline.first("torch.timeout", "torch.stuck", "job.stalled", "job.timed-out") or timeline.hung


HANG = Hang()
CRASH = Kinds(("app.segfault", "app.nccl-crash", "app.plugin-crash", "app.heap"))
WRONG = Kinds(("data.wrong", "data.check-failed"))
SLOW = Kinds(("bench.below",))
NO_MEMORY = Kinds(("cuda.oom",))
ILLEGAL = Kinds(("cuda.illegal", "app.nccl-kernel"))


@dataclass(frozen=True, slots=True)
class Set:
    """A variable is set to a value that matches an expression."""

    name: str
    value: str = ""

    def holds(self, timeline: Timeline) -> bool:
        return any(re.search(self.value, value) for value in timeline.environment.get(self.name, ()))


@dataclass(frozen=True, slots=True)
class Differs:
    """A variable has different values on different ranks."""

    name: str

    def holds(self, timeline: Timeline) -> bool:
        return len(timeline.environment.get(self.name, ())) > 1


@dataclass(frozen=True, slots=True)
class Unset:
    """The log shows no value for a variable."""

    name: str

    def holds(self, timeline: Timeline) -> bool:
        return not timeline.environment.get(self.name)


@dataclass(frozen=True, slots=True)
class Shows:
    """A line of any kind matches an expression."""

    text: str

    def holds(self, timeline: Timeline) -> bool:
        found = re.compile(self.text)
        return any(found.search(_said(event)) for event in timeline.everything())


@dataclass(frozen=True, slots=True)
class Over:
    """Connections or the chosen network: NET/IB, P2P, or the name of a plugin."""

    transport: str

    def holds(self, timeline: Timeline) -> bool:
        return any(name.startswith(self.transport) for name in timeline.transports | timeline.networks)


@dataclass(frozen=True, slots=True)
class RankCount:
    """The number of ranks of the job is in a range."""

    least: int = 1
    most: int = 1 << 30

    def holds(self, timeline: Timeline) -> bool:
        return timeline.world_size is not None and self.least <= timeline.world_size <= self.most


@dataclass(frozen=True, slots=True)
class Nodes:
    """The job has at least this many hosts."""

    least: int

    def holds(self, timeline: Timeline) -> bool:
        return timeline.nodes >= self.least


@dataclass(frozen=True, slots=True)
class ChoicesDiffer:
    """Ranks chose different algorithms or protocols for a call of one size."""

    def holds(self, timeline: Timeline) -> bool:
        made: dict[str, set[tuple[str, str]]] = {}
        for event in timeline.of("nccl.choice"):
            made.setdefault(event.get("size"), set()).add((event.get("algorithm"), event.get("protocol")))
        return any(len(choices) > 1 for choices in made.values())


@dataclass(frozen=True, slots=True)
class Descending:
    """CUDA_VISIBLE_DEVICES lists devices out of order."""

    def holds(self, timeline: Timeline) -> bool:
        lists = (event.get("seen").strip(",").split(",") for event in timeline.of("shell.visible"))
        return any(len(one) > 1 and one != sorted(one, key=lambda name: int(name or 0)) for one in lists)


@dataclass(frozen=True, slots=True)
class Stranger:
    """All hosts are known, and a line that matches an expression has an address of none of them."""

    text: str
    """With a group `address`."""

    def holds(self, timeline: Timeline) -> bool:
        own = [host.addresses for host in timeline.hosts.values() if host.addresses]
        if len(own) < max(2, timeline.nodes):
            return False
        told = (re.search(self.text, event.text) for event in timeline.everything() if event.role in _BAD)
        return any(match["address"] not in {name for names in own for name in names} for match in told if match)


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver's CUDA version is at most this: 12020 for 12.2."""

    most: int

    def holds(self, timeline: Timeline) -> bool:
        told = [event.get("version") for event in timeline.of("nccl.driver")]
        return any(int(version) <= self.most for version in told)


@dataclass(frozen=True, slots=True)
class Span:
    """Releases of a library from `since` on, and before `before`."""

    library: str
    since: str
    before: str = ""
    """The first release without the defect; "" if none is known."""

    def has(self, known: Releases) -> bool:
        return any(map(self.holds, known.get(self.library, frozenset())))

    def holds(self, one: Release) -> bool:
        """Whether a release of the library is among them."""
        end = release(self.before)
        return release(self.since) <= one and (not end or one < end)


@dataclass(frozen=True, kw_only=True, slots=True)
class Defect:
    """One known defect; with a second library, two releases that do not work together."""

    name: str
    span: Span
    beside: Span | None = None
    """The other library, if only the pair is defective."""
    symptoms: tuple[Symptom, ...]
    """The log must show one of these."""
    needs: tuple[Condition, ...] = ()
    """All of these must hold."""
    strength: float = TYPICAL
    """How strong the clue then is, in the terms of causes/base.py."""
    what: str
    """What goes wrong, as a clause."""
    instead: str = ""
    """What helps if another release is not an option: a setting, or an imperative."""
    cause: str = "nccl-bug"
    looks_like: tuple[str, ...] = ()
    """Causes that the same lines point to, and that this defect contradicts."""
    url: str

    @property
    def why(self) -> str:
        """The clause, with the release that fixes the defect."""
        fixed = f"; fixed in {self.span.library} {self.span.before}" if self.span.before else ""
        return f"{self.what}{fixed}"
