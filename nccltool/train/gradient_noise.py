"""JUDGE how noisy gradients are, from their norms in small and large batches. Pure.

McCandlish and others 2018, An Empirical Model of Large-Batch Training, appendix A.1 (https://arxiv.org/abs/1812.06162).
"""

from collections.abc import Sequence
from statistics import fmean

from nccltool.train.result import GradientNoise, TrainStep


def of(steps: Sequence[TrainStep], micro_batch: int, global_batch: int) -> GradientNoise | None:
    """From all steps with both norms; batch sizes are in sequences."""
    own = [(step.micro_batch_gradient_norm, step.gradient_norm) for step in steps]
    theirs = [(step.reference_micro_batch_gradient_norm, step.reference_gradient_norm) for step in steps]
    norms, expected = _known(own), _known(theirs)
    if not norms:
        return None
    squared_norm, variance = _estimates(norms, micro_batch, global_batch)
    return GradientNoise(
        micro_batch=micro_batch,
        global_batch=global_batch,
        steps=len(norms),
        squared_norm=squared_norm,
        variance=variance,
        scale=_scale(squared_norm, variance),
        reference_scale=_scale(*_estimates(expected, micro_batch, global_batch)) if expected else None,
    )


def _known(norms: Sequence[tuple[float | None, float | None]]) -> list[tuple[float, float]]:
    return [(small, large) for small, large in norms if small is not None and large is not None]


def _estimates(norms: Sequence[tuple[float, float]], small: int, large: int) -> tuple[float, float]:
    """Unbiased estimates of |G|^2 and tr(Sigma), each the mean over all steps, because one step is too noisy."""
    of_small = fmean(norm**2 for norm, _ in norms)
    of_large = fmean(norm**2 for _, norm in norms)
    squared_norm = (large * of_large - small * of_small) / (large - small)
    return squared_norm, (of_small - of_large) / (1 / small - 1 / large)


def _scale(squared_norm: float, variance: float) -> float | None:
    return variance / squared_norm if squared_norm > 0 and variance > 0 else None
