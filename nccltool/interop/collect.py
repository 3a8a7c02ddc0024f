"""From the printed event streams of a run's commands (`kubectl logs` of a job's pods) to the run that they were.

The lines are read once, in whatever order the logs of several commands were put together; what is kept of them is
the state of each rank, as in a run that is going on. The command of rank 0 judged that run, and its word is taken;
where it said none, the others tell what can be known.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from nccltool.core import json_file_logs
from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding, Subject
from nccltool.core.run_directory import Draft
from nccltool.core.text import listed
from nccltool.core.user_files import opened
from nccltool.interop import stream_kinds
from nccltool.interop.finding_kinds import STREAM_CUT, STREAM_MISSING
from nccltool.launch import blame, events, printed_events
from nccltool.launch.job import Job, kept, node_name
from nccltool.launch.printed_events import Begin, End, EventLine, StreamEnd
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from nccltool.probe import collectives, dtypes
from nccltool.probe.events import Result, Samples
from nccltool.probe.job import ProbeJob
from nccltool.probe.result import Run
from nccltool.probe.run import ProbeBegun

STANDARD_INPUT = "-"
_OF_KINDS = dict.fromkeys(event for kind in stream_kinds.KINDS.values() for event in kind.events)
_READER = events.EventReader(*events.EVERYWHERE, *_OF_KINDS, Begin, End)
_LONGEST = 2**20
"""Bytes of a line: an event has at most events.MAX_LINE and its stamp; longer text is taken in stretches."""
_MOST_WAITING = 10_000
"""Events that may wait for one that was printed before them: no log is shuffled further."""
_RUN_ID = re.compile(r"[\w-]{1,64}", re.ASCII)
_POD = re.compile(rb"\[(pod/[\w./-]{1,300})\] ")
"""What `kubectl logs --prefix` puts in front of each line."""
_WHOLE_LOGS = "collect the full logs of all pods: kubectl logs --prefix --tail=-1 --max-log-requests=100 -l LABEL"


@dataclass(slots=True)
class _Part:
    """What one command of the run said, and whose it was."""

    run_id: str
    number: int
    where: str
    """Where its first line was read."""
    next: int = 0
    """The number of the event that comes next."""
    waiting: dict[int, EventLine] = field(default_factory=dict)
    begin: str = ""
    end: str = ""
    begun: ProbeBegun | None = None
    ended: StreamEnd | None = None
    met: str | None = None
    """The id of rank 0's command, where this is another."""

    @property
    def subject(self) -> Subject:
        if self.begun is None:
            return Subject(kind="rank", name=f"part {self.number}")
        return _subject(self.begun.job, self.number)

    @property
    def name(self) -> str:
        return self.subject.name


@dataclass(frozen=True, slots=True)
class Collected:
    """A run, the job that it was of, and where its folder is."""

    run: Run
    folder: Path
    is_new: bool
    """The folder was made now; else one of this run was there already, and is as it was."""


def collect(names: Sequence[str], base: Path) -> Collected:
    """The run in these files, stored among the runs that were measured here. Raises BadInput, RunDirError."""
    with ExitStack() as at_the_end:
        draft = Draft(base)
        at_the_end.callback(draft.discard)
        merge = _Merge(draft)
        for name in names:
            merge.read(name)
        where = ", ".join("standard input" if name == STANDARD_INPUT else name for name in names)
        job, run = _run(merge, where)
        text = stream_kinds.KINDS[job.kind].to_json(run)
        return Collected(run, *draft.finish(job.run_id, kept(job), text, where))


