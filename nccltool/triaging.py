"""From files to an incident: read the logs, put the story together, judge it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal
from uuid import uuid4

from nccltool import __version__, causes, flight
from nccltool.logs import Reader, sources
from nccltool.logs.base import Event
from nccltool.model import Candidate, Finding, Incident, LogLine, Offender, RunInfo, Subject, Verdict
from nccltool.picture import picture
from nccltool.story import Builder, Story
from nccltool.triage import Judged, judge

FINDINGS: dict[str, str] = {}  # the codes are root causes, which have pages of their own

_Kind = Literal["host", "rank", "interface", "device", "variable", "link", "file", "operation", "run"]
_SUBJECTS: dict[str, _Kind] = {
    "host": "host",
    "rank": "rank",
    "interface": "interface",
    "device": "device",
    "gpu": "device",
    "variable": "variable",
    "file": "file",
    "plugin": "file",
    "library": "file",
    "driver": "file",
    "address": "host",
}


def triage(paths: Sequence[str], command: tuple[str, ...], trust_pickle: bool = False) -> Incident:
    """What the logs say. Raises BadInput when one cannot be read."""
    return incident(read(paths, trust_pickle), command)


def read(paths: Sequence[str], trust_pickle: bool = False) -> Story:
    """The story of all logs: one reader, in the order of the files; dumps of the flight recorder together."""
    reader, builder, dumps = Reader(), Builder(), list[flight.Dump]()
    for file in sources.files(paths):
        if recorded := flight.dump(file, trust_pickle):
            dumps.append(recorded)
            continue
        for event in reader.read(file, sources.chunks(file)):
            builder.add(event)
    for event in flight.events(dumps):
        builder.add(event)
    return builder.story(reader.lines_read + len(dumps))


def incident(story: Story, command: tuple[str, ...]) -> Incident:
    """The judgement of a story, with its circumstances."""
    judged = judge(story)
    verdict = _verdict(story, judged)
    return Incident(
        info=_info(story, command),
        verdict=verdict,
        findings=(_finding(judged),) if verdict.status == "fail" else (),
        root_cause=judged.root_cause,
        confidence=judged.confidence,
        offender=judged.offender,
        first_failure=_line(story, judged.first_failure) if judged.first_failure else None,
        candidates=tuple(
            Candidate(root_cause=made.root_cause, confidence=made.confidence, why=made.why)
            for made in judged.candidates
        ),
        evidence=tuple(_line(story, event) for event in judged.evidence),
        decides=judged.decides,
        lines_read=judged.lines_read,
        picture=picture(story),
    )


def _verdict(story: Story, judged: Judged) -> Verdict:
    """fail: a cause was found. unknown: there was nothing that could be judged."""
    if judged.root_cause != "none":
        return Verdict(status="fail", exit_code=1)
    if not story.events:
        return Verdict(status="unknown", exit_code=4)
    return Verdict(status="pass", exit_code=0)


def _finding(judged: Judged) -> Finding:
    label, event = judged.root_cause, judged.first_failure
    return Finding(
        code=label,
        severity="error",
        subject=_subject(judged.offender, event),
        message=f"{causes.summary(label)} ({', '.join(judged.candidates[0].why[:3])})",
        evidence=tuple(f"{one.file}:{one.line}: {one.text}" for one in judged.evidence),
        remedy=" ".join(causes.section(label, "Fix").split()),
        page=f"docs/runbooks/causes/{label}.md",
    )


def _subject(offender: Offender | None, event: Event | None) -> Subject:
    if offender is not None:
        return Subject(kind=_SUBJECTS.get(offender.kind, "run"), name=offender.name)
    return Subject(kind="file", name=event.file) if event else Subject(kind="run", name="")


def _line(story: Story, event: Event) -> LogLine:
    return LogLine(
        file=event.file,
        line=event.line,
        rank=story.rank_of(event),
        host=event.host,
        time=event.time,
        text=event.text,
    )


def _info(story: Story, command: tuple[str, ...]) -> RunInfo:
    now = datetime.now(UTC)
    versions = sorted(story.versions)
    return RunInfo(
        id=f"{now:%Y%m%dT%H%M%SZ}-{uuid4().hex[:4]}",
        started=f"{now:%Y-%m-%dT%H:%M:%SZ}",
        command=command,
        nccltool=__version__,
        torch=None,
        backend="nccl" if versions or story.hosts else None,
        backend_version=", ".join(versions) or None,
        backend_reason=None,
        nodes=story.nodes or None,
        emulated=False,
        world_size=story.world_size,
        hosts=tuple(story.hosts),
    )
