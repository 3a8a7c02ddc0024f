"""What the end of one rank says, and who is named of several; whole endings are in test_endings.py."""

import pytest

from nccltool.launch import blame, culprits, events
from nccltool.launch.allowances import UNHEARD_S
from nccltool.launch.culprits import Role
from nccltool.launch.events import Event
from nccltool.launch.run_state import RunState
from tests.launch.test_blame import TIMING, after, beats, died, echo, log, raised, told_to_end

WATCHDOG = "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE)"
ECC = "CUDA error: uncorrectable ECC error encountered"
ILLEGAL = "CUDA error: an illegal memory access was encountered"
BUS = "DistNetworkError: the bus of the run: Connection closed by the bus of the run"
LOST = "NCCL error: remote process exited or there was a network error"


@pytest.mark.parametrize(
    ("run", "role"),
    [
        (after(TIMING, died(1, -9)), Role.OWN),
        (after(TIMING, died(1, 3)), Role.OWN),
        (after(TIMING, died(1, -15)), Role.TERMINATED),
        (after(TIMING, log(1, WATCHDOG), died(1, -6)), Role.WAITED),
        (after(TIMING, told_to_end(1)), Role.TOLD),
        (after(TIMING, log(1, WATCHDOG), told_to_end(1)), Role.TOLD),
        (after(TIMING, log(1, LOST), died(1, -11)), Role.LOST),
        (after(TIMING, log(1, "double free or corruption"), died(1, -6)), Role.OWN),
        (after(TIMING, died(1, -6)), Role.PERHAPS_OWN),
        (after(TIMING, echo(1)), Role.LOST),
        (after(TIMING, raised(1, f"RuntimeError: {LOST}")), Role.LOST),
        (after(TIMING, raised(1, "ValueError: bad shape")), Role.OWN),
        (after(TIMING, raised(1, BUS)), Role.LOST),
        (after(TIMING, raised(1, "EOFError: the runner is gone")), Role.LOST),
        (after(TIMING, raised(1, ILLEGAL, in_collective=True)), Role.OWN),
        (after(TIMING, log(1, LOST), raised(1, ILLEGAL, in_collective=True)), Role.PERHAPS_OWN),
        (after(TIMING, log(1, LOST), raised(1, ECC, in_collective=True)), Role.OWN),
        (after(TIMING, log(1, ILLEGAL), raised(1, LOST, in_collective=True)), Role.OWN),
    ],
)
def test_what_an_end_says(run: RunState, role: Role) -> None:
    assert culprits.end_of(run.ranks[1]).role is role


def test_a_rank_that_got_on_has_got_over_what_it_said() -> None:
    run = after(TIMING, log(1, LOST))
    run.apply(events.Beat(rank=1, phase="timing", step=0, calls=9, state="R"), 100.0)
    run.apply(events.Exited(rank=1, code=-9), 200.0)
    assert culprits.own(run) == [run.ranks[1]]


def test_clocks_of_several_commands_prove_nothing() -> None:
    """A host that is 15 s behind is not silent, and what failed first cannot be told."""
    run = after(TIMING)
    run.one_clock = False
    for rank in (0, 1):
        run.apply(events.Log(rank=rank, text=WATCHDOG), 70.0)
        run.apply(events.Exited(rank=rank, code=-6), 70.0)
    run.apply(events.Exited(rank=2, code=-6), 55.0)
    assert culprits.absent(run) is None
    assert culprits.perhaps_own(run) == []


def test_where_most_are_outside_nobody_is_late() -> None:
    run = after(TIMING, beats((1, 2, 3), calls=8))
    for event in (*beats((0,)), *beats((1, 2, 3), calls=8)):
        run.apply(event, 69.0)
    run.apply(events.Log(rank=0, text=WATCHDOG), 70.0)
    run.apply(events.Exited(rank=0, code=-6), 70.0)
    assert culprits.absent(run) is None


def test_a_rank_that_has_just_moved_is_not_late() -> None:
    run = after(TIMING)
    for event in (*beats((0, 2, 3)), *beats((1,), calls=8)):
        run.apply(event, 69.0)
    run.apply(events.Log(rank=0, text=WATCHDOG), 70.0)
    run.apply(events.Exited(rank=0, code=-6), 70.0)
    assert culprits.absent(run) is None


def test_to_be_outside_means_nothing_when_connections_break() -> None:
    """Those that are at work have not noticed yet."""
    run = after(TIMING, beats((1,), calls=8))
    for event in (*beats((0, 2, 3)), *beats((1,), calls=8)):
        run.apply(event, 69.0)
    for event in echo(0):
        run.apply(event, 70.0)
    assert culprits.absent(run) is None


@pytest.mark.parametrize(
    ("happened", "all_was_told", "untold"),
    [
        ([echo(0), echo(1), echo(3)], True, [2]),
        ([echo(0), echo(1), echo(3)], False, []),
        ([echo(0), echo(1), died(2, -6), echo(3)], True, []),
        ([echo(0)], True, []),  # three of four: something else became of them
    ],
)
def test_a_rank_whose_end_nobody_told(happened: list[list[Event]], all_was_told: bool, untold: list[int]) -> None:
    run = after(TIMING, *happened)
    run.all_was_told = all_was_told
    assert [state.rank for state in culprits.untold(run)] == untold
    found = blame.after_fault(run)
    assert found is not None
    assert found.subject.name == ("2" if untold or len(happened) == 4 else "all ranks")


@pytest.mark.parametrize(
    ("spoke", "listened_until", "culprit"),
    [
        ((), 50.0, "2"),
        ((), 12.0, "all ranks"),  # living ranks' supervisors may be silent for so long
        ((2,), 50.0, "all ranks"),
    ],
)
def test_connections_break_and_a_rank_is_not_heard_any_more(
    spoke: tuple[int, ...], listened_until: float, culprit: str
) -> None:
    run = after(TIMING, echo(0), echo(1), beats((3,)), beats(spoke))
    run.listened_until = listened_until
    assert culprits.echoes_s(run) == (culprits.ECHOES_S if spoke else UNHEARD_S)
    found = blame.after_fault(run)
    assert found is not None
    assert found.subject.name == culprit


def test_connections_break_and_most_ranks_are_not_heard_any_more() -> None:
    """This end may be cut off: none of them is named, but nobody says that no rank died."""
    run = after(TIMING, echo(0))
    run.listened_until = 50.0
    found = blame.after_fault(run)
    assert found is not None
    assert found.subject.name == "all ranks"
    assert "alpha, beta sent nothing after that: down, or cut off from the network" in found.evidence
    assert not found.remedy.startswith("no rank died")
