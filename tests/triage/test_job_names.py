"""The names of logs, taken apart."""

import pytest

from nccltool.triage.job_names import taken_apart

HOSTS = ("cn-10234", "gpu-a1", "gpu-a2")


@pytest.mark.parametrize(
    ("name", "job"),
    [
        *(("slurm-4711.out", "4711"), ("slurm-4711_3.out", "4711_3"), ("slurm-4711.out.gz", "4711")),
        *(
            ("123456.out", "123456"),
            ("train-123456.err", "123456"),
            ("train.o4711", "4711"),
            ("job_4711.log", "4711"),
        ),
        *(("7.out", ""), ("rank_1000.log", ""), ("nccl.n1.123456.log", ""), ("cn-10234.out", "")),
        *(("train-20240105.log", ""), ("worker-10234.out", ""), ("node-0001.out", ""), ("-", "")),
    ],
)
def test_the_number_of_a_job(name: str, job: str) -> None:
    assert taken_apart(name, HOSTS).job == job


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("rank_3.log", "rank_11.log", True),
        ("0.log", "1.log", True),
        ("node01/stdout.log", "node02/stderr.log", True),
        ("attempt_0/3/stderr.log", "attempt_0/4/stdout.log", True),
        ("train-gpu-a1.log", "train-gpu-a2.log", True),
        ("nccl/rank0.log", "torch/rank0.log", True),
        ("train-job-0-abcde.log", "train-job-1-abcde.log", True),
        ("app.log", "app.log.1", True),
        ("out.log", "out.log.gz", True),
        ("expA/rank0.log", "expB/rank0.log", False),
        ("llama.log", "mixtral.log", False),
        ("run1.log", "run2.log", False),
    ],
)
def test_names_that_differ_only_in_parts_are_a_family(one: str, other: str, alike: bool) -> None:
    assert (taken_apart(one, HOSTS).family == taken_apart(other, HOSTS).family) is alike
