"""From the document of a run, of any command that measures, to what the history keeps of it."""

import math
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec

# what the findings of a document accuse is defined with their kinds
import nccltool.launch.finding_kinds
import nccltool.localize.finding_kinds
import nccltool.probe.finding_kinds
import nccltool.train.finding_kinds  # noqa: F401
from nccltool.core import documents, run_directory
from nccltool.core.documents import RunDocument, RunInfo
from nccltool.core.errors import BadInput
from nccltool.core.findings import CheckStatus, Finding
from nccltool.core.statistics import Stats
from nccltool.core.text import shortened, whole
from nccltool.core.units import format_bytes
from nccltool.history.records import (
    ALL_HOSTS,
    MeasuredValue,
    RunRecord,
    RunVersions,
    Series,
    Trouble,
    TroubleStatus,
    Visit,
    VisitStatus,
)
from nccltool.probe.result import Measurement

KINDS = ("probe", "train", "preflight", "pairs")
"""Commands whose runs say how hosts are."""
_UNITS = ("B/s", "s")
_LONGEST_REASON = 200
_LONGEST_NAME = 300
_EARLIEST = datetime.fromisoformat("2020-01-01T00:00:00Z").timestamp()
AHEAD_S = 3600.0
"""So far the clock of a host may be ahead of ours."""
_PROVEN = ("alone", "confirmed")


class _Outcome(msgspec.Struct):
    """What counts of a check of a preflight; a document has more of it."""

    code: str
    rung: str
    status: CheckStatus
    host: str | None = None
    measured: float | None = None
    unit: str = ""
    reason: str = ""
    shown: str = ""


class _Host(msgspec.Struct):
    host: str
    status: VisitStatus
    driver: str = ""


class _Training(msgspec.Struct):
    strategy: str
    step_time_s: Stats | None = None


