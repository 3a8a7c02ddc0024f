"""The whole report: the verdict in one sentence, what to do, what was tested on what, and the sections."""

from collections.abc import Iterator

from nccltool import __version__
from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding
from nccltool.core.host_lists import briefly
from nccltool.core.text import counted, shortened
from nccltool.core.units import format_seconds
from nccltool.localize import headline as localize_headline
from nccltool.localize.localized import LocalizedRun
from nccltool.preflight.result import Preflight
from nccltool.preflight.views import table as preflight_table
from nccltool.probe import headline as probe_headline
from nccltool.probe.result import Run
from nccltool.report import sections
from nccltool.report.material import Material
from nccltool.report.parts import RawDocument, ReportFact, ReportPage
from nccltool.report.sections import base
from nccltool.train.result import TrainRun
from nccltool.train.views import table as train_table

_MOST_TODO = 3
_LONGEST = 300


def of(material: Material) -> ReportPage:
    """The newest run in detail, and how it compares with the others."""
    run, found = material.newest, material.comparison
    is_slower = found is not None and found.outcome == "worse"
    verdict = found.verdict if found and is_slower and not run.verdict.exit_code else run.verdict
    return ReportPage(
        title=f"nccltool {run.kind} {run.info.started[:10]}",
        status=verdict.status,
        exit_code=verdict.exit_code,
        sentence="; ".join((sentence(run), *((found.findings[0].message,) if found and is_slower else ()))),
        todo=tuple(_todo(run)),
        facts=tuple(ReportFact(name=name, value=shortened(value, _LONGEST)) for name, value in _facts(material)),
        sections=tuple(sections.of(material)),
        documents=tuple(RawDocument(name=one.run.info.id, json=one.document) for one in material.runs),
        made_by=f"nccltool {__version__}",
    )


def sentence(run: Run | Preflight) -> str:
    """The verdict, as the command said it."""
    match run:
        case Preflight():
            return preflight_table.headline(run)
        case LocalizedRun():
            return localize_headline.headline(run)
        case TrainRun():
            return train_table.headline(run)
    return probe_headline.of(run)


def _todo(run: Run | Preflight) -> list[str]:
    """Remedies of errors; of warnings only where there is no error. Each names what it is for."""
    found = list(base.ordered(base.findings_of(run)))
    wanted = [one for one in found if one.is_error] or [one for one in found if one.severity == "warning"]
    return list(dict.fromkeys(shortened(_remedy(one), _LONGEST) for one in wanted if one.remedy))[:_MOST_TODO]


def _remedy(one: Finding) -> str:
    return f"{one.code}: {one.remedy}"


def _facts(material: Material) -> Iterator[tuple[str, str]]:
    info = material.newest.info
    yield "when", _when(info)
    yield "hosts", _hosts(info)
    yield "ranks", base.UNKNOWN if info.world_size is None else str(info.world_size)
    yield "GPU", info.gpu or ("none" if info.gpu == "" else base.UNKNOWN)
    yield "network", info.nics or ("not used" if info.nics == "" else base.UNKNOWN)
    versions = [f"nccltool {info.nccltool}", *([f"torch {info.torch}"] if info.torch else [])]
    backend = " ".join(word for word in (info.backend, info.backend_version) if word)
    yield "versions", ", ".join([*versions, *([backend] if backend else [])])
    yield "command", " ".join(info.command)
    if len(material.runs) > 1:
        yield "runs", f"{len(material.runs)}, from {material.runs[0].run.info.started} on; the newest in detail"


def _when(info: RunInfo) -> str:
    took = "" if info.duration_s is None else f", {format_seconds(info.duration_s)}"
    return f"{info.started}{took}"


def _hosts(info: RunInfo) -> str:
    if not info.hosts:
        return base.UNKNOWN if info.nodes is None else counted(info.nodes, "node")
    emulated = f", {counted(info.nodes or 0, 'emulated node')}: no network was measured" if info.emulated else ""
    return f"{briefly(info.hosts)} ({counted(len(info.hosts), 'host')}{emulated})"
