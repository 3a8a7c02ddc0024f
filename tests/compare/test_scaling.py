"""Speed over the number of ranks: which runs make a curve, its efficiency, and the interval of that."""

from dataclasses import replace

import pytest

from nccltool.compare import scaling
from nccltool.probe.result import Run
from nccltool.train.result import ModelShape, TrainRun
from tests import samples
from tests.report import materials

_SHAPE = ModelShape(
    layers=4,
    width=64,
    heads=4,
    context=32,
    vocabulary=256,
    batch=4,
    grown=(),
    ranks=1,
    replicas=1,
)


def trained(ranks: int, sequences: int, step_s: float, layers: int = 4) -> TrainRun:
    """A training of ddp in which all ranks take so many sequences in a step."""
    run = materials.trained()
    one = replace(
        run.trainings[0],
        model=replace(_SHAPE, layers=layers, batch=sequences // ranks),
        step_time_s=samples.stats(step_s),
        throughput_samples_per_s=sequences / step_s,
    )
    info = samples.info(id=f"run-{ranks}-{sequences}", world_size=ranks)
    return replace(run, info=info, trainings=(one,))


def probed(ranks: int, busbw: float) -> Run:
    row = samples.measurement(busbw_bytes_per_s=busbw)
    return replace(
        samples.good_run(), info=samples.info(id=f"probe-{ranks}", world_size=ranks), measurements=(row,)
    )


def test_weak_and_strong_scaling_share_their_first_run() -> None:
    runs = [
        trained(1, 4, 0.1),
        trained(2, 8, 0.125),
        trained(4, 16, 0.2),
        trained(2, 4, 0.08),
        trained(4, 4, 0.05),
    ]
    weak, strong = scaling.curves(runs)
    assert (weak.kind, weak.base, [one.ranks for one in weak.points]) == ("weak", 1, [1, 2, 4])
    assert [one.efficiency for one in weak.points] == pytest.approx([1, 0.8, 0.5])
    assert (strong.kind, [one.run for one in strong.points]) == ("strong", ["run-1-4", "run-2-4", "run-4-4"])
    assert [one.efficiency for one in strong.points] == pytest.approx([1, 0.625, 0.5])
    assert (weak.points[0].compute_s, weak.points[0].exposed_s) == (0.1, 0.0)  # whatever was measured: it is alone
    assert weak.points[1].compute_s == pytest.approx(0.6 * 0.125)
    assert weak.points[1].exposed_s == pytest.approx(0.25 * 0.125)


def test_the_interval_has_the_errors_of_both_runs() -> None:
    (weak,) = scaling.curves([trained(1, 4, 0.1), trained(2, 8, 0.1)])
    base, point = weak.points
    assert base.efficiency_low is None
    assert point.efficiency_low is not None
    assert point.efficiency_high is not None
    # 10 % each way in both: a little more than 14 % together
    assert 0.85 < point.efficiency_low < 0.88
    assert 1.14 < point.efficiency_high < 1.17


def test_too_few_steps_have_no_interval() -> None:
    few = trained(2, 8, 0.1)
    few = replace(few, trainings=(replace(few.trainings[0], step_time_s=samples.stats(0.1, ci95=None)),))
    (weak,) = scaling.curves([trained(1, 4, 0.1), few])
    assert weak.points[1].efficiency == pytest.approx(1)
    assert weak.points[1].efficiency_low is None


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [trained(2, 8, 0.1)],
        [trained(2, 8, 0.1), trained(2, 8, 0.2)],
        [trained(2, 8, 0.1), trained(4, 16, 0.1, layers=8)],
        [materials.trained(), trained(2, 8, 0.1)],
        [probed(2, 1e9), samples.empty_run()],
        [probed(1, 0.0), probed(2, 1e9)],
    ],
    ids=["none", "one", "as many ranks", "another model", "no model", "no rows", "one rank alone"],
)
def test_what_makes_no_curve(runs: list[Run]) -> None:
    assert scaling.curves(runs) == ()


def test_a_collective_is_held_against_the_fewest_ranks() -> None:
    (curve,) = scaling.curves([probed(1, 0.0), probed(4, 6e9), probed(2, 8e9), probed(4, 4e9)])
    assert (curve.of, curve.kind, curve.base) == ("all_reduce", "collective", 2)
    assert [one.efficiency for one in curve.points] == pytest.approx([1, 0.5])  # the last run with 4 counts
