"""What a run of nccltool found itself: it saw the processes, logs contain only their output.

The folder of a run has its logs in log.txt; the events, the job and the document beside it are no logs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nccltool.core import user_files
from nccltool.core.documents import RunDocument, decoded
from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding
from nccltool.core.text import whole
from nccltool.triage.causes.base import FITS, Clue, Clues
from nccltool.triage.incident import Offender
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline

KIND = "run.found"
PASSED, UNTOLD = "run.passed", "run.untold"
"""Of runs in which nothing failed: they came to their end in order, or could not tell, or were interrupted."""
SAW = 0.95
"""The strength of what a run saw."""
_DOCUMENT = "run.json"
_BESIDE = ("events.jsonl", "job.json")
_INSIDE = "runs"
"""In the folder of a preflight, which has no events: the runs that it started."""
_OFFENDERS = ("rank", "host", "device", "interface", "variable")
_WHY_UNTOLD = {
    "unknown": "the run could not tell whether anything failed",
    "incomplete": "the run was interrupted before it completed",
}


def folders_of(paths: Sequence[str]) -> tuple[str, ...]:
    """`paths`, and for the document of a run its folder, which has the logs."""
    return tuple(str(Path(path).parent) if _is_document(Path(path)) else path for path in paths)


def _is_document(path: Path) -> bool:
    return path.name == _DOCUMENT and is_record(path)


def is_record(file: Path) -> bool:
    """Whether this is the document, the events or the job of a run, which say again what its log says."""
    return file.name in (_DOCUMENT, *_BESIDE) and _is_run(file.parent)


def _is_run(folder: Path) -> bool:
    events, job = (folder / name for name in _BESIDE)
    return job.is_file() and (events.is_file() or (folder / _INSIDE).is_dir())


def events(paths: Sequence[str]) -> list[LogEvent]:
    """What the runs ended with whose folders these are, or whose logs.

    That one passed counts only where none failed; of a preflight and the runs inside it, what it says itself.
    """
    documents = _documents(paths)
    ends = {document: list(_ends(document)) for document in documents}
    errors = {event.text: event for found in ends.values() for event in found if event.kind == KIND}
    outer = [document for document in documents if not _is_inside(document, documents)]
    return list(errors.values()) or [event for document in outer for event in ends[document]]


def outermost(paths: Sequence[str]) -> list[Path]:
    """The folders of the runs whose folders these are, or whose logs; without those that a preflight started."""
    documents = _documents(paths)
    return [document.parent for document in documents if not _is_inside(document, documents)]


def is_of_run(log: Path) -> bool:
    """Whether a file is in the folder of a run, which may not have come to its end."""
    return _is_run(log.parent)


def _is_inside(document: Path, others: Sequence[Path]) -> bool:
    return any(other != document and other.parent in document.parents for other in others)


def _documents(paths: Sequence[str]) -> list[Path]:
    named = [Path(path) for path in paths if path != "-"]
    below = {document for path in named if path.is_dir() for document in path.rglob(_DOCUMENT)}
    beside = {path.with_name(_DOCUMENT) for path in named if path.is_file()}
    return sorted(document for document in below | beside if document.exists() and _is_run(document.parent))


def _ends(document: Path) -> Iterator[LogEvent]:
    try:
        text = user_files.contents(document, "the record")
        ended = decoded(text, str(document), RunDocument)
    except BadInput:  # of another release, or damaged: the logs are judged without it
        return
    errors = [finding for finding in ended.findings if finding.effect in ("incomplete", "answer")]
    for finding in errors:
        yield _event(finding, str(document), text)
    if not errors:
        yield _of_no_failure(ended, str(document), text)


def _event(finding: Finding, file: str, text: bytes) -> LogEvent:
    rank = finding.subject.name if finding.subject.kind == "rank" else ""
    return LogEvent(
        kind=KIND,
        role="failure",
        text=finding.headline,
        file=file,
        line=_line_of(f'"code": "{finding.code}"', text),
        host=finding.subject.name if finding.subject.kind == "host" else None,
        rank=whole(rank),
        fields={
            "causes": " ".join(finding.kind.root_causes),
            "strength": str(FITS if finding.kind.is_symptom else SAW),
            "subject": finding.subject.kind,
            "name": finding.subject.name,
            "remedy": finding.remedy,
        },
    )


def _of_no_failure(ended: RunDocument, file: str, text: bytes) -> LogEvent:
    passed = ended.status in ("pass", "warn")
    warnings = [finding.code for finding in ended.findings if finding.severity == "warning"]
    with_warnings = f" with warnings ({', '.join(dict.fromkeys(warnings))})" if warnings else ""
    why = _WHY_UNTOLD.get(ended.status, ended.status)
    said = f"nccltool {ended.kind} passed{with_warnings}" if passed else why
    return LogEvent(
        kind=PASSED if passed else UNTOLD,
        role="success" if passed else "doubt",
        text=said,
        file=file,
        line=_line_of('"status":', text),
    )


def _line_of(words: str, text: bytes) -> int:
    return text.count(b"\n", 0, max(text.find(words.encode()), 0)) + 1


def clues(label: str, timeline: Timeline) -> Clues:
    """What a run saw speaks for the root causes that its findings stand for; that it passed, for none.

    A number below a threshold only fits a cause: it is what asks for one.
    """
    seen = [event for event in timeline.of(KIND) if label in event.get("causes").split()]
    found = [Clue(float(event.get("strength")), _told(event), event) for event in seen]
    if label == "none":
        found += [Clue(SAW, event.text, event) for event in timeline.of(PASSED)]
        found += [Clue(FITS, event.text, event) for event in timeline.of(UNTOLD)]
    return Clues(found)


def _told(event: LogEvent) -> str:
    """`the run found rank-died: rank 1 on n1 was killed`."""
    return f"the run found {event.text.partition(' ')[2]}"


def others_told(timeline: Timeline, known: Clues) -> tuple[str, ...]:
    """What a run found that these clues do not say: logs that see another cause do not hide whom the run named."""
    told = {clue.event.text for clue in known if clue.event}
    return tuple(_told(event) for event in timeline.of(KIND) if event.text not in told)


def remedy(timeline: Timeline, label: str) -> str:
    """What the run said to do about this cause; "" where it said nothing."""
    return next((event.get("remedy") for event in timeline.of(KIND) if label in event.get("causes").split()), "")


def has_named(timeline: Timeline) -> bool:
    """Whether a run has said who it was, or that nobody stands out."""
    return timeline.has(KIND)


def offender(timeline: Timeline, known: Clues) -> Offender | None:
    """Whom the run named; None also where it said that nobody stands out."""
    told = next((clue.event for clue in known if clue.event and clue.event.kind == KIND), timeline.first(KIND))
    if told is None or told.get("subject") not in _OFFENDERS:
        return None
    return Offender(told.get("subject"), told.get("name"))
