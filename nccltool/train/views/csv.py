"""A row a step, units in the column names; what a spreadsheet or a data frame reads."""

import csv
import io

from nccltool.core.text import escaped
from nccltool.train.result import TrainRun

_COLUMNS = ("run", "strategy", "status", "step", "loss", "reference_loss", "time_s")


def render(run: TrainRun) -> str:
    """Comma-separated values; an empty field is not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in run.trainings:
        head = (escaped(run.info.id), escaped(one.strategy), one.status)
        writer.writerows((*head, step.step, step.loss, step.reference_loss, step.time_s) for step in one.steps)
    return text.getvalue()
