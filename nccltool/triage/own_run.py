"""What a run of nccltool found itself: it saw the processes, where logs only have what they said.

The folder of a run has its logs in log.txt; the events, the job and the document beside it are no logs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nccltool.core import user_files
from nccltool.core.documents import RunDocument, decoded
from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding
from nccltool.triage.causes.base import Clue, Clues
from nccltool.triage.incident import Offender
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline

KIND = "run.found"
SAW = 0.95
"""The strength of what a run saw."""
_DOCUMENT = "run.json"
_BESIDE = ("events.jsonl", "job.json")
_OFFENDERS = ("rank", "host", "device", "interface", "variable")


def is_record(file: Path) -> bool:
    """Whether this is the document, the events or the job of a run, which say again what its log says."""
    return file.name in (_DOCUMENT, *_BESIDE) and _is_run(file.parent)


def _is_run(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _BESIDE)


def events(paths: Sequence[str]) -> Iterator[LogEvent]:
    """What the runs in these folders ended with."""
    folders = (Path(path) for path in paths if path != "-" and Path(path).is_dir())
    for document in sorted(found for folder in folders for found in folder.rglob(_DOCUMENT)):
        if _is_run(document.parent):
            yield from _ends(document)


def _ends(document: Path) -> Iterator[LogEvent]:
    try:
        text = user_files.contents(document, "the record")
        findings = decoded(text, str(document), RunDocument).findings
    except BadInput:  # of another release, or damaged: the logs are judged without it
        return
    for finding in findings:
        if finding.is_error and finding.effect == "incomplete":
            yield _event(finding, str(document), text)


def _event(finding: Finding, file: str, text: bytes) -> LogEvent:
    rank = finding.subject.name if finding.subject.kind == "rank" else ""
    place = text.find(f'"code": "{finding.code}"'.encode())
    return LogEvent(
        kind=KIND,
        role="failure",
        text=finding.headline,
        file=file,
        line=text.count(b"\n", 0, max(place, 0)) + 1,
        host=finding.subject.name if finding.subject.kind == "host" else None,
        rank=int(rank) if rank.isdecimal() else None,
        fields={
            "causes": " ".join(finding.kind.root_causes),
            "subject": finding.subject.kind,
            "name": finding.subject.name,
        },
    )


def clues(label: str, timeline: Timeline) -> Clues:
    """What a run saw speaks for the root causes that its finding stands for."""
    seen = (event for event in timeline.of(KIND) if label in event.get("causes").split())
    return Clues(Clue(SAW, f"the run found: {event.text.partition(': ')[2]}", event) for event in seen)


def has_named(timeline: Timeline) -> bool:
    """Whether a run has said who it was, or that nobody stands out."""
    return timeline.has(KIND)


def offender(timeline: Timeline, known: Clues) -> Offender | None:
    """Whom the run named; None also where it said that nobody stands out."""
    told = next((clue.event for clue in known if clue.event and clue.event.kind == KIND), timeline.first(KIND))
    if told is None or told.get("subject") not in _OFFENDERS:
        return None
    return Offender(told.get("subject"), told.get("name"))
