"""What a root cause is: clues for and against it, its suspect, and its page.

A cause is a file of this folder. Its docstring is its page, with the sections of SECTIONS. It has

    DECIDES                     one sentence: what would settle whether it is this cause
    SIGNS                       kind of event -> (strength, why): a clue, where there is such an event (optional)
    LASTING                     True: its signs count although the job came to its end (optional)
    SIGNS_OF_FAILURE            the same, where the job has not got over what went wrong (optional)
    SOURCES                     source files whose warnings are a clue where no pattern knows them (optional)
    clues(timeline)             what else speaks for it (strength above 0) and against it (below 0; optional)
    offender(timeline, clues)   what to look at first; None when the logs name nothing
    remedy(timeline)            what to do here, where the page's Fix does not fit; "" where it does (optional)
    EXPLAINS                    causes whose evidence this one accounts for (optional; see ECHOES)

The judge (nccltool.triage.judge) weighs the clues of all causes. Strengths are four words, not tuned numbers.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from nccltool.triage.incident import Offender as Offender
from nccltool.triage.logs.base import LogEvent as LogEvent
from nccltool.triage.timeline.model import Timeline as Timeline

SAYS = 0.9
"""The text names this cause, and hardly any other prints it."""
TYPICAL = 0.7
"""Usually this cause; others can look the same."""
FITS = 0.45
"""What this cause would look like; so would several others."""
HINT = 0.2
"""Not evidence by itself."""

OVERCOME = 0.4
"""The part that is left of a sign where the job came to its end in order behind it."""

SECTIONS = ("Meaning", "Impact", "Verify", "Causes", "Fix", "Escalate")
ECHOES = frozenset({"peer-exited", "straggler-timeout", "other"})
"""What every cause accounts for: the others wait, time out, or lose their peer."""


@dataclass(frozen=True, slots=True)
class Clue:
    """One reason for or against a cause."""

    strength: float
    """0 to 1 for it, below 0 against it."""
    why: str
    event: LogEvent | None = None


class Clues(tuple[Clue, ...]):
    """What a cause gave."""

    def proofs(self) -> list[LogEvent]:
        """The events behind the clues for a cause, the strongest first."""
        strongest = sorted((clue for clue in self if clue.strength > 0), key=lambda clue: -clue.strength)
        return [clue.event for clue in strongest if clue.event]

    def host_or_rank(self) -> Offender | None:
        """The host of the strongest clue; where it has none, its rank."""
        return self._first("host", "rank", "address")

    def rank_or_host(self) -> Offender | None:
        """The rank of the strongest clue; where it has none, its host."""
        return self._first("rank", "host", "address")

    def process(self) -> Offender | None:
        """The process that wrote the line of the strongest clue."""
        return next((Offender("process", str(one.pid)) for one in self.proofs() if one.pid is not None), None)

    def _first(self, *kinds: str) -> Offender | None:
        told = ({"host": one.host, "rank": one.rank, "address": one.get("ip")} for one in self.proofs())
        named = ((kind, parts[kind]) for parts in told for kind in kinds)
        return next((Offender(kind, str(name)) for kind, name in named if name not in (None, "")), None)


Given: TypeAlias = Iterator[Clue]
"""What clues() of a cause gives."""


class Cause(Protocol):
    """A file of this folder."""

    __doc__: str | None
    DECIDES: str

    def offender(self, timeline: Timeline, clues: Clues) -> Offender | None:
        """What to look at first."""


Signs: TypeAlias = Mapping[str, tuple[float, str]]


def all_clues(cause: Cause, timeline: Timeline) -> Clues:
    always: Signs = getattr(cause, "SIGNS", {})
    of_failure: Signs = getattr(cause, "SIGNS_OF_FAILURE", {}) if timeline.failed else {}
    own: Callable[[Timeline], Given] = getattr(cause, "clues", lambda timeline: iter(()))
    sources: tuple[str, ...] = getattr(cause, "SOURCES", ())
    named = _of_source(timeline, sources) if timeline.failed and sources else ()
    is_lasting = getattr(cause, "LASTING", False)
    shown = (_left(clue, timeline, is_lasting) for clue in signs(timeline, always))
    return Clues((*shown, *signs(timeline, of_failure), *own(timeline), *named))


def _left(clue: Clue, timeline: Timeline, is_lasting: bool) -> Clue:
    """What is left of a sign: of lasting ones, tests that all passed expected what programs reported."""
    tested = timeline.tests_passed and clue.event is not None and clue.event.family != "kernel"
    if not timeline.recovered or (is_lasting and not tested):
        return clue
    return Clue(clue.strength * OVERCOME, f"{clue.why}, but the job continued", clue.event)


def signs(timeline: Timeline, table: Signs) -> Iterator[Clue]:
    """A clue for each kind of event that is there, with its first event."""
    for kind, (strength, why) in table.items():
        if event := timeline.first(kind):
            yield Clue(strength, why, event)


_ENDED_BY_OTHERS = frozenset({1, 2, 6, 9, 15})
"""Signals by which agents and schedulers end the rest: HUP, INT, ABRT of the watchdog, KILL, TERM."""


def first_to_end(timeline: Timeline) -> str | None:
    """The rank that ended by itself before the others were ended, as launchers tell it."""
    own = [ended for ended in timeline.exits if ended.code and ended.signal not in _ENDED_BY_OTHERS]
    told = (ended for ended in timeline.exits if ended.first)
    named = [ended.rank for ended in (*told, *own) if ended.rank is not None]
    if not named and len(timeline.hosts) <= 1 and (timeline.nodes or 1) == 1:
        named = [ended.local for ended in own if ended.local is not None]
    return str(named[0]) if named else None


_WARNINGS_OF = {"nccl.warning": "NCCL", "ucx.failed": "UCX", "efa.warned": "libfabric"}
"""Kind of event that names the source file of a warning -> who warned."""


def _of_source(timeline: Timeline, beginnings: tuple[str, ...]) -> Given:
    """A warning that no pattern knows, or an error that was handed up without one, from these source files."""
    files = re.compile(rf"(?:^|/)(?:{'|'.join(beginnings)})")
    told = {(event.file, event.line) for event in timeline.of("log.complaint") if event.get("exact")}
    for kind, library in _WARNINGS_OF.items():
        if event := timeline.first(
            kind, where=lambda e: files.search(e.get("where")) and (e.file, e.line) not in told
        ):
            yield Clue(FITS, f"{library} warned in {event.get('where')}", event)
            return
    known = any(event.family not in ("app", "job", "torchrun") for event in timeline.failures())
    trace = timeline.first("nccl.trace")
    told_where = timeline.first("nccl.warning", where=lambda e: e.get("where"))
    strength = FITS if timeline.has("nccl.warning") else 0.4
    if trace and not known and not told_where and files.search(trace.get("where")):
        yield Clue(strength, f"an error was raised in {trace.get('where')}", trace)


def stopped(timeline: Timeline, service: str) -> LogEvent | None:
    """The line of systemctl that shows a service as failed or inactive."""
    units = timeline.of("shell.unit")
    for down in timeline.of("shell.unit-down"):
        above = [unit for unit in units if timeline.before(unit, down)]
        if above and service in above[-1].get("unit"):
            return down
    return None


BUILT_IN = frozenset({"IB", "SOCKET"})


def refused_by_plugin(timeline: Timeline) -> LogEvent | None:
    """The refused queue pair of a plugin whose lines begin with its name: NCCL's own variables do not reach it."""
    own = tuple(f"{name.upper()}:" for name in sorted(timeline.networks) if name.upper() not in BUILT_IN)
    return timeline.first("ib.qp-failed", where=lambda e: bool(own) and e.text.startswith(own))


def whoever(timeline: Timeline, clues: Clues) -> Offender | None:
    """Who it was where no line of the cause names anybody: the rank that does not wait while the others do, the
    one that ended first, the one whose GPU is named, else the process."""
    waiting = {timeout.rank for timeout in timeline.timeouts}
    missing = set(range(timeline.world_size or len(waiting) + 1)) - waiting
    if len(waiting) > 1 and len(missing) == 1:
        return Offender("rank", str(missing.pop()))
    if first := first_to_end(timeline):
        return Offender("rank", first)
    return clues.process()


def odd_one_out(values: Mapping[str, str]) -> str | None:
    """The key whose value fewer others share than any other value; None when nobody stands out."""
    groups: dict[str, list[str]] = {}
    for key, value in values.items():
        groups.setdefault(value, []).append(key)
    if len(groups) < 2:
        return None
    smallest, *others = sorted(groups.values(), key=len)
    return smallest[0] if len(smallest) < len(others[0]) else None
