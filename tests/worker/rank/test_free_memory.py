"""What is free before the start."""

from pathlib import Path

import pytest

from nccltool.hosts.sources.base import Tree
from nccltool.worker.rank import free_memory

pytestmark = [pytest.mark.torch, pytest.mark.quick]


def test_of_this_host(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemAvailable:    1000 kB\n")
    assert free_memory.of_host(Tree.at(tmp_path)) == 1_024_000
    assert free_memory.of_host(Tree.at(tmp_path / "nothing")) is None


def test_a_rank_without_a_gpu_has_none_free() -> None:
    assert free_memory.of_gpu(None) is None
