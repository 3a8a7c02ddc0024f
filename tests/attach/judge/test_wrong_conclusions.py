"""Thirteen conclusions that are easy to draw from a look, and wrong."""

from dataclasses import replace

from nccltool.attach.judge.judge import judge
from nccltool.attach.ras import json_document, text_document
from nccltool.attach.ras.client import RasAnswer
from nccltool.attach.ras.document import RasDocument
from nccltool.attach.seen.job import JobLook, Unread
from nccltool.attach.seen.sources import GroupStatus, RecorderSeen
from nccltool.triage.flight_recorder.dumps import RecordedCall, RecorderDump
from tests.attach.judge.looks import COMPUTES, OWN_FILE, SLEEPS, R, look
from tests.attach.ras.states import Communicator, Rank, State, json_of, text_of

GPU_WAIT = (("cudaStreamSynchronize", "libtorch_cuda.so", 0), ("step", OWN_FILE, 9), ("<module>", OWN_FILE, 20))
NCCL = ("python", "pt_nccl_watchdg")
ON_GPU = R(frames=GPU_WAIT, threads=NCCL)
MOVES = R(switches=3000, idle_s=0.01)


def _document(*ranks: Rank) -> RasDocument:
    return json_document.parse(json_of(State(name="x", communicators=(Communicator(ranks=ranks),)), "2.30.7"))


def _ras(*documents: RasDocument) -> tuple[RasAnswer, ...]:
    return tuple(RasAnswer(address="a", document=one) for one in documents)


def _calls(number: int, op: str = "all_reduce", at: str = "") -> dict[int, RecordedCall]:
    call = RecordedCall(op=op, sizes="[[4]]", dtypes="f", compared=(op,), finished=False, at=at)
    return dict.fromkeys(range(1, number + 1), call)


def _recorder(rank: int, number: int, completed: int, **more: str) -> RecorderSeen:
    return RecorderSeen(
        rank=rank,
        source="file",
        written_at_s=1e9,
        groups=(GroupStatus(group="0", last_enqueued=number, last_completed=completed, members=(0, 1, 2)),),
        dump=RecorderDump(file="f", rank=rank, groups={"0": _calls(number)}),
        **more,
    )


def test_1_ras_says_ok() -> None:
    """Equal counts say that all ranks have launched the operation, not that it ends."""
    equal = _document(Rank(rank=0), Rank(rank=1))
    verdict = judge(look(ON_GPU, ON_GPU, ras=_ras(equal, equal)))
    assert verdict.state == "hung"
    assert any(note.startswith("RAS: equal counts") for note in verdict.notes)


def test_1_ras_says_mismatch() -> None:
    """That is normal while a job runs."""
    first = _document(Rank(rank=0, counts={"AllReduce": 8}), Rank(rank=1, counts={"AllReduce": 7}))
    second = _document(Rank(rank=0, counts={"AllReduce": 10}), Rank(rank=1, counts={"AllReduce": 9}))
    verdict = judge(look(MOVES, MOVES, ras=_ras(first, second)))
    assert (verdict.state, verdict.culprits) == ("healthy", ())


def test_2_the_rank_that_ras_names_may_be_the_one_ahead() -> None:
    """Its number is also another: that of the communicator."""
    ranks = tuple(Rank(rank=n, counts={"AllReduce": 1201 if n == 0 else 1200}) for n in range(8))
    state = State(name="x", communicators=(Communicator(ranks=ranks),))
    text = text_document.parse(text_of(state, "2.27.7"))
    assert [member.rank for part in text.communicators[0].counts for member in part.members] == [0]
    verdict = judge(look(*(ON_GPU,) * 8, ras=_ras(text, text)))
    assert all(one.rank is None for one in verdict.culprits)


def test_3_a_rank_that_left_a_communicator_is_not_dead() -> None:
    one = _document(Rank(rank=0), Rank(rank=1), Rank(rank=2, gone="left"))
    verdict = judge(look(MOVES, MOVES, MOVES, ras=_ras(one, one)))
    assert (verdict.state, verdict.culprits) == ("healthy", ())


def test_3_nothing_answers_at_the_port_of_ras() -> None:
    silent = (RasAnswer(address="localhost:28028", reason="Connection refused"),)
    verdict = judge(look(MOVES, MOVES, ras=silent))
    assert (verdict.state, verdict.culprits) == ("healthy", ())