class _Merge:
    """Brings the lines of each command in order, and takes them in."""

    def __init__(self, draft: Draft) -> None:
        self.parts: dict[str, _Part] = {}
        self.state: RunState | None = None
        """Of the run, from when its first command has said what was run."""
        self.damaged = ""
        """Where the first damaged line is, for the sentence that says what is missing."""
        self._draft = draft
        self._waiting = 0
        self._place = ("", 0)

    def read(self, name: str) -> None:
        where = "standard input" if name == STANDARD_INPUT else name
        try:
            with _opened(name) as file:
                for number, line in enumerate(iter(lambda: file.readline(_LONGEST), b""), start=1):
                    self._place = (where, number)
                    self._take(json_file_logs.unwrapped(line, times=False))
        except OSError as error:
            hint = "check the name; - is standard input"
            raise BadInput(f"{where} cannot be read: {error.strerror}", hint) from error

    def _take(self, text: bytes) -> None:
        try:
            line = printed_events.read(text, _READER)
        except printed_events.DamagedStream:
            self.damaged = self.damaged or f"; {self._here()} is damaged"
            return
        if line is None:
            self._draft.log(text)
            return
        part = self.parts.get(line.run_id)
        if part is None:
            pod = _POD.search(text)
            where = f"{self._here()} ({pod[1].decode()})" if pod else self._here()
            part = self.parts[line.run_id] = _Part(line.run_id, line.part, where)
        if line.number != part.next:
            self._hold(part, line)
            return
        self._apply(part, line)
        while part.waiting and part.next in part.waiting:
            self._waiting -= 1
            self._apply(part, part.waiting.pop(part.next))

    def _here(self) -> str:
        name, number = self._place
        return f"{name}:{number}"

    def _hold(self, part: _Part, line: EventLine) -> None:
        """Keep what came before its turn; what was there before came twice, from two logs of the same pod."""
        if line.number < part.next or line.number in part.waiting:
            return
        part.waiting[line.number] = line
        self._waiting += 1
        if self._waiting > _MOST_WAITING:
            raise _gap(self, part)

    def _apply(self, part: _Part, line: EventLine) -> None:
        part.next += 1
        event = line.event
        match event:
            case events.Enter() | events.Beat():  # nearly all of them
                pass
            case Begin():
                part.begin += event.text
                if not event.more:
                    part.begun = _begun(part, part.begin)
                    self.state = self.state or RunState(part.begun.job, ranks_seen=0, now=0.0)
                return
            case End():
                part.end += event.text
                part.ended = None if event.more else _decoded(part, part.end, StreamEnd)
                return
            case None:
                return
            case events.Log():
                self._draft.log(f"[rank {event.rank}] {event.text}\n".encode(errors="replace"))
            case events.Met() if _RUN_ID.fullmatch(event.run_id):
                part.met = event.run_id
            # what a later release could say and this one could not work with
            case Result() if not collectives.is_known(event.op):
                raise _other_release(part, event.op)
            case Samples() if min(event.ns, default=1) <= 0:
                raise _other_release(part, "a time that is not positive")
            case _:
                pass
        self._draft.event(line.text)
        if self.state is not None:
            self.state.apply(event, line.time)


def _opened(name: str) -> AbstractContextManager[BinaryIO]:
    hint = "check the name; - is standard input"
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise BadInput("standard input cannot be read: it is closed", hint)
        return nullcontext(sys.stdin.buffer)
    try:
        return opened(name)
    except ValueError as error:  # a NUL byte in the name
        raise BadInput(f"{name!r} cannot be read: {error}", hint) from error


Said = TypeVar("Said")


def _decoded(part: _Part, text: str | msgspec.Raw, kind: type[Said]) -> Said:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _other_release(part, str(error)) from error


class _Asked(msgspec.Struct):
    job: msgspec.Raw


def _begun(part: _Part, text: str) -> ProbeBegun:
    begun = _decoded(part, text, ProbeBegun)
    kind = stream_kinds.KINDS.get(begun.job.kind)
    if kind is None:
        raise _other_release(part, begun.job.kind)
    job = _decoded(part, _decoded(part, text, _Asked).job, kind.job)
    unknown = set()
    if isinstance(job, ProbeJob):
        unknown = {op for op in job.ops if not collectives.is_known(op)} | {job.dtype} - {*dtypes.ELEMENT_SIZE}
    if job.run_id != part.run_id:
        unknown.add("a different run id")
    if unknown:
        raise _other_release(part, ", ".join(sorted(unknown)))
    return replace(begun, job=job)


def _other_release(part: _Part, what: str) -> BadInput:
    return BadInput(
        f"{part.where}: {part.name} sent an event that this version of nccltool does not understand: {what}",
        "collect with the version of nccltool that ran in the pods",
    )


