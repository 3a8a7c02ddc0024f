"""What the comparison with one process says of a rank."""

import os
from dataclasses import replace

import pytest
import torch

from nccltool.train.events import Diverged
from nccltool.train.job import TrainJob
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import strategies
from nccltool.worker.train.comparison import ReferenceComparison
from nccltool.worker.train.strategies.base import Setup
from tests.worker.train.conftest import CPU, SPEC

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]


@pytest.mark.usefixtures("setup")
def test_a_checkpoint_of_a_later_step_belongs_to_the_last_step_of_its_strategy() -> None:
    read_fd, write_fd = os.pipe()
    spec = replace(SPEC, dtype="float32", steps=2)
    tools = RankTools(CPU, ProgressPage(), Channel(write_fd, None), FaultInjector(None, 0))
    strategy = strategies.build(Setup("ddp", spec, tools))
    with torch.no_grad():
        next(iter(strategy.model.parameters())).add_(1.0)
    assert not ReferenceComparison(strategy, base=3).only_parameters(9)
    event = TrainJob(run_id="", train=spec).new_state().reader.decode(os.read(read_fd, 65536).rstrip(b"\n"))
    os.close(read_fd)
    os.close(write_fd)
    assert isinstance(event, Diverged)
    assert (event.step, event.number) == (4, 9)
