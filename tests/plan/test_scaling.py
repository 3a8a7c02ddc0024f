from collections.abc import Sequence
from dataclasses import replace

import pytest

from nccltool.plan import scaling
from nccltool.probe.result import Run
from tests import samples
from tests.compare.test_scaling import trained
from tests.plan.samples import H100


def probed(busbw: float, ranks: int = 2) -> Run:
    rows = []
    for size in (2**10, 2**14, 2**18, 2**22):
        seconds = 1e-4 + size * 2 * (ranks - 1) / ranks / busbw
        rows.append(samples.measurement(op="all_reduce", bytes=size, time_s=samples.stats(seconds)))
    info = samples.info(id=f"probe-{ranks}", world_size=ranks, nodes=ranks)
    return replace(samples.good_run(), info=info, measurements=tuple(rows))


def placed(runs: Sequence[Run]) -> list[Run]:
    """Each rank on a node of its own."""
    return [replace(run, info=replace(run.info, nodes=run.info.world_size)) for run in runs]


RUNS = placed([trained(1, 4, 0.1), trained(2, 8, 0.11), trained(4, 16, 0.2)])
_BYTES = 4 * (4 * (12 * 64**2 + 13 * 64) + 2 * 256 * 64 + 32 * 64 + 2 * 64)


def test_the_prediction_has_the_links_of_the_probe() -> None:
    (curve,) = scaling.of([*RUNS, probed(_BYTES / 0.01)], H100)
    assert (curve.strategy, curve.kind, curve.reason) == ("ddp", "weak", "")
    assert [one.ranks for one in curve.points] == [1, 2, 4]
    one, two, four = curve.points
    assert (one.measured, one.predicted) == (1.0, 1.0)
    assert two.predicted_s == pytest.approx(0.11, rel=0.02)
    assert two.predicted == pytest.approx(0.1 / 0.11, rel=0.02)
    assert four.predicted_s == pytest.approx(0.115, rel=0.02)  # 1.5 times the bytes on a link


@pytest.mark.parametrize(
    ("last_s", "said"),
    [
        (0.112, "from 1 to 2 ranks, efficiency falls from 100% to 91%: 10"),
        (0.2, "neither arithmetic nor communication"),
    ],
)
def test_the_bend_has_a_cause(last_s: float, said: str) -> None:
    runs = placed([trained(1, 4, 0.1), trained(2, 8, 0.11), trained(4, 16, last_s)])
    (curve,) = scaling.of([*runs, probed(_BYTES / 0.01)], H100)
    assert said in curve.bend


def test_without_a_bend() -> None:
    runs = placed([trained(1, 4, 0.1), trained(2, 8, 0.101)])
    (curve,) = scaling.of([*runs, probed(1e12)], H100)
    assert curve.bend == ""


def test_without_a_probe_nothing_is_predicted() -> None:
    (curve,) = scaling.of(RUNS, H100)
    assert "no run of nccltool probe" in curve.reason
    assert [one.predicted for one in curve.points] == [None] * 3
    assert "cause unknown without a prediction" in curve.bend