def _run(merge: _Merge, where: str) -> tuple[Job, Run]:
    parts = _of_one_run(merge, where)
    leader = next((part for part in parts.values() if part.begun and part.begun.leads), None)
    told = leader or min(parts.values(), key=lambda part: part.number)
    assert told.begun is not None
    run_id = leader.run_id if leader else next((part.met for part in parts.values() if part.met), told.run_id)
    begun, state = replace(told.begun, leads=True, job=replace(told.begun.job, run_id=run_id)), merge.state
    assert state is not None
    state.job, nodes, nproc = begun.job, begun.job.nodes, begun.job.nproc_per_node
    state.expected_ranks = nodes * nproc if nodes and nproc else begun.ranks_seen
    state.one_clock = len(parts) == 1
    state.faults.sort(key=lambda rank: state.ranks[rank].fault_at or 0.0)
    ended = leader.ended if leader else None
    if ended is None:
        culprit, interrupted = blame.after_fault(state), False
        seen = (*dict.fromkeys(state.findings), *state.product.findings())
        findings = (*seen, *_silent(begun, parts), *([culprit] if culprit else []))
    else:
        state.job, state.expected_ranks = replace(begun.job, nodes=ended.nodes), ended.ranks_seen
        interrupted = ended.interrupted
        explained = interrupted or any(finding.effect == "incomplete" for finding in ended.findings)
        findings = ended.findings if explained else (*ended.findings, *_silent(begun, parts))
    seconds = ended.duration_s if ended else None
    judged = stream_kinds.KINDS[state.job.kind].judged
    return state.job, judged(LaunchOutcome(state, findings, interrupted, seconds), begun)


def _of_one_run(merge: _Merge, where: str) -> dict[int, _Part]:
    """The parts by their numbers. Raises BadInput when there is none, one has gaps, or runs differ."""
    if not merge.parts:
        problem = f"{where}: no nccltool events found{merge.damaged}"
        raise BadInput(problem, "run the command with --events and " + _WHOLE_LOGS)
    parts: dict[int, _Part] = {}
    for part in merge.parts.values():
        if part.waiting:
            raise _gap(merge, part)
        if part.begun is None:
            raise BadInput(f"{part.where}: {part.name} ends before its first event", _WHOLE_LOGS)
        other = parts.setdefault(part.number, part)
        if other is not part:
            raise _mixed(other, part, f"both are from {part.name}")
    by_run = {part.run_id if part.begun and part.begun.leads else part.met: part for part in parts.values()}
    by_run.pop(None, None)
    if len(by_run) > 1:
        one, other = list(by_run.values())[:2]
        raise _mixed(one, other, f"their run IDs differ: {', '.join(map(str, by_run))}")
    first, *others = parts.values()
    for other in others:
        if _asked(first) != _asked(other):
            raise _mixed(first, other, "their jobs differ")
    return parts


def _asked(part: _Part) -> tuple[object, ...]:
    assert part.begun is not None
    job = part.begun.job
    return job.kind, *stream_kinds.asked(job), job.nodes, job.endpoint


def _mixed(one: _Part, other: _Part, why: str) -> BadInput:
    return BadInput(
        f"{one.where} and {other.where} are from different runs: {why}",
        "collect the logs of a single run; a restarted pod turns one job into two runs",
    )


def _gap(merge: _Merge, part: _Part) -> BadInput:
    last = min(part.waiting) - 1
    lines, are = (
        (f"lines {part.next + 1} to {last + 1}", "are") if last > part.next else (f"line {last + 1}", "is")
    )
    what = f"{lines} of the stream of {part.name} {are} missing"
    return BadInput(f"{part.where}: {what}{merge.damaged}", _WHOLE_LOGS)


def _silent(begun: ProbeBegun, parts: dict[int, _Part]) -> Iterator[Finding]:
    """The commands of which nothing came, or not all."""
    if missing := [number for number in range(begun.parts or 0) if number not in parts]:
        kind = "node" if begun.job.node_ranks else "rank"
        yield STREAM_MISSING.finding(
            subject=_subject(begun.job, missing[0]),
            message=f"no events from {kind}{'s' if len(missing) > 1 else ''} {listed(map(str, missing))} of "
            f"{begun.parts}",
            evidence=("the run may have completed: its results come from the other streams",),
            remedy=_WHOLE_LOGS,
        )
    for _, part in sorted(parts.items()):
        if part.ended is None:
            yield STREAM_CUT.finding(
                subject=part.subject,
                message=f"the stream of {part.name} stops after line {part.next}, before its end",
                evidence=(f"it begins at {part.where}",),
                remedy="check with kubectl describe pod whether it is running or was killed (OOMKilled, Evicted); "
                "if neither, the log was cut off",
            )


def _subject(job: Job, number: int) -> Subject:
    if job.node_ranks:
        return Subject(kind="host", name=node_name(number))
    return Subject(kind="rank", name=f"rank {number}")
