"""Folders of logs: which jobs are found in them, and what each is told."""

import gzip
import json
from pathlib import Path

import pytest

from nccltool.core.look import Look
from nccltool.launch import finding_kinds as kinds
from nccltool.triage import jobs, table
from nccltool.triage.table import TriageView
from tests.conftest import Nccltool
from tests.incidents import LOGS
from tests.support import junit
from tests.triage.test_own_run import NOBODY, run_in

STEPS = "step 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\n"
OOM = "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 2 has 79.10 GiB\n"
BENCH = (
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 181.2\n"
)
NINE = list(LOGS)[:9]


def init(host: str, ranks: range, size: int, name: str) -> str:
    """What NCCL says of the ranks of a host in one communicator."""
    line = (
        "{0}:{2}:{2} [{3}] NCCL INFO ncclCommInitRank comm 0x{2} rank {1} nranks {4} cudaDev {3} nvmlDev {3} "
        "busId {3}000 commId {5} - Init "
    )
    texts = [line.format(host, rank, 4000 + rank, rank % 8, size, name) for rank in ranks]
    return "".join(f"{text}{state}\n" for text in texts for state in ("START", "COMPLETE"))


def of_hosts(*hosts: str, name: str, size: int = 8) -> dict[str, str]:
    return {
        f"{host}.log": init(host, range(4 * place, 4 * place + 4), size, name) + STEPS
        for place, host in enumerate(hosts)
    }


