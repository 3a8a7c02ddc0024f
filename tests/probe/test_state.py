"""What was measured, from events alone."""

import pytest

from nccltool.core.statistics import Stats
from nccltool.launch.events import Event, World
from nccltool.probe.events import Grouped, Result, Samples
from nccltool.probe.late_rank import RankLateness
from nccltool.probe.result import Measurement, RowGroup
from nccltool.probe.split import SplitGroup
from nccltool.probe.state import ProbeState, measurement
from nccltool.probe.transport import Limit


def state(*happened: Event) -> ProbeState:
    measured = ProbeState()
    for event in happened:
        measured.take(event)
    return measured


def result(**changes: object) -> Result:
    fields: dict[str, object] = {
        "step": 0,
        "op": "all_reduce",
        "count": 256,
        "bytes": 1024,
        "bytes_per_rank": 1024,
        "dtype": "float32",
        "reduce_op": "sum",
        "placement": "in-place",
        "cadence": "stream",
        "noisy": False,
        "wrong": 0,
    }
    return Result(**{**fields, **changes})  # type: ignore[arg-type]


WORLD = World(
    world_size=4, emulated=True, backend="gloo", backend_version="2.13.0", backend_reason="no GPU", steps=9
)


def test_samples_belong_to_their_step() -> None:
    run = state(
        WORLD,
        Samples(step=0, ns=(1_000_000, 2_000_000)),
        Samples(step=1, ns=(5,)),
        Samples(step=0, ns=(3_000_000,)),
        result(
            noisy=True, late_rank=2, late_s=0.004, late_ranks=((2, 0.004),), launched="queued", launch_limited=True
        ),
    )
    assert run.done == {0}
    assert run.measurements() == (
        Measurement(
            op="all_reduce",
            bytes=1024,
            bytes_per_rank=1024,
            count=256,
            dtype="float32",
            reduce_op="sum",
            placement="in-place",
            cadence="stream",
            iterations=3,
            time_s=Stats(mean=0.002, median=0.002, p90=0.003, p99=None, min=0.001, max=0.003, ci95=None),
            algbw_bytes_per_s=512_000.0,
            busbw_bytes_per_s=768_000.0,  # times 2 (4 - 1) / 4
            wrong=0,
            noisy=True,
            late_rank=2,
            late_s=0.004,
            late_ranks=(RankLateness(rank=2, late_s=0.004),),
            launched="queued",
            launch_limited=True,
        ),
    )


def test_a_result_without_samples_is_not_a_measurement() -> None:
    assert state(WORLD, result()).measurements() == ()


@pytest.mark.parametrize(
    ("op", "world_size", "ns", "algbw", "busbw"),
    [
        ("all_reduce", 8, (1_000, 3_000), 512e6, 896e6),  # of the mean time, not the mean of the rates
        ("all_reduce", 1, (1_000,), 1024e6, 0.0),
        ("all_gather", 4, (1_000,), 1024e6, 768e6),
        ("broadcast", 4, (1_000,), 1024e6, 1024e6),
        ("ping_pong", 4, (2_000,), 1024e6, 1024e6),  # there and back
    ],
)
def test_bandwidth(op: str, world_size: int, ns: tuple[int, ...], algbw: float, busbw: float) -> None:
    row = measurement(result(op=op), ns, world_size)
    assert (row.algbw_bytes_per_s, row.busbw_bytes_per_s) == pytest.approx((algbw, busbw))


def test_calls_that_take_less_than_the_clock_can_tell() -> None:
    row = measurement(result(), (0, 0, 0), world_size=1)
    assert (row.time_s.mean, row.algbw_bytes_per_s) == pytest.approx((0.0, 1024e9))


def test_a_row_of_a_group_has_its_own_world() -> None:
    run = state(
        Grouped(number=0, name="node 0", ranks=(0,), nodes=("node 0",), limits=(LIMIT,)),
        Grouped(number=0, name="node 0", ranks=(1,), nodes=()),
        Grouped(number=1, name="node 1", ranks=(2, 3), nodes=("node 1",)),
        WORLD,
        Samples(step=1, ns=(1_000_000,)),
        Samples(step=0, ns=(1_000_000,)),
        result(step=1, group=RowGroup(name="node 1", world_size=2)),
        result(step=0, group=RowGroup(name="node 0", world_size=2)),
    )
    assert run.groups == (
        SplitGroup(name="node 0", ranks=(0, 1), nodes=("node 0",)),
        SplitGroup(name="node 1", ranks=(2, 3), nodes=("node 1",)),
    )
    first, second = run.measurements()  # in the order of the steps, whoever was done first
    assert (first.group, first.limit_busbw_bytes_per_s) == (RowGroup(name="node 0", world_size=2), 5e9)
    assert (second.group, second.limit_busbw_bytes_per_s) == (RowGroup(name="node 1", world_size=2), None)
    assert first.busbw_bytes_per_s == first.algbw_bytes_per_s  # times 2 (2 - 1) / 2


LIMIT = Limit(op="all_reduce", busbw_bytes_per_s=5e9)
