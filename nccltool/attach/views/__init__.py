"""The forms in which a look at a job is shown."""

from collections.abc import Callable

from nccltool.attach.document import to_json
from nccltool.attach.report import AttachReport
from nccltool.attach.views.table import render
from nccltool.core.look import Look
from nccltool.core.plugin_line import plugin_line

FORMATS = ("table", "json", "nagios")


def renderer(form: str, look: Look) -> Callable[[AttachReport], str]:
    if form == "json":
        return to_json
    if form == "nagios":
        return _line
    return lambda report: render(report, look)


def _line(report: AttachReport) -> str:
    answer = report.answer
    figures = [f"ranks={len(answer.ranks)}", f"missing={len(answer.missing)}"]
    return plugin_line(report.verdict, f"job {answer.message}", figures)
