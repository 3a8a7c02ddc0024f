"""Logs are grouped in steps; folders of logs are in test_jobs."""

import time

from nccltool.triage.job_groups import JobLogs, grouped
from nccltool.triage.job_names import taken_apart
from nccltool.triage.job_traces import JobTraces


def log(name: str, *numbers: str, says: bool = True) -> JobLogs:
    return JobLogs([name], [taken_apart(name)], JobTraces(jobs=set(numbers), says=says))


def test_a_list_of_jobs_links_none() -> None:
    logs = [log("a.log", "1"), log("b.log", "2"), log("sacct.txt", "1", "2")]
    assert [job.files for job in grouped(logs)] == [["a.log"], ["b.log"], ["sacct.txt"]]


def test_what_links_two_groups_makes_them_one() -> None:
    logs = [log("slurm-1.out"), log("a.log", "2"), log("slurm-2.out"), log("slurm-1.err", "2")]
    assert [job.files for job in grouped(logs)] == [["slurm-1.out", "a.log", "slurm-2.out", "slurm-1.err"]]


def test_text_that_says_nothing_is_no_job() -> None:
    logs = [log("README", says=False), log("slurm-1.out"), log("slurm-2.out", says=False)]
    assert [job.files for job in grouped(logs)] == [["slurm-1.out"], ["slurm-2.out"]]
    assert [job.files for job in grouped([log("README", says=False)])] == [["README"]]


def test_thousands_of_logs_take_seconds() -> None:
    begin = time.monotonic()
    assert len(grouped([log(f"rank_{number}.log") for number in range(5_000)])) == 1
    assert len(grouped([log(f"slurm-{number}.out") for number in range(1_000)])) == 1_000
    assert time.monotonic() - begin < 20
