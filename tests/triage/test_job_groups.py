"""Logs are grouped in steps; folders of logs are in test_jobs."""

from collections import Counter
from collections.abc import Callable

import pytest

from nccltool.triage import job_groups
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


def comparisons(monkeypatch: pytest.MonkeyPatch, logs: list[JobLogs], jobs: int) -> int:
    """How many pairs are compared to group logs."""
    calls: Counter[str] = Counter()
    compare = job_groups.apart

    def counted(one: JobLogs, other: JobLogs, *, alike: bool = False) -> bool:
        calls["apart"] += 1
        return compare(one, other, alike=alike)

    monkeypatch.setattr(job_groups, "apart", counted)
    assert len(grouped(logs)) == jobs
    return calls["apart"]


@pytest.mark.parametrize(
    ("name", "jobs_of", "most"),
    [
        ("rank_{}.log", lambda logs: 1, 2),
        ("slurm-{}.out", lambda logs: logs, 2 * job_groups._MOST_COMPARED),
    ],
)
def test_each_of_thousands_of_logs_is_compared_with_few(
    name: str, jobs_of: Callable[[int], int], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = 2_000
    pairs = comparisons(monkeypatch, [log(name.format(number)) for number in range(logs)], jobs_of(logs))
    assert pairs <= most * logs


@pytest.mark.parametrize(
    ("is_over", "begins", "jobs"), [(True, True, 2), (True, False, 1), (False, True, 1), (False, False, 1)]
)
def test_daily_logs_are_of_two_jobs_if_one_is_over_and_the_other_begins(
    is_over: bool, begins: bool, jobs: int
) -> None:
    first, second = log("train-20260101.log"), log("train-20260102.log")
    first.traces.times, second.traces.times = (
        ("01-01 10:00:00", "01-01 11:00:00"),
        ("01-02 00:30:00", "01-02 01:00:00"),
    )
    first.traces.is_over, second.traces.begins = is_over, begins
    assert len(grouped([first, second])) == jobs
