"""GATHER what a report is made of: read the runs, compare them, and look into the failed one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nccltool.compare import baselines, judge, run_samples
from nccltool.compare.effects import CompareSettings
from nccltool.compare.result import Side
from nccltool.core import run_directory
from nccltool.core.documents import begun_now
from nccltool.core.errors import BadInput
from nccltool.monitor import run_list
from nccltool.report import inside, past, rank_course
from nccltool.report.material import Material, RankStretch, ReportedRun
from nccltool.triage import own_run
from nccltool.triage.incident import Incident

_MOST = 400
"""Runs: a year of nights."""
_FAILED = (1, 3)
"""Exit codes of runs whose logs are worth a look."""


def material(names: Sequence[str], base: Path, against: Side | None, command: tuple[str, ...]) -> Material:
    """All that can be known of the runs that words name. Raises BadInput."""
    runs = _read(names, base)
    made = _compared(Material(runs=runs), against, command)
    newest = runs[-1]
    return replace(made, history=past.of(runs), incident=_incident(newest), stretches=_stretches(newest))


def baseline(name: str, store: str | None) -> Side:
    """What to compare with. Raises BadInput."""
    kept = baselines.Store(Path(store) if store else baselines.default_file()).load(name)
    return Side(name=f"baseline {name}", runs=kept.runs)


def _read(names: Sequence[str], base: Path) -> tuple[ReportedRun, ...]:
    """Oldest first, each once."""
    if len(names) > _MOST:
        raise BadInput(f"{len(names)} runs are too many for one report", f"name at most {_MOST}")
    found = [one for name in names for one in _of_path(run_directory.find(base, name))]
    once = {one.run.info.id: one for one in found}
    return tuple(sorted(once.values(), key=lambda one: (one.run.info.started, one.run.info.id)))


def _of_path(path: Path) -> tuple[ReportedRun, ...]:
    """The run of a folder or a document, or those inside an earlier report."""
    if inside.are_reports((str(path),)) == (True,):
        return tuple(ReportedRun(run=one.run, document=one.document) for one in inside.runs(str(path)))
    text, _ = run_directory.document(path)
    folder = path if path.is_dir() else path.parent if (path.parent / "job.json").exists() else None
    return (ReportedRun(run=run_list.load(path), document=text, folder=folder),)


def _compared(found: Material, against: Side | None, command: tuple[str, ...]) -> Material:
    """With a baseline; else the second of two runs with the first."""
    if not found.newest.measurements or (against is None and len(found.runs) != 2):
        return found
    try:
        a = against or _side(found.runs[0])
        comparison = judge.compare(begun_now(command), a, _side(found.runs[-1]), CompareSettings())
    except BadInput as error:
        return replace(found, not_compared=error.message)
    rows = {row.key: row.busbw_a_bytes_per_s for row in comparison.rows}
    return replace(found, comparison=comparison, before=rows, before_name=a.name)


def _side(one: ReportedRun) -> Side:
    return Side(name=one.run.info.id, runs=(run_samples.of_run(one.run.info, one.run.measurements),))


def _stretches(newest: ReportedRun) -> tuple[RankStretch, ...]:
    """Of a run that did not complete; where its events cannot be read, the report is whole without."""
    if newest.folder is None or newest.run.verdict.status != "incomplete":
        return ()
    try:
        with (newest.folder / "events.jsonl").open("rb") as lines:
            return rank_course.of(lines)
    except OSError:  # a preflight has none, and folders are copied without it
        return ()


def _incident(newest: ReportedRun) -> Incident | None:
    """What the logs of a failed run show; the report is whole without it."""
    if newest.folder is None or newest.run.verdict.exit_code not in _FAILED:
        return None
    import nccltool.launch.finding_kinds
    import nccltool.probe.finding_kinds
    import nccltool.train.finding_kinds  # noqa: F401 - what the findings of a run stand for
    from nccltool.triage import run as triage_run

    found = triage_run.triage([str(newest.folder)], newest.run.info.command)
    return found if found.root_cause != "none" and _is_of_logs(found) else None


def _is_of_logs(found: Incident) -> bool:
    """Whether a line of a log speaks for it: what the run found itself is no evidence for what it found."""
    return any(not own_run.is_record(Path(line.file)) for line in found.evidence)
