"""What earlier runs say stands beside the finding, and changes nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.core.verdicts import Verdict
from nccltool.preflight import seen_before
from nccltool.preflight.result import Check, CheckOutcome, Preflight
from nccltool.preflight.views import table
from tests.history.samples import DAY, FIRST, kept, night
from tests.samples import info

LATE = Check(stage="across", name="late-rank")


def _preflight(*outcomes: CheckOutcome) -> Preflight:
    return Preflight(
        info=info(hosts=("n1", "n17")),
        verdict=Verdict(status="fail", exit_code=1),
        suite="smoke",
        outcomes=outcomes,
        hosts=(),
        findings=(),
        runs=(),
        duration_s=1.0,
    )


FOUND = _preflight(
    CheckOutcome(check=LATE, host="n17", status="fail", reason="rank 3 was late"),
    CheckOutcome(check=LATE, host="n1", status="fail", reason="rank 3 was late"),
    CheckOutcome(check=LATE, host="n2", status="pass"),
    CheckOutcome(check=Check(stage="train"), host=None, status="fail"),
)


def test_it_is_told(tmp_path: Path) -> None:
    file = kept(tmp_path, *(night(one, {"n1": "pass", "n17": "fail" if one else "pass"}) for one in range(3)))
    told = seen_before.told(FOUND, file, FIRST + 3 * DAY)
    assert [one.before for one in told.outcomes] == [
        "did not pass in 2 of 2 runs since 2026-09-02, each time on this host alone",
        "new: not seen in 3 runs since 2026-09-01",
        "",
        "",
    ]
    assert replace(told, outcomes=FOUND.outcomes) == FOUND
    shown = table.render(told)
    assert "FAIL across/late-rank on n[1,17]" in shown
    assert "history of n17: did not pass in 2 of 2 runs" in shown
    assert "history of n1: new: not seen in 3 runs" in shown


def test_a_file_that_is_no_history(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 5000)
    with pytest.raises(BadInput):
        seen_before.told(FOUND, tmp_path / "file", FIRST)
    passed = _preflight(CheckOutcome(check=LATE, host="n1", status="pass"))
    assert seen_before.told(passed, tmp_path / "file", FIRST) == passed
