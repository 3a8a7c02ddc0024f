"""What is known at each moment, from events alone."""

import pytest

from nccltool.core.statistics import Stats
from nccltool.launch import events, run_state
from nccltool.launch.run_state import RunState
from nccltool.probe.result import Measurement
from tests.samples import facts, finding, job


def state(*happened: events.AnyEvent, ranks: int = 2) -> RunState:
    """After these events, the first at 1 s, the second at 2 s, and so on."""
    run = RunState(job(), ranks, now=0.5)
    for number, event in enumerate(happened, start=1):
        run.apply(event, float(number))
    return run


def spawned(rank: int) -> events.Spawned:
    return events.Spawned(rank=rank, node_rank=rank // 2, host="alpha", pid=100 + rank)


def beat(rank: int, calls: int = 0, phase: str = "timing", step: int = 0, state: str = "S") -> events.Beat:
    return events.Beat(rank=rank, phase=phase, step=step, calls=calls, state=state)


def result(**changes: object) -> events.Result:
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
    return events.Result(**{**fields, **changes})  # type: ignore[arg-type]


WORLD = events.World(
    world_size=4, emulated=True, backend="gloo", backend_version="2.13.0", backend_reason="no GPU", steps=9
)


def test_nothing_yet() -> None:
    run = state()
    assert (run.everybody_spawned, run.everybody_left, run.everybody_ended) == (False, False, False)
    assert (run.fault_at, run.faults, run.measurements()) == (None, [], ())


def test_a_rank_is_what_was_last_heard_of_it() -> None:
    run = state(
        spawned(1),
        events.Hello(facts=facts(1, host="beta", node_rank=1)),
        events.Enter(rank=1, step=0, op="all_reduce", bytes=8),
        events.Enter(rank=1, step=1, op="gather", bytes=8),
        beat(1, calls=3),
        events.Stack(rank=1, text="File x"),
        events.Log(rank=1, text="a line"),
    )
    rank = run.ranks[1]
    assert (rank.host, rank.node_rank, rank.pid) == ("beta", 1, 101)
    assert rank.entered == events.Enter(rank=1, step=1, op="gather", bytes=8)
    assert (rank.inside_call, rank.stack, list(rank.log)) == (True, "File x", ["a line"])
    assert rank.heard_at == 7.0


def test_only_the_end_of_a_log_is_kept() -> None:
    run = state(*(events.Log(rank=0, text=f"line {number}") for number in range(100)))
    assert list(run.ranks[0].log) == [f"line {number}" for number in range(100 - run_state.LOG_TAIL, 100)]


@pytest.mark.parametrize(
    ("event", "progress"),
    [
        (beat(0, calls=2), False),
        (beat(0, calls=2, state="T"), False),
        (beat(0, calls=3), True),
        (beat(0, calls=2, step=1), True),
        (beat(0, calls=2, phase="checking"), True),
        (beat(1, calls=2), True),
        (events.Log(rank=0, text="still alive"), False),
        (events.Stack(rank=0, text="File x"), False),
        (events.Enter(rank=0, step=1, op="gather", bytes=8), True),
        (events.Samples(step=0, ns=(1,)), True),
        (events.Bye(rank=0), True),
    ],
)
def test_what_counts_as_progress(event: events.AnyEvent, progress: bool) -> None:
    run = state(beat(0, calls=2), event)
    assert run.progress_at == (2.0 if progress else 1.0)


def test_everybody_came_and_left() -> None:
    run = state(spawned(0), spawned(1))
    assert (run.everybody_spawned, run.everybody_left) == (True, False)
    run.apply(events.Bye(rank=0), 3.0)
    assert not run.everybody_left
    run.apply(events.Bye(rank=1), 4.0)
    assert (run.everybody_left, run.everybody_ended, run.fault_at) == (True, False, None)
    for rank in (0, 1):
        run.apply(events.Exited(rank=rank, code=0), 5.0)
    assert (run.everybody_ended, run.fault_at, run.faults) == (True, None, [])


@pytest.mark.parametrize(
    ("happened", "faults"),
    [
        ([events.Exited(rank=1, code=-9)], [1]),
        ([events.Exited(rank=1, code=0)], [1]),  # without a bye
        ([events.Bye(rank=1), events.Exited(rank=1, code=0)], []),
        ([events.Bye(rank=1), events.Exited(rank=1, code=-6)], []),  # a library crashed after all was done
        ([events.Failed(rank=1, in_collective=False, text="no"), events.Exited(rank=1, code=1)], [1]),
        (
            [
                events.Exited(rank=1, code=-9),
                events.Failed(rank=0, in_collective=True, text="closed"),
                events.Exited(rank=0, code=1),
            ],
            [1, 0],
        ),
    ],
)
def test_faults_are_kept_in_their_order(happened: list[events.AnyEvent], faults: list[int]) -> None:
    run = state(spawned(0), spawned(1), *happened)
    assert run.faults == faults
    assert run.fault_at == (3.0 if faults else None)


@pytest.mark.parametrize(("severity", "fault_at"), [("error", 1.0), ("warning", None), ("info", None)])
def test_a_finding_of_a_worker(severity: str, fault_at: float | None) -> None:
    reported = finding(severity=severity)
    run = state(events.Reported(finding=reported))
    assert (run.findings, run.fault_at) == ([reported], fault_at)


def test_samples_belong_to_their_step() -> None:
    run = state(
        WORLD,
        events.Samples(step=0, ns=(1_000_000, 2_000_000)),
        events.Samples(step=1, ns=(5,)),
        events.Samples(step=0, ns=(3_000_000,)),
        result(noisy=True, late_rank=2, late_s=0.004),
    )
    assert run.result_seen(0)
    assert not run.result_seen(1)
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
    row = run_state.measurement(result(op=op), ns, world_size)
    assert (row.algbw_bytes_per_s, row.busbw_bytes_per_s) == pytest.approx((algbw, busbw))
