"""Trainings with several numbers of ranks beside what is planned for them from the probes of the same report."""

from nccltool.plan import machines, scaling, wording
from nccltool.preflight.result import Preflight
from nccltool.report.material import Material
from nccltool.report.parts import KeyFigure, NotePart, Part, ReportSection
from nccltool.report.sections import base


def of(material: Material) -> ReportSection | None:
    """None without a probe: then nothing is predicted."""
    runs = [one.run for one in material.runs if not isinstance(one.run, Preflight)]
    curves = [one for one in scaling.of(runs, machines.of_word(machines.USUAL)) if not one.reason]
    if not curves:
        return None
    parts: list[Part] = []
    for curve in curves:
        rows = wording.curve_rows(curve)
        parts.append(base.table(wording.curve(curve), wording.SCALING, rows, *range(len(wording.SCALING))))
        parts.append(NotePart(text=wording.curve_end(curve)))
    errors = [
        point.predicted_s / point.measured_s - 1
        for curve in curves
        for point in curve.points[1:]
        if point.predicted_s is not None
    ]
    worst = max(errors, key=abs)
    return ReportSection(
        id="planned",
        title="Plan",
        headline=f"Predicted times of a step differ from measured ones by at most {abs(worst):.0%}.",
        figure=KeyFigure(value=f"{worst:+.0%}", label="largest error"),
        parts=tuple(parts),
    )