RANKS = {f"rank_{rank}.log": STEPS + (OOM if rank == 2 else "") for rank in range(4)}
SLURM = {f"slurm-{4711 + place}.out": LOGS[name] for place, name in enumerate(NINE)}
TP = {f"gpu-a{host}.log": init(f"gpu-a{host}", range(4), 4, f"0xa{host}") + STEPS for host in (1, 2)}
SUMMER, WINTER = "2025-07-01 10:00:00 ", "2025-12-01 10:00:00 "
FOLDERS = {
    "nine numbers": (SLURM, [[name] for name in SLURM]),
    "array tasks": ({"slurm-7_1.out": STEPS, "slurm-7_2.out": STEPS}, [["slurm-7_1.out"], ["slurm-7_2.out"]]),
    "two streams of a job": ({"slurm-7.out": STEPS, "slurm-7.err": OOM}, [["slurm-7.err", "slurm-7.out"]]),
    "numbers in the text": (
        {
            "a.log": f"SLURM_JOB_ID=4711\n{STEPS}",
            "b.log": f"SLURM_JOB_ID=4712\n{STEPS}",
            "c.log": f"SLURM_JOB_ID=4711\n{OOM}",
        },
        [["a.log", "c.log"], ["b.log"]],
    ),
    "ids of torchrun": (
        {"a.log": f"  run_id           : one\n{STEPS}", "b.log": f"  run_id           : two\n{OOM}"},
        [["a.log"], ["b.log"]],
    ),
    "four ranks": (RANKS, [list(RANKS)]),
    "two hosts of a communicator": (of_hosts("alpha", "beta", name="0xd"), [["alpha.log", "beta.log"]]),
    "two hosts, a communicator each": (TP, [["gpu-a1.log", "gpu-a2.log"]]),
    "two jobs on a host": (
        {name: init("n1", range(4), 4, f"0x{name}") + STEPS for name in ("aa", "bb")},
        [["aa"], ["bb"]],
    ),
    "several hosts each": (
        {
            "a.log": init("n5", range(2, 3), 4, "0xc"),
            "b.log": init("n1", range(1), 4, "0xa") + init("n2", range(1, 2), 4, "0xa") + OOM,
            "c.log": init("n3", range(1), 4, "0xb") + init("n4", range(1, 2), 4, "0xb"),
            "d.log": init("n3.example", range(3, 4), 4, "0xe") + init("n7", range(1), 4, "0xf"),
        },
        [["a.log"], ["b.log"], ["c.log", "d.log"]],
    ),
    "a host each": (
        {"a.log": init("n1", range(1), 4, "0xa") + OOM, "b.log": init("n2", range(1), 4, "0xb")},
        [["a.log", "b.log"]],
    ),
    "two tests": ({"all_reduce.log": BENCH, "all_gather.log": BENCH}, [["all_gather.log"], ["all_reduce.log"]]),
    "two tests of hosts": ({"n1.log": BENCH, "n2.log": BENCH}, [["n1.log"], ["n2.log"]]),
    "ranks in two folders": (
        {f"{job}/{name}": text for job in ("expA", "expB") for name, text in RANKS.items()},
        [[f"expA/{name}" for name in RANKS], [f"expB/{name}" for name in RANKS]],
    ),
    "streams in two folders": (
        {f"{stream}/{name}": text for stream in ("stderr", "stdout") for name, text in RANKS.items()},
        [[f"{stream}/{name}" for stream in ("stderr", "stdout") for name in RANKS]],
    ),
    "half a year between": (
        {"a.log": SUMMER + OOM, "b.log": WINTER + OOM, "c.log": SUMMER + OOM},
        [["a.log", "c.log"], ["b.log"]],
    ),
    "two time zones": (
        {"a.log": "2025-07-01 10:00:00 " + OOM, "b.log": "2025-07-02 00:30:00 " + OOM},
        [["a.log", "b.log"]],
    ),
    "new year": (
        {"a.log": "2024-12-31 23:59:00 " + OOM, "b.log": "2025-01-01 00:30:00 " + OOM},
        [["a.log", "b.log"]],
    ),
    "nothing tells": (
        {"train.log": STEPS, "dmesg.txt": "oom-kill\n", "notes.txt": "hello\n"},
        [["dmesg.txt", "notes.txt", "train.log"]],
    ),
    "mixed": (
        {
            **{name: SLURM[name] for name in list(SLURM)[:2]},
            **{name: init("n9", range(rank, rank + 1), 4, "0xf") + RANKS[name] for rank, name in enumerate(RANKS)},
            **of_hosts("alpha", "beta", name="0xd"),
            "README.txt": "the logs\n",
        },
        [["alpha.log", "beta.log"], list(RANKS), ["slurm-4711.out"], ["slurm-4712.out"]],
    ),
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def found(folder: Path) -> list[list[str]]:
    report = jobs.report([str(folder)], ("nccltool", "triage"))
    return sorted(sorted(str(Path(name).relative_to(folder)) for name in job.files) for job in report.jobs)


@pytest.mark.parametrize("name", FOLDERS)
def test_the_jobs_of_a_folder(name: str, tmp_path: Path) -> None:
    files, expected = FOLDERS[name]
    assert found(written(tmp_path, files)) == sorted(sorted(job) for job in expected)


def test_each_job_has_its_own_verdict_the_worst_first(tmp_path: Path, nccltool: Nccltool) -> None:
    files = {**SLURM, "slurm-4700.out": STEPS + "training completed\n", "slurm-4701.out": ""}
    written(tmp_path, files)
    said = nccltool("triage", str(tmp_path), "--format", "json")
    document = json.loads(said.out)
    assert (said.code, document["exit_code"], document["status"]) == (1, 1, "fail")
    told = {job["name"]: job["root_cause"] for job in document["jobs"] if job["status"] == "fail"}
    for name, text in SLURM.items():
        alone = tmp_path / "alone.log"
        alone.write_text(text)
        cause = json.loads(nccltool("triage", str(alone), "--format", "json").out)["root_cause"]
        assert told[f"job {name[6:10]}"] == cause
    assert [job["exit_code"] for job in document["jobs"]] == [1] * 9 + [4, 0]
    assert [job["name"] for job in document["jobs"]][-2:] == ["job 4701", "job 4700"]
    assert document["root_cause"] == document["jobs"][0]["root_cause"]
    assert len(document["findings"]) == 9
    assert document["lines_read"] == sum(job["lines_read"] for job in document["jobs"])


def test_people_see_the_count_and_each_job(tmp_path: Path, nccltool: Nccltool) -> None:
    written(tmp_path, {"slurm-1.out": STEPS + "training completed\n", "slurm-2.out": STEPS + OOM})
    lines = nccltool("triage", str(tmp_path)).out.splitlines()
    assert lines[0] == "FAIL triage: 2 jobs: 1 failed, 1 without a failure; 8 lines read"
    assert lines[2].startswith("FAIL job 2: out-of-memory (confidence ")
    assert "PASS job 1: no failure found, 4 lines read" in lines


def test_junit_has_a_suite_a_job(tmp_path: Path, nccltool: Nccltool) -> None:
    written(tmp_path, {"slurm-1.out": STEPS + "training completed\n", "slurm-2.out": STEPS + OOM})
    text = nccltool("triage", str(tmp_path), "--format", "junit").out
    junit.valid(text)
    assert text.count("<testsuite ") == 2


def test_the_overview_is_of_each_job(tmp_path: Path) -> None:
    written(tmp_path, {f"slurm-{job}.out": init(f"n{job}", range(2), 2, f"0x{job}") for job in (1, 2)})
    report = jobs.report([str(tmp_path)], ())
    shown = table.shown(report, TriageView(form="table", summary=True, output=None, look=Look()))
    assert shown.index("job 1\n") < shown.index("n1") < shown.index("job 2\n") < shown.index("n2")


def test_a_job_whose_log_was_cut_to_nothing_is_not_lost(tmp_path: Path) -> None:
    written(tmp_path, {"a.log": BENCH, "b.log": BENCH})
    (tmp_path / "c.log.gz").write_bytes(gzip.compress(BENCH.encode())[:4])
    report = jobs.report([str(tmp_path)], ())
    assert [job.incident.verdict.exit_code for job in report.jobs] == [4, 0, 0]


def test_saved_runs_are_jobs(tmp_path: Path) -> None:
    for name, finding in (("20250101T000000Z-a", kinds.RANK_DIED), ("20250102T000000Z-b", kinds.RANK_HUNG)):
        run_in(tmp_path / name, STEPS, finding.finding(subject=NOBODY, message=f"of {name}"))
    report = jobs.report([str(tmp_path)], ())
    assert [job.name for job in report.jobs] == [
        f"run {tmp_path}/{name}" for name in sorted(("20250101T000000Z-a", "20250102T000000Z-b"))
    ]
    assert all(job.incident.verdict.exit_code == 1 for job in report.jobs)


def test_the_log_of_a_host_beside_a_saved_run_is_of_the_run(tmp_path: Path) -> None:
    run_in(tmp_path / "run", STEPS, kinds.RANK_DIED.finding(subject=NOBODY, message="it"))
    (tmp_path / "dmesg.txt").write_text("oom-kill: constraint=CONSTRAINT_MEMCG\n")
    assert len(jobs.report([str(tmp_path / "run"), str(tmp_path / "dmesg.txt")], ()).jobs) == 1
