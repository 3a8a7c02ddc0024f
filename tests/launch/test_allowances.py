"""How long nothing may move, from what ranks say of where they are."""

import pytest

from nccltool.launch import allowances, events
from nccltool.launch.run_state import RunState
from tests.samples import job

TIMEOUT_S = 30.0


def run_of(*beats: events.Beat) -> RunState:
    """A run whose ranks said this one second after the other."""
    run = RunState(job(timeout_s=TIMEOUT_S), len(beats), now=0.0)
    for number, beat in enumerate(beats):
        run.apply(events.Spawned(rank=beat.rank, node_rank=0, host="alpha", pid=100 + beat.rank), float(number))
        run.apply(beat, float(number))
    return run


def beat(rank: int, allowance_s: float, *, inside: bool = True, state: str = "S") -> events.Beat:
    return events.Beat(rank=rank, phase="timing", step=0, calls=int(inside), state=state, allowance_s=allowance_s)


@pytest.mark.parametrize(
    ("beats", "extra_s"),
    [
        ((), 0.0),
        ((beat(0, 0.0), beat(1, 0.0)), 0.0),
        ((beat(0, 146.0), beat(1, 146.0)), 146.0),  # all are inside a call that takes long
        ((beat(0, 146.0), beat(1, 9.0)), 146.0),  # they differ in what they know
        ((beat(0, 146.0), beat(1, 0.0, inside=False)), 0.0),  # one does not come: the others wait for it
        ((beat(0, 0.0), beat(1, 24.0, inside=False)), 24.0),  # its driver starts
        ((beat(0, 24.0, inside=False), beat(1, 24.0, inside=False)), 24.0),
        ((beat(0, 146.0), beat(1, 146.0, state="T")), 0.0),  # one is stopped in the middle of a call
    ],
)
def test_who_is_waited_for_says_how_long(beats: tuple[events.Beat, ...], extra_s: float) -> None:
    assert allowances.of_run(run_of(*beats)) == extra_s


def test_a_rank_that_has_ended_is_not_waited_for() -> None:
    run = run_of(beat(0, 5.0), beat(1, 146.0))
    run.apply(events.Bye(rank=1), 3.0)
    assert allowances.of_run(run) == 5.0


def test_a_host_of_which_nothing_is_heard_has_no_allowance() -> None:
    run = run_of(beat(0, 146.0), beat(1, 146.0))
    run.apply(beat(0, 146.0), 15.0)
    assert allowances.of_run(run) == 146.0
    run.apply(beat(0, 146.0), 17.0)  # more than half of --timeout after the last word of rank 1
    assert allowances.of_run(run) == 0.0


@pytest.mark.parametrize(
    ("backend", "ranks", "contact_s", "call_s"),
    [
        ("gloo", 2, 3.0, 0.0),
        ("gloo", 512, 29.2, 0.0),
        ("nccl", 1, 123.5, 0.5),
        ("nccl", 8, 127.0, 4.0),
        ("nccl", 512, 379.0, 256.0),
        ("nccl", 2048, 1147.0, 1024.0),  # 1,047 s were seen
    ],
)
def test_the_first_contact(backend: str, ranks: int, contact_s: float, call_s: float) -> None:
    assert allowances.of_first_contact(backend, ranks) == pytest.approx(contact_s, rel=0.01)
    assert allowances.of_first_call(backend, ranks) == call_s


@pytest.mark.parametrize(("join_timeout_s", "extra_s"), [(120.0, [90.0, 90.0, 112.0]), (10.0, [0.0, 7.0, 112.0])])
def test_a_driver_may_take_the_time_for_joining_or_start_its_gpus_one_after_another(
    join_timeout_s: float, extra_s: list[float]
) -> None:
    wanted = job(timeout_s=TIMEOUT_S, join_timeout_s=join_timeout_s)
    assert [allowances.of_driver(wanted, gpus) for gpus in (0, 1, 16)] == extra_s


def test_libraries_give_up_after_the_run_has_ended() -> None:
    assert allowances.of_libraries(job().deadline_s) > job().deadline_s
