"""Training runs as JUnit XML: valid, and green where the exit code is 0."""

import pytest

from nccltool.train.events import NotTrained
from nccltool.train.result import TrainRun
from nccltool.train.views import renderer
from tests import samples
from tests.support import junit, reports
from tests.train.test_judge import EVERYWHERE, RIGHT, judged


@pytest.mark.parametrize(
    ("run", "cases"),
    [
        (judged(*RIGHT), {"train verdict": ["system-out"], "train.strategies ddp": []}),
        (judged(*RIGHT, *EVERYWHERE), {"train verdict": ["failure"], "train.strategies ddp": ["failure"]}),
        (
            judged(NotTrained(strategy="ddp", reason="one rank")),
            {"train verdict": ["error"], "train.strategies ddp": ["skipped"]},
        ),
        (
            judged(findings=(samples.finding(),)),
            {
                "train verdict": ["error"],
                "train.strategies ddp": ["error"],
                "train.findings rank-died [rank 1]": ["error"],
            },
        ),
    ],
    ids=["right", "wrong", "left out", "died"],
)
def test_the_cases(run: TrainRun, cases: dict[str, list[str]]) -> None:
    text = renderer("junit")(run)
    assert junit.valid(text) == cases
    assert junit.is_green(text) == (run.verdict.exit_code == 0)
    tests = reports.ctrf(renderer("ctrf")(run))
    assert ("failed" in tests.values() or "other" in tests.values()) == (run.verdict.exit_code != 0)
    assert len(reports.sarif(renderer("sarif")(run))) == len(run.findings)
    assert renderer("nagios")(run).count("\n") == 1
    assert renderer("csv")(run).count("\n") == 1 + sum(len(one.steps) for one in run.trainings)
