"""The noise of gradients, of batches whose noise is known."""

import math
import random
from dataclasses import replace

import pytest

from nccltool.train import gradient_noise
from nccltool.train.result import TrainStep

GRADIENT, SPREAD = (0.6, -0.3, 0.2), (1.0, 0.5, 2.0)
"""Of all data, and the standard deviation of one sequence in each direction: B_simple is 5.25 / 0.49."""


def norm(batch: int, draw: random.Random) -> float:
    """Of the mean over a batch of sequences."""
    means = (draw.gauss(mean, apart / batch**0.5) for mean, apart in zip(GRADIENT, SPREAD, strict=True))
    return math.hypot(*means)


def step(small: float | None, large: float | None) -> TrainStep:
    return TrainStep(
        step=1,
        loss=5.0,
        reference_loss=5.0,
        gradient_norm=large,
        reference_gradient_norm=large,
        micro_batch_gradient_norm=small,
        reference_micro_batch_gradient_norm=small,
        time_s=0.1,
    )


def test_the_estimates_are_those_of_the_data() -> None:
    draw = random.Random(1)
    found = gradient_noise.of([step(norm(2, draw), norm(64, draw)) for _ in range(20_000)], 2, 64)
    assert found is not None and found.scale is not None
    assert found.squared_norm == pytest.approx(0.49, rel=0.02)
    assert found.variance == pytest.approx(5.25, rel=0.02)
    assert found.scale == found.reference_scale == pytest.approx(5.25 / 0.49, rel=0.04)


def test_equations_a2_and_a3_of_the_paper() -> None:
    found = gradient_noise.of([step(3.0, 2.0), step(3.0, 2.0)], 2, 8)
    assert found is not None
    assert (found.squared_norm, found.variance) == pytest.approx(((8 * 4 - 2 * 9) / 6, (9 - 4) / (1 / 2 - 1 / 8)))
    assert (found.steps, found.micro_batch, found.global_batch) == (2, 2, 8)


@pytest.mark.parametrize(("small", "large"), [(5.0, 2.0), (2.0, 2.0), (1.0, 2.0)])
def test_it_is_unknown_where_an_estimate_is_not_positive(small: float, large: float) -> None:
    found = gradient_noise.of([step(small, large)], 2, 8)
    assert found is not None
    assert (found.scale, found.reference_scale) == (None, None)


def test_steps_without_norms_do_not_count() -> None:
    known, unknown = step(3.0, 2.0), step(None, 2.0)
    assert gradient_noise.of([unknown, step(3.0, None)], 2, 8) is None
    found = gradient_noise.of([known, unknown], 2, 8)
    assert found == gradient_noise.of([known], 2, 8)
    alone = gradient_noise.of([replace(known, reference_micro_batch_gradient_norm=None)], 2, 8)
    assert alone is not None and alone.scale is not None and alone.reference_scale is None
