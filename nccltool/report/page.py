"""The whole report: the verdict in one sentence, what to do, what was tested on what, and the sections."""

from collections.abc import Iterator
from dataclasses import replace

from nccltool import __version__
from nccltool.core.documents import RunInfo
from nccltool.core.host_lists import briefly
from nccltool.core.text import counted, shortened
from nccltool.core.units import format_seconds
from nccltool.core.verdicts import Verdict
from nccltool.localize import headline as localize_headline
from nccltool.localize.localized import LocalizedRun
from nccltool.preflight.result import Preflight
from nccltool.preflight.views import table as preflight_table
from nccltool.probe import headline as probe_headline
from nccltool.probe.result import Run
from nccltool.report import sections
from nccltool.report.material import Material
from nccltool.report.parts import RawDocument, ReportFact, ReportPage, TodoItem
from nccltool.report.sections import base, history
from nccltool.train.result import TrainRun
from nccltool.train.views import table as train_table

_MOST_TODO = 3
_LONGEST = 300
_LONG = ("command", "newest run")


def of(material: Material) -> ReportPage:
    """The newest run in detail, and how it compares with the others."""
    run = material.newest
    verdict, more = _verdict(material)
    return ReportPage(
        title=_title(material),
        status=verdict.status,
        exit_code=verdict.exit_code,
        sentence=_whole_sentence(run, more),
        todo=tuple(_todo(run)) or tuple(_of_history(material)),
        facts=tuple(_fact(name, value) for name, value in _facts(material, bool(more))),
        sections=tuple(sections.of(material)),
        documents=tuple(RawDocument(name=one.run.info.id, json=one.document) for one in material.runs),
        made_by=f"nccltool {__version__}",
    )


def _whole_sentence(run: Run | Preflight, more: str) -> str:
    """A failure of the newest run comes first; that it did well is of less interest than what the others add."""
    if run.verdict.exit_code:
        return "; ".join(filter(None, (sentence(run), more)))
    return more or sentence(run)


def _title(material: Material) -> str:
    run, count = material.newest, len(material.runs)
    if count == 1:
        return f"nccltool {run.kind} {run.info.started[:10]}"
    return f"nccltool: {count} runs, {material.runs[0].run.info.started[:10]} to {run.info.started[:10]}"


def _verdict(material: Material) -> tuple[Verdict, str]:
    """That of the newest run, unless it did well and is slower than before; and what the other runs add."""
    own, found = material.newest.verdict, material.comparison
    if found is not None and found.outcome == "worse":
        return own if own.exit_code else found.verdict, found.findings[0].message
    changed = history.worse(material.history) if material.history else ""
    return replace(own, status="warn") if changed and own.status == "pass" else own, changed


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


def _todo(run: Run | Preflight) -> Iterator[TodoItem]:
    """Errors with their remedies; warnings only where there is no error."""
    found = list(base.ordered(base.findings_of(run)))
    wanted = [one for one in found if one.is_error] or [one for one in found if one.severity == "warning"]
    for one in wanted[:_MOST_TODO]:
        yield TodoItem(
            found=shortened(one.message, _LONGEST),
            remedy=shortened(one.remedy, _LONGEST),
            link=base.page_id(one.code),
        )


def _of_history(material: Material) -> Iterator[TodoItem]:
    """Where the newest run itself is in order."""
    for found, remedy in history.todo(material.history) if material.history else ():
        yield TodoItem(found=shortened(found, _LONGEST), remedy=remedy, link="history")


def _fact(name: str, value: str) -> ReportFact:
    return ReportFact(name=name, value=shortened(value, _LONGEST), is_long=name in _LONG)


def _facts(material: Material, is_of_others: bool) -> Iterator[tuple[str, str]]:
    """`is_of_others`: the sentence above them may not be that of the newest run."""
    run, info = material.newest, material.newest.info
    if is_of_others and not run.verdict.exit_code:
        yield "newest run", f"{run.verdict.status}: {sentence(run)}"
    yield "when", _when(info)
    yield "hosts", _hosts(info)
    yield "ranks", base.UNKNOWN if info.world_size is None else str(info.world_size)
    yield "GPU", info.gpu or ("none" if info.gpu == "" else base.UNKNOWN)
    yield "network", info.nics or ("not used" if info.nics == "" else base.UNKNOWN)
    versions = [f"nccltool {info.nccltool}", *([f"torch {info.torch}"] if info.torch else [])]
    backend = " ".join(word for word in (info.backend, info.backend_version) if word)
    yield "versions", ", ".join([*versions, *([backend] if backend else [])])
    if len(material.runs) > 1:
        yield "runs", f"{len(material.runs)}, from {material.runs[0].run.info.started} on; the newest in detail"
    yield "command", " ".join(info.command)


def _when(info: RunInfo) -> str:
    took = "" if info.duration_s is None else f", {format_seconds(info.duration_s)}"
    return f"{info.started}{took}"


def _hosts(info: RunInfo) -> str:
    if not info.hosts:
        return base.UNKNOWN if info.nodes is None else counted(info.nodes, "node")
    emulated = f", {counted(info.nodes or 0, 'emulated node')}: no network was measured" if info.emulated else ""
    return f"{briefly(info.hosts)} ({counted(len(info.hosts), 'host')}{emulated})"
