"""Pipelines: which rank computes which micro-batch when, and where none has anything to compute."""

from collections.abc import Iterator, Sequence

from nccltool.core.text import counted
from nccltool.preflight.result import Preflight
from nccltool.report import charts
from nccltool.report.material import Material
from nccltool.report.parts import ChartPart, KeyEntry, KeyFigure, NotePart, Part, ReportSection, TablePart
from nccltool.report.sections import base
from nccltool.train.result import Bubble, PassKind, PipelinePass, TrainingResult, TrainRun

_COLORS: dict[PassKind, str] = {
    "forward": "series-1",
    "backward": "series-2",
    "backward-input": "series-2",
    "backward-weight": "series-3",
}
_WORDS: dict[PassKind, str] = {
    "forward": "forward",
    "backward": "backward",
    "backward-input": "backward, for the inputs",
    "backward-weight": "backward, for the weights",
}
_MOST_RANKS = 32
_MOST_DRAWN = 1024
_LABELED = 0.025
"""Share of the width from which a number fits."""
_HEADERS = ("rank", "stages", "passes", "first begins", "last ends", "computes", "idle")


def of(material: Material) -> ReportSection | None:
    run = material.newest
    trainings = run.trainings if isinstance(run, TrainRun | Preflight) else ()
    found = [(one, one.bubble) for one in trainings if one.bubble]
    if not found:
        return None
    measured = [bubble.measured for _, bubble in found if bubble.measured is not None]
    return ReportSection(
        id="pipeline",
        title="Pipeline schedule",
        headline=" ".join(_said(one, bubble) for one, bubble in found),
        figure=KeyFigure(value=base.percent(max(measured, default=None)), label="bubble"),
        parts=tuple(_part(one, bubble) for one, bubble in found),
    )


def _said(one: TrainingResult, bubble: Bubble) -> str:
    ideal = "" if bubble.formula is None else f", {base.percent(bubble.formula)} if all stages take the same time"
    batches = f"{bubble.micro_batches} micro-batch{'' if bubble.micro_batches == 1 else 'es'}"
    return (
        f"{one.strategy} ({bubble.schedule}): {counted(bubble.ranks, 'rank')} with {batches} have nothing to"
        f" compute for {base.percent(bubble.measured)} of a step{ideal}."
    )


def _part(one: TrainingResult, bubble: Bubble) -> Part:
    if not bubble.passes:
        return NotePart(text=f"When each rank of {one.strategy} computed was not recorded.", tone="unknown")
    ranks = sorted({each.rank for each in bubble.passes})[:_MOST_RANKS]
    end = max(each.end_s for each in bubble.passes)
    shown = [each for each in bubble.passes if each.rank in ranks][:_MOST_DRAWN]
    known = {each.kind for each in shown}
    entries = {(_COLORS[kind], word) for kind, word in _WORDS.items() if kind in known}
    return ChartPart(
        title=f"One step of {one.strategy} ({bubble.schedule})",
        name=one.strategy,
        about="what each rank computes when; the number is that of the micro-batch; the table has the times",
        spec=charts.passes("time (ms), from a meeting of all ranks on", len(ranks)),
        values=tuple(_values(shown, end)),
        key=(
            *(KeyEntry(shape="box", color=color, label=word) for color, word in sorted(entries)),
            KeyEntry(shape="box", color="idle", label="nothing to compute"),
        ),
        table=_table(bubble.passes, end),
        is_broad=True,
        spark=tuple(_computing(rank, bubble.passes) / end for rank in ranks),
    )


def _values(shown: Sequence[PipelinePass], end: float) -> Iterator[dict[str, object]]:
    seen = set[int]()
    for each in shown:
        took = each.end_s - each.begin_s
        yield {
            "name": f"rank {each.rank}",
            "low": each.begin_s * 1e3,
            "high": each.end_s * 1e3,
            "middle": (each.begin_s + each.end_s) * 500,
            "zero": 0.0,
            "whole": end * 1e3,
            "first": each.rank not in seen,
            "tone": f"var(--{_COLORS[each.kind]})",
            "label": str(each.micro_batch) if took > _LABELED * end else "",
            "about": f"rank {each.rank}, stage {each.stage}, micro-batch {each.micro_batch}: {_WORDS[each.kind]},"
            f" {base.seconds(took)} from {base.seconds(each.begin_s)} on",
        }
        seen.add(each.rank)


def _computing(rank: int, passes: Sequence[PipelinePass]) -> float:
    return sum(each.end_s - each.begin_s for each in passes if each.rank == rank)


def _table(passes: Sequence[PipelinePass], end: float) -> TablePart:
    rows = []
    for rank in sorted({each.rank for each in passes}):
        mine = [each for each in passes if each.rank == rank]
        computes = _computing(rank, mine)
        rows.append(
            (
                str(rank),
                ", ".join(map(str, sorted({each.stage for each in mine}))),
                str(len(mine)),
                base.seconds(min(each.begin_s for each in mine)),
                base.seconds(max(each.end_s for each in mine)),
                base.seconds(computes),
                base.percent(1 - computes / end if end else None),
            )
        )
    return base.table("Ranks", _HEADERS, rows, 0, 2, 3, 4, 5, 6)