class _Document(RunDocument, kw_only=True):
    """The keys of all kinds of documents that count here."""

    outcomes: tuple[_Outcome, ...] = ()
    hosts: tuple[_Host, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    trainings: tuple[_Training, ...] = ()


def read(path: Path, now: float) -> RunRecord:
    """The run in a folder, or in a run.json; `now`: Unix time. Raises BadInput."""
    text, where = run_directory.document(path)
    return decoded(text, where, path if path.is_dir() else path.parent, now)


def decoded(text: bytes, where: str, folder: Path, now: float) -> RunRecord:
    """The run of a document; `folder`: where it is said to be. Raises BadInput."""
    kind = documents.kind_of(text, where)
    if kind not in KINDS:
        raise BadInput(f"{where} is a run of nccltool {kind}", f"name runs of {', '.join(KINDS)}")
    document = documents.decoded(text, where, _Document)
    started = _started(document.run, where, now)
    visits = _visits_of_suite(document) if kind == "preflight" else _visits(document)
    return RunRecord(
        id=document.run.id,
        started=started,
        kind=kind,
        status=document.status,
        folder=str(folder.absolute()),
        versions=_versions(document.run),
        visits=tuple({visit.host: visit for visit in visits if visit.host}.values()),
        troubles=_first_of_each(_troubles(document)),
        values=tuple({(one.host, one.series): one for one in _values(document)}.values()),
    )


def _started(info: RunInfo, where: str, now: float) -> float:
    """When it began. Raises BadInput for what a clock said that was wrong: it would be the newest run for ever."""
    remedy = "correct the clock of its host; the run can be shown with nccltool runs"
    try:
        started = datetime.fromisoformat(info.started).timestamp()
    except (ValueError, OverflowError) as error:
        raise BadInput(f"{where}: started is not a time: {shortened(info.started, 40)!r}", remedy) from error
    if not _EARLIEST <= started <= now + AHEAD_S:
        when = "the future" if started > now else "the past, before nccltool"
        raise BadInput(f"{where} says that it began in {when}: {info.started}", remedy)
    return started


def _versions(info: RunInfo) -> RunVersions:
    backend = " ".join(word for word in (info.backend, info.backend_version) if word)
    tool = info.tool or f"nccltool {info.nccltool}"
    return RunVersions(
        nccltool=tool, torch=info.torch or "", backend=backend, gpu=info.gpu or "", nics=info.nics or ""
    )


def _visits_of_suite(document: _Document) -> Iterator[Visit]:
    return (Visit(host=one.host, status=one.status, driver=one.driver) for one in document.hosts)


def _visits(document: _Document) -> Iterator[Visit]:
    """A host that is accused failed; what the others did says nothing of them unless the run went well."""
    accused: dict[str, VisitStatus] = {}
    for finding in document.findings:
        if host := _accused(finding, document.run):
            worse = finding.is_error or accused.get(host) == "fail"
            accused[host] = "fail" if worse else "warn"
    went_well = document.status in ("pass", "warn") or (document.kind == "pairs" and bool(accused))
    rest: VisitStatus = "pass" if went_well else "unknown" if accused else "undetermined"
    for host in dict.fromkeys((*document.run.hosts, *accused)):
        yield Visit(host=host, status=accused.get(host, rest))


def _accused(finding: Finding, info: RunInfo) -> str | None:
    """The host that a finding accuses."""
    subject = finding.suspect
    if subject is None:
        return None
    if subject.kind == "host":
        return subject.name
    if subject.kind != "rank":
        return None
    if len(info.hosts) == 1:
        return info.hosts[0]
    per_host = info.ranks_per_node
    rank = whole(subject.name)
    known = info.nodes == len(info.hosts) and not info.emulated and rank is not None
    node = (rank or 0) // per_host if known and per_host else -1
    return info.hosts[node] if 0 <= node < len(info.hosts) else None


def _troubles(document: _Document) -> Iterator[Trouble]:
    for one in document.outcomes:
        if one.status in ("fail", "warn") and one.code != one.rung:
            proven = one.host is not None and one.shown in _PROVEN
            yield _trouble(one.host or ALL_HOSTS, one.code, one.status == "fail", proven, one.reason)
    if document.outcomes:  # the findings of a suite are those of its checks
        return
    for finding in document.findings:
        if finding.severity == "info":
            continue
        host = _accused(finding, document.run)
        proven = host is not None and finding.is_error
        yield _trouble(host or ALL_HOSTS, finding.code, finding.is_error, proven, finding.message)


def _trouble(host: str, check: str, failed: bool, proven: bool, reason: str) -> Trouble:
    status: TroubleStatus = "fail" if failed else "warn"
    return Trouble(host=host, check=check, status=status, proven=proven, reason=shortened(reason, _LONGEST_REASON))


def _first_of_each(troubles: Iterable[Trouble]) -> tuple[Trouble, ...]:
    """One for each host and check, the worst."""
    ordered = sorted(troubles, key=lambda one: (one.status != "fail", not one.proven))
    return tuple({(one.host, one.check): one for one in reversed(ordered)}.values())


def _values(document: _Document) -> Iterator[MeasuredValue]:
    for host, series, value in _numbers(document):
        if value is None or series.unit not in _UNITS or len(series.name) > _LONGEST_NAME:
            continue  # counts of ranks and elements are no measurements
        if math.isfinite(value) and value > 0:
            yield MeasuredValue(host=host, series=series, value=value)


def _numbers(document: _Document) -> Iterator[tuple[str, Series, float | None]]:
    info = document.run
    alone = info.hosts[0] if len(info.hosts) == 1 else ALL_HOSTS
    nodes = f"{info.nodes or '?'}{' emulated' if info.emulated else ''} nodes"
    world = f"{info.world_size or '?'} ranks on {nodes}, {info.backend or 'backend unknown'}"
    for one in document.outcomes:
        detail = "" if one.host else world
        yield one.host or alone, Series(name=one.code, detail=detail, unit=one.unit), one.measured
    for row in document.measurements:
        if row.group is None and not row.wrong:
            detail = f"{row.dtype} {row.placement} {row.cadence}, {world}"
            name = f"{row.op} {format_bytes(row.bytes)}"
            yield alone, Series(name=name, detail=detail, unit="B/s", of=row.op), row.busbw_bytes_per_s
    for training in document.trainings:
        seconds = training.step_time_s.seconds if training.step_time_s else None
        series = Series(name=f"{training.strategy} step", detail=world, unit="s", of=training.strategy)
        yield alone, series, seconds
