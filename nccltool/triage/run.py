"""From files to an incident: read the logs, build the timeline, judge it."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_args

from nccltool.core.documents import RunInfo, begun_now
from nccltool.core.findings import Finding, Subject, SubjectKind
from nccltool.core.run_directory import new_id
from nccltool.core.verdicts import verdict
from nccltool.triage import causes, flight_recorder, own_run, parallel_reader
from nccltool.triage.defects import catalog
from nccltool.triage.incident import Incident, RankedCauses
from nccltool.triage.job_traces import OF_ANY_TEXT
from nccltool.triage.judge import judge
from nccltool.triage.logs import log_files
from nccltool.triage.logs.base import CUT, UNREAD
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.overview import overview
from nccltool.triage.timeline.builder import TimelineBuilder
from nccltool.triage.timeline.model import Timeline

LIMIT_S = 5.0
"""How long the logs of a run may be read before its result is shown."""
HEAD_BYTES, TAIL_BYTES = 8 << 20, 24 << 20
"""Of a log of a run: enough for that time where most lines say something."""

_SUBJECTS: dict[str, SubjectKind] = {
    **{kind: kind for kind in get_args(SubjectKind)},
    **dict.fromkeys(("plugin", "library", "driver"), "file"),
    "gpu": "device",
    "address": "host",
}


def triage(paths: Sequence[str], command: tuple[str, ...], trust_pickle: bool = False) -> Incident:
    """What the logs of one job say. Raises BadInput when one cannot be read."""
    return incident(read(paths, trust_pickle), command)


@dataclass(frozen=True, slots=True)
class LogSources:
    """What there is to read."""

    logs: tuple[str, ...]
    dumps: tuple[flight_recorder.RecorderDump, ...]
    inside: frozenset[str] = frozenset()
    """Logs that were found in a folder rather than named: one that cannot be read does not stop the others."""


def sources(paths: Sequence[str], trust_pickle: bool = False) -> LogSources:
    """The logs and dumps that the paths lead to. Raises BadInput."""
    logs: list[str] = []
    dumps: list[flight_recorder.RecorderDump] = []
    for file in log_files.files(paths):
        if own_run.is_record(Path(file)):
            continue
        if recorded := flight_recorder.dump(file, trust_pickle):
            dumps.append(recorded)
        else:
            logs.append(file)
    return LogSources(tuple(logs), tuple(dumps), frozenset(logs) - set(paths))


def read(paths: Sequence[str], trust_pickle: bool = False) -> Timeline:
    """The timeline of all logs: one reader, in the order of the files; dumps of the flight recorder together."""
    paths = own_run.folders_of(paths)
    found = sources(paths, trust_pickle)
    reader, builder = LogReader(found.inside), TimelineBuilder()
    builder.take(parallel_reader.events(found.logs, reader))
    builder.take(flight_recorder.events(found.dumps))
    builder.take(ended := own_run.events(paths))
    return builder.timeline(reader.lines_read + len(found.dumps) + len(ended))


def of_run(
    folder: Path, command: tuple[str, ...], more: Mapping[str, bytes], limit_s: float = LIMIT_S
) -> Incident | None:
    """What the log in a run directory says, and more logs by their names; None when none has a line to judge.

    Takes no longer than `limit_s` to read: of a log that is too large, the beginning and the end are read.
    """
    reader, builder = LogReader(), TimelineBuilder()
    parts = [*_of_log(folder / "log.txt"), *((name, iter([said])) for name, said in more.items())]
    begin = time.monotonic()
    for number, (name, chunks) in enumerate(parts, start=1):  # each gets its share of the time, and what is left
        builder.take(reader.read(name, _until(begin + limit_s * number / len(parts), chunks)))
    timeline = builder.timeline(reader.lines_read)
    return incident(timeline, command) if timeline.events else None


def _of_log(path: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """What to read of a log, with its name, which lines are named after."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    if size <= HEAD_BYTES + TAIL_BYTES:
        yield path.name, _between(path, 0, size)
    else:
        yield path.name, _between(path, 0, HEAD_BYTES)
        yield f"{path.name} (its end)", _between(path, size - TAIL_BYTES, size)


def _between(path: Path, start: int, end: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while start < end and (chunk := file.read(min(log_files.CHUNK_BYTES, end - start))):
            start += len(chunk)
            yield chunk


def _until(end: float, chunks: Iterator[bytes]) -> Iterator[bytes]:
    return itertools.takewhile(lambda _: time.monotonic() < end, chunks)


def incident(timeline: Timeline, command: tuple[str, ...]) -> Incident:
    diagnosis = judge(timeline)
    is_found = diagnosis.root_cause != "none"
    is_doubted = diagnosis.settled_by == "words" or timeline.has(own_run.UNTOLD, CUT, UNREAD)
    return Incident(
        **{part.name: getattr(diagnosis, part.name) for part in fields(diagnosis)},
        info=_info(timeline, command),
        verdict=verdict(failed=is_found, can_tell=_tells(timeline) and not is_doubted),
        ends_early=timeline.ends_early,
        unread=timeline.unread,
        findings=(_finding(diagnosis, _remedy(timeline, diagnosis)),) if is_found else (),
        lines_read=timeline.lines_read,
        overview=overview(timeline),
    )


def _remedy(timeline: Timeline, diagnosis: RankedCauses) -> str:
    """What the run itself recommends, else what fixes the known defect, else the cause's remedy; "" = its page."""
    own: Callable[[Timeline], str] = getattr(causes.find(diagnosis.root_cause), "remedy", lambda timeline: "")
    label = diagnosis.root_cause
    if label == "other" and (hint := catalog.hint(timeline)):
        return f"{hint} {' '.join(causes.section(label, 'Fix').split())}"
    return own_run.remedy(timeline, label) or catalog.remedy(timeline, label) or own(timeline)


def _tells(timeline: Timeline) -> bool:
    """Whether the text is that of a job, so that it means something when it names no failure."""
    return any(kind not in OF_ANY_TEXT for kind in timeline.events)


def _finding(diagnosis: RankedCauses, remedy: str) -> Finding:
    label = diagnosis.root_cause
    return Finding(
        code=label,
        severity="error",
        subject=_subject(diagnosis),
        message=f"{causes.summary(label).rstrip('.')} ({', '.join(diagnosis.candidates[0].why[:3])})",
        evidence=tuple(f"{one.file}:{one.line}: {one.text}" for one in diagnosis.evidence),
        remedy=remedy or " ".join(causes.section(label, "Fix").split()),
        page=f"docs/runbooks/causes/{label}.md",
    )


def _subject(diagnosis: RankedCauses) -> Subject:
    if offender := diagnosis.offender:
        return Subject(kind=_SUBJECTS.get(offender.kind, "run"), name=offender.name)
    line = diagnosis.first_failure
    return Subject(kind="file", name=line.file) if line else Subject(kind="run", name="")


def _info(timeline: Timeline, command: tuple[str, ...]) -> RunInfo:
    versions = sorted(timeline.versions)
    return begun_now(
        command,
        id=new_id()[:-4],  # it names no folder
        backend="nccl" if versions or timeline.hosts else None,
        backend_version=", ".join(versions) or None,
        nodes=timeline.nodes or None,
        world_size=timeline.world_size,
        hosts=tuple(timeline.hosts),
    )
