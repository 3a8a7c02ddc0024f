"""The latency-bandwidth model, and dips against it."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.findings import Finding, Subject
from nccltool.probe import latency_model
from nccltool.probe.result import Measurement
from tests.samples import measurement, stats

SIZES = tuple(2**power for power in range(3, 27, 3))


def row(size: int, seconds: float, **changes: Any) -> Measurement:
    """Its interval is 10 % to both sides of the time."""
    return measurement(bytes=size, time_s=stats(seconds), busbw_bytes_per_s=size / seconds, **changes)


def alone(size: int, speed: float) -> Measurement:
    """Of too few iterations for an interval."""
    return measurement(bytes=size, time_s=stats(size / speed, ci95=None), busbw_bytes_per_s=speed)


@given(alpha=st.floats(1e-7, 1e-2), beta=st.floats(1e6, 1e12))
def test_exact_times_give_their_model_back(alpha: float, beta: float) -> None:
    found_alpha, slope = latency_model.fit([(size, alpha + size / beta) for size in SIZES])
    for size in SIZES:
        assert found_alpha + slope * size == pytest.approx(alpha + size / beta, rel=1e-3)


def test_one_size_out_of_line_does_not_bend_it() -> None:
    points = [(size, 50e-6 + size / 1e9) for size in SIZES]
    points[4] = (points[4][0], points[4][1] * 10)
    alpha, slope = latency_model.fit(points)
    assert (alpha, 1 / slope) == pytest.approx((50e-6, 1e9), rel=0.02)


def test_noise_does_not_move_it_far() -> None:
    source = random.Random(1)
    points = [(size, (50e-6 + size / 1e9) * source.uniform(0.95, 1.05)) for size in SIZES for _ in range(3)]
    alpha, slope = latency_model.fit(points)
    assert (alpha, 1 / slope) == pytest.approx((50e-6, 1e9), rel=0.05)


@given(st.lists(st.tuples(st.sampled_from(SIZES), st.floats(1e-6, 10)), min_size=1, max_size=20))
def test_neither_part_is_negative(points: list[tuple[int, float]]) -> None:
    alpha, slope = latency_model.fit(points)
    assert alpha >= 0
    assert slope >= 0


def test_models_are_made_for_each_operation_and_placement() -> None:
    rows = [
        *(row(size, 50e-6 + size / 1e9) for size in SIZES),
        *(row(size, 20e-6 + size / 2e9, op="all_gather") for size in SIZES),
        *(row(size, 20e-6 + size / 4e9, op="all_gather", placement="out-of-place") for size in SIZES),
    ]
    models = latency_model.models(rows)
    assert [(model.op, model.placement) for model in models] == [
        ("all_reduce", "in-place"),
        ("all_gather", "in-place"),
        ("all_gather", "out-of-place"),
    ]
    assert [model.beta_bytes_per_s for model in models] == pytest.approx([1e9, 2e9, 4e9], rel=1e-3)
    assert [model.alpha_s for model in models] == pytest.approx([50e-6, 20e-6, 20e-6], rel=1e-2)
    assert [model.n_half_bytes for model in models] == pytest.approx([50e3, 40e3, 80e3], rel=1e-2)
    assert [model.residual for model in models] == pytest.approx([0, 0, 0], abs=1e-3)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row(size, 1e-3) for size in SIZES[:3]],  # too few sizes
        [row(size, 1e-3 + size / 1e9, launch_limited=True) for size in SIZES],
        [row(8, 1e-3)] * 10,
        [row(size, 1e-3) for size in SIZES],  # time does not grow with size
        [row(size, 1 / size) for size in SIZES],  # it falls
    ],
)
def test_no_model_where_there_is_no_bandwidth(rows: list[Measurement]) -> None:
    assert latency_model.models(rows) == ()


def test_a_dip() -> None:
    rows = [row(2**20, 2**20 / 4e9), row(2**16, 2**16 / 1e9), row(2**22, 2**22 / 2e9)]
    assert latency_model.dips(rows) == (
        Finding(
            code="dip",
            severity="info",
            subject=Subject(kind="operation", name="all_reduce"),
            message="all_reduce: busbw drops from 4.00 GB/s at 1 MiB to 2.00 GB/s at 4 MiB",
            evidence=("the intervals of the two sizes are more than 5 % apart",),
            remedy="likely cause: the protocol or algorithm changes between these sizes; on CPUs, a cache "
            "becomes too small",
        ),
    )


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row(8, 1.0)],
        [row(2**16, 2**16 / 1e9), row(2**20, 2**20 / 4e9)],  # it grows
        [row(2**16, 2**16 / 1e9), row(2**20, 2**20 / 0.8e9)],  # within the intervals
        [row(2**16, 2**16 / 4e9), row(2**16, 2**16 / 1e9)],  # the same size again
        [alone(2**16, 4e9), alone(2**20, 1e9)],  # how noisy they are is not known
        [row(2**16, 2**16 / 4e9), row(2**20, 2**20 / 1e9, launch_limited=True)],  # Python's time
        [row(2**16, 2**16 / 4e9), row(2**20, 2**20 / 1e9, op="gather")],
        [row(2**16, 2**16 / 4e9), row(2**20, 2**20 / 1e9, placement="out-of-place")],
    ],
)
def test_no_dip(rows: list[Measurement]) -> None:
    assert latency_model.dips(rows) == ()
