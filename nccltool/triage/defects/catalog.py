"""All known defects, and which of them a log shows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nccltool.triage.causes.base import Clue
from nccltool.triage.defects import nccl_crashes, nccl_errors, nccl_hangs, nccl_results, others
from nccltool.triage.defects.base import Defect, Release, Releases, release, release_of_nccl
from nccltool.triage.incident import Offender
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.model import Timeline

DEFECTS = (
    *nccl_crashes.DEFECTS,
    *nccl_hangs.DEFECTS,
    *nccl_errors.DEFECTS,
    *nccl_results.DEFECTS,
    *others.DEFECTS,
)
_OF_RCCL = ("RCCL", "+hip", "-HEAD", "-develop")
"""What a line about the version contains if it is RCCL's."""
_RULES_OUT = 0.6
"""How strongly a defect contradicts another cause whose lines are those of its report."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A defect, and the line that shows it."""

    defect: Defect
    event: LogEvent


def releases_of(timeline: Timeline) -> Releases:
    """The releases that a log names."""
    found: dict[str, set[Release]] = {}
    for version in timeline.versions:
        found.setdefault("NCCL", set()).add(release_of_nccl(version))
    rccl = [e for e in timeline.of("nccl.version") if any(mark in e.text for mark in _OF_RCCL)]
    if rccl:
        found["RCCL"] = {release(event.get("version")) for event in rccl}
        found["NCCL"] = found.get("NCCL", set()) - found["RCCL"]
    for event in timeline.of("version.release"):
        name = event.get("name").removeprefix("Py").removeprefix("py")
        named = {"nvshmem": "NVSHMEM"}.get(name.lower(), name.lower())
        found.setdefault(named, set()).add(release(event.get("version")))
    for event in timeline.of("shell.driver"):
        found.setdefault("driver", set()).add(release(event.get("driver")))
    return {library: frozenset(one for one in numbers if one) for library, numbers in found.items()}


def shown(timeline: Timeline) -> tuple[Shown, ...]:
    """The defects that releases named in a log have, and that the log shows."""
    if not timeline.events:
        return ()
    known = releases_of(timeline)
    return tuple(_shown(timeline, known))


def _shown(timeline: Timeline, known: Releases) -> Iterator[Shown]:
    for defect in DEFECTS:
        if not defect.span.has(known) or (defect.beside and not defect.beside.has(known)):
            continue
        event = next(filter(None, (symptom.event(timeline) for symptom in defect.symptoms)), None)
        if event and all(condition.holds(timeline) for condition in defect.needs):
            yield Shown(defect, event)


def clues(label: str, found: Sequence[Shown]) -> Iterator[Clue]:
    """For the cause that a defect belongs to; against those that only look like it."""
    for one in found:
        if label == one.defect.cause:
            yield Clue(one.defect.strength, one.defect.why, one.event)
        elif label in one.defect.looks_like:
            yield Clue(-_RULES_OUT, one.defect.what, one.event)


def offender(label: str, found: Sequence[Shown]) -> Offender | None:
    """Of releases that do not work together, the library to change."""
    pairs = (one.defect for one in found if label == one.defect.cause and one.defect.beside)
    return next((Offender("library", pair.span.library) for pair in pairs), None)


def remedy(timeline: Timeline, label: str) -> str:
    """What to install or set for the most certain defect of a cause that a log shows; "" if it shows none."""
    own = [one.defect for one in shown(timeline) if one.defect.cause == label]
    return _steps(max(own, key=_strength)) if own else ""


def hint(timeline: Timeline) -> str:
    """For a log that names no cause: the most certain defect of the releases in it; "" if there is none."""
    found = [one.defect for one in shown(timeline)]
    if not found:
        return ""
    surest = max(found, key=_strength)
    return f"This may be a known defect: {surest.what}. To rule it out, {_steps(surest)}."


def _strength(defect: Defect) -> float:
    return defect.strength


def _steps(surest: Defect) -> str:
    newer = f"install {surest.span.library} {surest.span.before} or newer" if surest.span.before else ""
    steps = [part for part in (newer, surest.instead and f"work around it: {surest.instead}") if part]
    return f"{'; or '.join(steps) or 'try the newest release'} ({surest.url})"
