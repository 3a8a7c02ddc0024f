"""What is free, and given back between steps."""

from pathlib import Path

import pytest
import torch

from nccltool.hosts.sources.base import Tree
from nccltool.worker import memory

pytestmark = [pytest.mark.torch]


def test_what_is_free_on_this_host(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemAvailable:    1000 kB\n")
    assert memory.free(torch.device("cpu"), Tree.at(tmp_path)) == 1_024_000
    assert memory.free(torch.device("cpu"), Tree.at(tmp_path / "nothing")) is None


def test_a_rank_without_a_gpu_has_none_free() -> None:
    assert memory.free_before_start(None) is None


def test_a_host_has_nothing_of_cuda_to_give_back() -> None:
    memory.give_back(torch.device("cpu"))
    assert not torch.cuda.is_initialized()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_gpu_gets_back_what_was_freed() -> None:
    device = torch.device("cuda", 0)
    del_me = torch.empty(2**28, device=device)
    del del_me
    assert torch.cuda.memory_reserved(device) >= 2**30
    memory.give_back(device)
    assert torch.cuda.memory_reserved(device) < 2**30
