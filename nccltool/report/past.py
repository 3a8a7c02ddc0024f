"""What the history says of the runs of a report alone: they are added to one of their own, which is asked."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.history import ask, run_reader
from nccltool.history.database import History
from nccltool.history.records import RunRecord
from nccltool.history.result import HistoryAnswer
from nccltool.report.material import ReportedRun

_LEAST = 5
"""Runs: with fewer, nothing can be said of time."""


def of(runs: Sequence[ReportedRun]) -> HistoryAnswer | None:
    """None = too few of the runs say how hosts are."""
    records = list(_records(runs))
    if len(records) < _LEAST:
        return None
    with tempfile.TemporaryDirectory(prefix="nccltool-") as folder:
        file = Path(folder) / "history.sqlite"
        History(file).add(records)
        return ask.ask(file, "", 0.0)


def _records(runs: Sequence[ReportedRun]) -> Iterator[RunRecord]:
    now = time.time()
    for one in runs:
        try:
            yield run_reader.decoded(one.document, one.run.info.id, one.folder or Path(), now)
        except BadInput:  # of another command, or of a clock that was wrong: the other sections show it
            continue
