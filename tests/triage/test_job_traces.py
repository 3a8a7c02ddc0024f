"""What the lines of a log tell of its job."""

import pytest

from nccltool.triage.job_traces import JobTraces, traced
from nccltool.triage.logs.reader import LogReader

INIT = "{0}:7:7 [0] NCCL INFO comm 0x1 rank {1} nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId {2} - Init START\n"


def traces(text: str) -> JobTraces:
    of: dict[str, JobTraces] = {}
    events = list(traced(LogReader().read("a.log", [text.encode()]), of))
    assert all(event.file == "a.log" for event in events)
    return of.get("a.log", JobTraces())


@pytest.mark.parametrize(
    ("line", "jobs"),
    [
        ("slurmstepd: error: *** JOB 4711 ON n1 CANCELLED AT 2025-01-01T00:00:00 ***", {"4711"}),
        ("slurmstepd: error: *** STEP 4711.0 ON n1 CANCELLED AT 2025-01-01T00:00:00 ***", {"4711"}),
        ("SLURM_JOB_ID=4711", {"4711"}),
        ("export SLURM_JOBID='4711'", {"4711"}),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0", {"4711"}),
        ("srun: job 4711 queued and waiting for resources", {"4711"}),
        ("Submitted batch job 4711", {"4711"}),
        ("job 4711 is a fine number", set()),
    ],
)
def test_numbers_of_jobs(line: str, jobs: set[str]) -> None:
    assert traces(line + "\n").jobs == jobs


@pytest.mark.parametrize(
    ("line", "launches"),
    [
        ("  run_id           : train-7", {"train-7"}),
        ("  run_id           : none", set()),
        ("torchrun --nnodes 2 --rdzv-id=77 train.py", {"77"}),
        ("wandb: run_id: abc", set()),
    ],
)
def test_ids_of_launches(line: str, launches: set[str]) -> None:
    assert traces(line + "\n").launches == launches


def test_a_communicator_is_complete_with_all_of_its_ranks() -> None:
    half = traces(INIT.format("n1", 0, "0xa"))
    assert half.complete == {}
    half.merge(traces(INIT.format("n2", 1, "0xa")))
    assert half.complete == {"0xa": {"n1", "n2"}}


@pytest.mark.parametrize(("text", "says"), [("SLURM_JOB_ID=4711\n", False), (INIT.format("n1", 0, "0xa"), True)])
def test_a_number_alone_says_nothing_of_a_job(text: str, says: bool) -> None:
    assert traces(text).says is says


def test_times_lack_the_year() -> None:
    text = (
        "[rank0]:[E1121 14:37:26.1 ProcessGroupNCCL.cpp:685] [Rank 0] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=70000) ran for "
        "70012 milliseconds before timing out.\n"
    )
    assert traces(text).times == ("11-21 14:37:26", "11-21 14:37:26")