def test_4_a_busy_rank_may_hang_and_an_idle_one_is_alive() -> None:
    """100 % CPU in a GPU wait is spinning; 0 % is every waiting rank."""
    spins = replace(ON_GPU, cpu=1.0, state="R")
    assert judge(look(spins, spins)).state != "healthy"
    idle = judge(look(R(), R(), R(stack=SLEEPS)))
    assert [one.rank for one in idle.culprits] == [2]


def test_5_state_s_may_be_frozen_and_state_d_may_be_the_freezer() -> None:
    for state in ("S", "D"):
        verdict = judge(look(R(), R(stack=("loader", "1"), state=state, frozen=True)))
        assert [one.cause for one in verdict.culprits] == ["frozen"]


def test_6_the_line_of_the_stack_is_not_the_operation_that_hangs() -> None:
    verdict = judge(look(ON_GPU, ON_GPU))
    assert "with NCCL, a stack shows where the CPU waits, not which operation hangs" in verdict.notes
    assert not any(one.level == "high" for one in verdict.culprits)


def test_7_scheduled_is_always_so_on_gloo() -> None:
    """The status of the group counts: rank 1 has not called number 7, ranks 0 and 2 have."""
    recorders = (_recorder(0, 7, 6), _recorder(1, 6, 6), _recorder(2, 7, 6))
    verdict = judge(look(R(), R(stack=SLEEPS), R(), recorders=recorders))
    assert [(wait.rank, wait.number, wait.for_ranks) for wait in verdict.waits] == [(0, 7, (1,)), (2, 7, (1,))]
    assert [one.rank for one in verdict.culprits] == [1]


def test_7_no_entry_is_not_no_call() -> None:
    """The buffer may be empty, or the recorder that of another group: nobody is accused for it."""
    empty = RecorderSeen(rank=1, source="file", written_at_s=1e9, dump=RecorderDump(file="f", rank=1, groups={}))
    verdict = judge(look(MOVES, MOVES, recorders=(_recorder(0, 7, 6), empty)))
    assert verdict.culprits == ()


def test_8_the_rank_that_is_different_may_wait_itself() -> None:
    """Rank 0 waits in a barrier for rank 2, and so do the others in another operation: rank 2 is the cause."""
    verdict = judge(look(R(stack=("barrier", "0")), R(), R(stack=SLEEPS), R()))
    assert [one.rank for one in verdict.culprits] == [2]


def test_8_a_moment_of_extra_work_is_no_hang() -> None:
    short = R(idle_s=3)
    verdict = judge(look(R(stack=COMPUTES, state="R", cpu=1.0), short, short, short))
    assert (verdict.state, verdict.culprits) == ("healthy", ())


def test_9_what_was_not_read_is_not_absent() -> None:
    verdict = judge(look(ON_GPU, ON_GPU, unread=(Unread(what="kernel log", reason="Permission denied"),)))
    assert "an answer of NCCL's RAS" in verdict.lacking
    assert not any("Xid" in note for note in verdict.notes)


def test_10_a_stop_by_the_tool_is_not_the_job_s() -> None:
    """A rank that was traced for a moment, and runs in the last sample, is not held."""
    verdict = judge(look(MOVES, replace(MOVES, tracer=0)))
    assert verdict.state == "healthy"


def test_11_a_rank_without_a_number_counts() -> None:
    seen = look(R(), R(stack=SLEEPS))
    host = seen.hosts[0]
    found = tuple(replace(one, rank=None, world_size=None, known_by="libraries") for one in host.ranks)
    verdict = judge(JobLook(hosts=(replace(host, ranks=found),)))
    assert (verdict.state, verdict.culprits[0].message) == ("hung", "pid 1001 on n1 is busy elsewhere")


def test_12_an_old_recorder_says_nothing_about_now() -> None:
    old = tuple(_recorder(n, 7 - n, 6, stale="older than the process") for n in range(3))
    verdict = judge(look(MOVES, MOVES, MOVES, recorders=old))
    assert (verdict.state, verdict.culprits, verdict.waits) == ("healthy", (), ())


def test_13_no_environment_is_in_the_verdict() -> None:
    seen = look(R(), R(stack=SLEEPS))
    host = seen.hosts[0]
    found = tuple(replace(one, settings=(("WANDB_API_KEY", "secret-1"),)) for one in host.ranks)
    assert "secret-1" not in repr(judge(JobLook(hosts=(replace(host, ranks=found),))))
