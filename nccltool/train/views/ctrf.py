"""Training runs in the Common Test Report Format (CTRF): a strategy is a test."""

from nccltool.core import ctrf
from nccltool.train.result import TrainRun
from nccltool.train.views import base


def render(run: TrainRun) -> str:
    return ctrf.report("train", [base.suite(run)])
