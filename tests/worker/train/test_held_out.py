"""Held-out sequences: every one is on one rank, with its own weight."""

from dataclasses import replace

import pytest
import torch

from nccltool.worker.train import held_out, transformer
from tests.worker.train.conftest import SPEC

pytestmark = [pytest.mark.torch, pytest.mark.quick]


@pytest.mark.parametrize(
    ("sequences", "batch", "world"), [(7, 4, 2), (11, 1, 4), (8, 4, 8), (9, 2, 8), (5, 4, 1), (13, 3, 3)]
)
def test_parts_are_the_whole_in_as_many_passes_on_each_rank(sequences: int, batch: int, world: int) -> None:
    spec = replace(SPEC, dtype="float32", batch=batch, options={"validate": sequences})
    model = transformer.make(spec)
    parts = [held_out.batches(spec, rank, world) for rank in range(world)]
    assert len({len(part) for part in parts}) == 1
    assert max(len(one) for part in parts for one in part) <= batch
    assert torch.equal(torch.cat([one for part in parts for one in part]), held_out.tokens(spec))
    total, count = torch.stack([held_out.summed(part, model) for part in parts]).sum(0).tolist()
    whole, all_of_them = held_out.summed([held_out.tokens(spec)], model).tolist()
    assert (count, all_of_them) == (sequences, sequences)
    assert total / count == pytest.approx(whole / sequences, rel=1e-6)


def test_a_mean_of_means_is_another_number() -> None:
    spec = replace(SPEC, dtype="float32", options={"validate": 7})
    model = transformer.make(spec)
    parts = [held_out.batches(spec, rank, 2) for rank in range(2)]
    means = [total / count for total, count in (held_out.summed(part, model).tolist() for part in parts)]
    total, count = held_out.summed([held_out.tokens(spec)], model).tolist()
    assert abs(sum(means) / 2 - total / count) > 1e-4 * total / count
