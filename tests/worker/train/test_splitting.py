"""Stages of a pipeline are the whole model, in order, under its names."""

import pytest
from torch import nn

from nccltool.worker.train import splitting

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]


@pytest.mark.parametrize(("stages", "sizes"), [(1, [7]), (2, [3, 4]), (3, [2, 2, 3]), (7, [1] * 7)])
def test_each_part_is_in_one_stage(stages: int, sizes: list[int]) -> None:
    parts = [nn.Identity() for _ in range(7)]
    held = [dict(splitting.stage(parts, index, stages).named_children()) for index in range(stages)]
    assert [len(one) for one in held] == sizes
    assert [part for one in held for part in one.items()] == [(str(at), part) for at, part in enumerate(parts)]
