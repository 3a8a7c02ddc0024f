"""The document of the contract."""

from nccltool.train.document import to_json
from nccltool.train.result import TrainRun


def render(run: TrainRun) -> str:
    return to_json(run) + "\n"
