"""All traces of a run."""

from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.trace.run import trace
from tests.trace.samples import SHIPPED, event, write


def test_the_late_rank_of_a_real_run() -> None:
    report = trace([str(SHIPPED)], ("nccltool", "trace"))
    assert (report.late_rank, report.verdict.status, report.verdict.exit_code) == (2, "warn", 0)


def test_two_traces_of_a_rank(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        write(tmp_path / name, event("x", 1, 1))
    with pytest.raises(BadInput, match="are both traces of rank 0"):
        trace([str(tmp_path)], ())
