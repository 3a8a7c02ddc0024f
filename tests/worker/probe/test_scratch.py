"""How much memory a block may take."""

import pytest
import torch

from nccltool.probe.memory import CHECKED_AT_ONCE, GPU_SCRATCH, scratch_per_element
from nccltool.worker.probe.scratch import Scratch, block_of

pytestmark = [pytest.mark.torch, pytest.mark.quick]

MIB = 2**20


@pytest.mark.parametrize("element_size", [1, 2, 4, 8])
@pytest.mark.parametrize("free", [70_000 * MIB, 1024 * MIB, 600 * MIB, 64 * MIB])
def test_a_gpu_gives_some_hundred_mib_and_at_most_half_of_what_is_free(free: int, element_size: int) -> None:
    used = block_of(element_size, free) * scratch_per_element(element_size)
    most = min(GPU_SCRATCH, free // 2)
    assert most - scratch_per_element(element_size) < used <= most


def test_the_largest_buffers_are_some_hundred_blocks() -> None:
    eight_gib_of_bf16 = 2**32
    assert -(-eight_gib_of_bf16 // block_of(2, 60_000 * MIB)) == 345


def test_a_full_gpu_and_a_cpu_get_small_blocks() -> None:
    assert block_of(4, 3 * MIB) == block_of(4, None) == CHECKED_AT_ONCE


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float64])
def test_a_block_takes_the_bytes_that_are_planned_for_it(dtype: torch.dtype) -> None:
    scratch = Scratch(torch.device("cpu"), dtype, 1000)
    columns = [scratch.steps, scratch.value, scratch.second, scratch.third, scratch.spare]
    columns += [scratch.typed, scratch.differs]
    assert sum(column.nbytes for column in columns) == 1000 * scratch_per_element(dtype.itemsize)


def test_blocks_cover_a_stretch() -> None:
    scratch = Scratch(torch.device("cpu"), torch.int8, CHECKED_AT_ONCE + 3)
    assert [(span, len(scratch.value)) for span in scratch.blocks()] == [
        ((0, CHECKED_AT_ONCE), CHECKED_AT_ONCE),
        ((CHECKED_AT_ONCE, CHECKED_AT_ONCE + 3), 3),
    ]
