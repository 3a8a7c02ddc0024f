"""Who says why a strategy is not trained: the first rank that has a reason, be it not rank 0."""

from typing import Any

import pytest
import torch

from nccltool.train.events import NotTrained
from nccltool.train.job import TrainSpec
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.train import strategies
from nccltool.worker.train.loop import Trainer
from nccltool.worker.train.strategies.base import CannotTrain, Setup

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]


class _Tools:
    """Of one of three ranks; `others`: the reasons of all."""

    device, size, injector = torch.device("cpu"), 3, None

    def __init__(self, rank: int, reasons: list[str | None]) -> None:
        self.rank, self._reasons = rank, reasons
        self.group, self.channel, self.slot = self, self, ProgressPage()
        self.said: list[object] = []

    def everybodys(self, numbers: list[int]) -> list[list[int]]:
        rows = [[0 if reason is None else 1 + bool(reason)] for reason in self._reasons]
        assert rows[self.rank] == numbers
        return rows

    def emit(self, *events: object) -> None:
        self.said += events


@pytest.mark.parametrize(
    ("reasons", "speaker"),
    [
        (["all alike"] * 3, 0),
        ([None, "no room on b", None], 1),
        (["", "", "no room on c"], 2),
        (["", "no room on b", "no room on c"], 1),
    ],
)
@pytest.mark.parametrize("rank", range(3))
def test_the_first_rank_with_a_reason_says_it(
    rank: int, reasons: list[str | None], speaker: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(_: Setup) -> Any:
        if (reason := reasons[rank]) is not None:
            raise CannotTrain(reason)
        return object()

    monkeypatch.setattr(strategies, "build", build)
    monkeypatch.setattr("nccltool.worker.train.faults.wrapped", lambda built: built)
    tools: Any = _Tools(rank, reasons)
    assert Trainer(TrainSpec(strategies=("ddp",)), tools)._built("ddp", None) is None
    expected = [NotTrained(strategy="ddp", reason=reasons[speaker] or "", applies=True)]
    assert tools.said == (expected if rank == speaker else [])
