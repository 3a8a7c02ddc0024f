"""A log that is appended to: the last run says what is wrong now."""

from nccltool.triage.incident import RankedCauses
from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder

BANNER = "W1104 02:50:11 {} torch/run.py:793] Setting OMP_NUM_THREADS environment variable for each process"
NO_INTERFACE = "a:71:71 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found"
STEPS = [f"step {step} loss 2.{step}" for step in (10, 20, 30)]
MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
INIT = "a:{0}:{0} [0] NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 busId 1 - Init {1}"
TAKEN = "RuntimeError: The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use)."


def judged(*lines: str) -> RankedCauses:
    reader, builder = LogReader(), TimelineBuilder()
    builder.take(reader.read("a.log", ["\n".join(lines).encode()]))
    return judge(builder.timeline(reader.lines_read))


def test_the_last_run_decides_once_it_got_to_work() -> None:
    answer = judged(BANNER.format(1), NO_INTERFACE, BANNER.format(2), *STEPS, MEMORY)
    assert answer.root_cause == "out-of-memory"
    assert any("earlier run" in why and "no socket interface" in why for why in answer.candidates[0].why)


def test_a_run_that_went_on_after_a_failed_one_is_healthy() -> None:
    assert judged(BANNER.format(1), MEMORY, BANNER.format(2), *STEPS).root_cause == "none"


def test_a_run_that_could_not_start_may_suffer_from_the_one_before() -> None:
    answer = judged(BANNER.format(1), *STEPS, MEMORY, BANNER.format(2), TAKEN)
    assert answer.root_cause == "out-of-memory"


def test_a_run_that_a_scheduler_ended_explains_nothing_of_the_next() -> None:
    cancelled = "slurmstepd: error: *** JOB 41 ON n1 CANCELLED AT 2026-11-01T10:00:00 DUE TO TIME LIMIT ***"
    assert judged(BANNER.format(1), *STEPS, cancelled, BANNER.format(2), MEMORY).root_cause == "out-of-memory"


def test_another_process_of_the_same_rank_is_another_run() -> None:
    begun = [INIT.format(2, "START"), INIT.format(2, "COMPLETE")]
    assert judged(INIT.format(1, "START"), NO_INTERFACE, *begun, MEMORY).root_cause == "out-of-memory"
    again = [INIT.format(1, "START"), INIT.format(1, "COMPLETE")]
    assert judged(INIT.format(1, "START"), NO_INTERFACE, *again, MEMORY).root_cause == "net-interface"


def test_ranks_that_their_launcher_restarts_are_the_same_run() -> None:
    restart = "W1104 api.py:900] [default] Worker group FAILED. 3/3 attempts left; will restart worker group"
    begun = [INIT.format(2, "START"), INIT.format(2, "COMPLETE")]
    xid = "NVRM: Xid (PCI:0000:5d:00): 79, pid=1, name=python, GPU has fallen off the bus."
    assert judged(INIT.format(1, "START"), xid, restart, *begun, NO_INTERFACE).root_cause == "gpu-fault"


def test_commands_that_somebody_tries_are_no_appended_log() -> None:
    tried = ["$ torchrun train.py", NO_INTERFACE, "$ ip addr", "$ torchrun train.py", *STEPS, MEMORY]
    assert judged(*tried).root_cause == "net-interface"
