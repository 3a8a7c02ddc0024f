"""What is known at each moment, from events alone."""

import msgspec
import pytest

from nccltool.launch import events, run_state
from nccltool.launch.run_state import RunState
from nccltool.probe.events import Samples
from tests.samples import facts, finding, job, measured


def state(*happened: events.Event, ranks: int = 2) -> RunState:
    """After these events, the first at 1 s, the second at 2 s, and so on."""
    run = RunState(job(), ranks, now=0.5)
    for number, event in enumerate(happened, start=1):
        run.apply(event, float(number))
    return run


def spawned(rank: int) -> events.Spawned:
    return events.Spawned(rank=rank, node_rank=rank // 2, host="alpha", pid=100 + rank)


def beat(rank: int, calls: int = 0, phase: str = "timing", step: int = 0, state: str = "S") -> events.Beat:
    return events.Beat(rank=rank, phase=phase, step=step, calls=calls, state=state)


def test_nothing_yet() -> None:
    run = state()
    assert (run.everybody_spawned, run.everybody_left, run.everybody_ended) == (False, False, False)
    assert (run.fault_at, run.faults, measured(run).measurements()) == (None, [], ())


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
        (msgspec.structs.replace(beat(0, calls=2), flowed=True), True),  # a slow path
        (beat(0, calls=3), True),
        (beat(0, calls=2, step=1), True),
        (beat(0, calls=2, phase="checking"), True),
        (beat(1, calls=2), True),
        (events.Log(rank=0, text="still alive"), False),
        (events.Stack(rank=0, text="File x"), False),
        (events.Enter(rank=0, step=1, op="gather", bytes=8), True),
        (Samples(step=0, ns=(1,)), True),
        (events.Bye(rank=0), True),
    ],
)
def test_what_counts_as_progress(event: events.Event, progress: bool) -> None:
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
def test_faults_are_kept_in_their_order(happened: list[events.Event], faults: list[int]) -> None:
    run = state(spawned(0), spawned(1), *happened)
    assert run.faults == faults
    assert run.fault_at == (3.0 if faults else None)


def test_the_end_of_a_supervisor_is_not_that_of_its_rank() -> None:
    run = state(spawned(0), events.Exited(rank=0, code=3), events.Exited(rank=0, code=-15), ranks=1)
    assert (run.ranks[0].exit_code, run.everybody_ended) == (3, True)


@pytest.mark.parametrize(("severity", "fault_at"), [("error", 1.0), ("warning", None), ("info", None)])
def test_a_finding_of_a_worker(severity: str, fault_at: float | None) -> None:
    reported = finding(severity=severity)
    run = state(events.Reported(finding=reported))
    assert (run.findings, run.fault_at) == ([reported], fault_at)


def test_before_the_nodes_have_met_nobody_has_left() -> None:
    run = RunState(job(), 0, now=1.0)
    assert not run.everybody_spawned
    assert not run.everybody_left
