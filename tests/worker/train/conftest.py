"""A world of one rank, in this process."""

from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist

from nccltool.train.job import TrainSpec
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train.strategies.base import Setup

SPEC = TrainSpec(strategies=("ddp",), dtype="float16", layers=2, width=16, context=8, vocabulary=32)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def setup() -> Iterator[Setup]:
    """A world of one."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield Setup("ddp", SPEC, RankTools(CPU, ProgressPage(), Channel(-1, None), FaultInjector(None, 0)))
    dist.destroy_process_group()
