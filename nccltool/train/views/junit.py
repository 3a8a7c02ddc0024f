"""Training runs as JUnit XML, for what shows the results of tests: a strategy is a test case."""

from nccltool.core import junit
from nccltool.train.result import TrainRun
from nccltool.train.views import base


def render(run: TrainRun) -> str:
    return junit.report("train", [base.suite(run)])
