"""nccltool triage, from files to exit codes."""

import gzip
import io
import json
from pathlib import Path

import pytest

from tests.conftest import Nccltool
from tests.incidents import LOGS

SHM, HEALTHY = LOGS["shm-64m-pod"], LOGS["retried-and-finished"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "job.log"
    file.write_text(SHM)
    return file


def test_a_healthy_log_is_exit_code_0(tmp_path: Path, nccltool: Nccltool) -> None:
    file = tmp_path / "job.log"
    file.write_text(HEALTHY)
    said = nccltool("triage", str(file))
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("PASS triage: no failure found, ")
    assert "->" not in said.out


@pytest.mark.parametrize("text", ["", "hello\nworld\n"], ids=["empty", "no log"])
def test_what_says_nothing_is_exit_code_4(text: str, tmp_path: Path, nccltool: Nccltool) -> None:
    file = tmp_path / "job.log"
    file.write_text(text)
    said = nccltool("triage", str(file), "--format", "json")
    assert (said.code, json.loads(said.out)["status"]) == (4, "unknown")


@pytest.mark.parametrize("others", [(), ("rank1.log",)], ids=["alone", "beside a healthy log"])
@pytest.mark.parametrize("way", [(), ("--follow", "--for", "1")], ids=["read", "followed"])
def test_a_packed_log_that_ends_early_never_passes(
    others: tuple[str, ...], way: tuple[str, ...], tmp_path: Path, nccltool: Nccltool
) -> None:
    whole = gzip.compress(HEALTHY.encode() * 100)
    (tmp_path / "rank0.log.gz").write_bytes(whole[: len(whole) // 2])
    for name in others:
        (tmp_path / name).write_text(HEALTHY)
    said = nccltool("triage", *way, str(tmp_path))
    assert said.code == 4
    assert said.out.startswith("UNKNOWN triage: no failure found before an early end, ")
    assert f"{tmp_path}/rank0.log.gz ends early: the last lines are missing" in said.out


@pytest.mark.parametrize("way", [(), ("--follow", "--for", "1")], ids=["read", "followed"])
def test_a_file_of_a_folder_that_cannot_be_read_does_not_stop_the_others(
    way: tuple[str, ...], tmp_path: Path, nccltool: Nccltool
) -> None:
    (tmp_path / "rank0.log.gz").write_bytes(gzip.compress(HEALTHY.encode())[:10] + b"no deflate stream at all")
    (tmp_path / "rank1.log").write_text(HEALTHY)
    said = nccltool("triage", *way, str(tmp_path))
    assert said.code == 4
    assert said.out.startswith("UNKNOWN triage: no failure found in what could be read, ")
    assert f"{tmp_path}/rank0.log.gz cannot be read: " in said.out
    assert "; the other files were read" in said.out
    (tmp_path / "rank1.log").write_text(SHM)
    found = nccltool("triage", *way, str(tmp_path))
    assert (found.code, "shm-size" in found.out, "rank0.log.gz cannot be read" in found.out) == (1, True, True)
    assert nccltool("triage", *way, str(tmp_path / "rank0.log.gz")).code == 2
    (tmp_path / "rank1.log").unlink()
    assert "the other files" not in nccltool("triage", *way, str(tmp_path)).out


@pytest.mark.parametrize(
    ("said_last", "remedy"),
    [
        ("^C\nKeyboardInterrupt\n", "-> Ask who pressed Ctrl-C and why."),
        (
            "slurmstepd: error: *** JOB 4412 ON n01 CANCELLED AT 2026-01-02T10:00:00 ***\n",
            "-> Find out who canceled the job and why: sacct -j 4412 ",
        ),
        (
            "slurmstepd: error: *** JOB 4412 ON n01 CANCELLED AT 2026-01-02T10:00:00 DUE TO TIME LIMIT ***\n",
            "-> Restart with a longer time limit",
        ),
    ],
)
def test_the_remedy_is_that_of_how_a_job_was_ended(
    said_last: str, remedy: str, tmp_path: Path, nccltool: Nccltool
) -> None:
    (tmp_path / "job.log").write_text(f"step 10 loss 2.0\nstep 11 loss 1.9\n{said_last}")
    said = nccltool("triage", str(tmp_path / "job.log"))
    assert said.out.startswith("FAIL triage: preempted ")
    assert remedy in said.out


def test_logs_of_two_days_are_two_jobs_where_the_first_came_to_its_end(tmp_path: Path, nccltool: Nccltool) -> None:
    bad = "2026-01-02 10:00:00 step 1 loss 2.0\n2026-01-02 10:00:01 RuntimeError: shapes differ\n"
    (tmp_path / "2026-01-02.log").write_text(bad)
    (tmp_path / "2026-01-01.log").write_text("2026-01-01 10:00:00 step 1 loss 2.0\n")
    assert nccltool("triage", str(tmp_path)).out.startswith("FAIL triage: app-error ")
    ended = "2026-01-01 10:00:00 step 1 loss 2.0\n2026-01-01 10:00:05 training completed\n"
    (tmp_path / "2026-01-01.log").write_text(ended)
    assert "2 jobs: 1 failed, 1 without a failure" in nccltool("triage", str(tmp_path)).out


def test_a_root_cause_before_an_early_end_is_named(tmp_path: Path, nccltool: Nccltool) -> None:
    file = tmp_path / "rank0.log.gz"
    file.write_bytes(gzip.compress(SHM.encode())[:-4])
    said = nccltool("triage", str(file), "--format", "json")
    document = json.loads(said.out)
    assert (said.code, document["root_cause"], document["ends_early"]) == (1, "shm-size", [str(file)])
    assert "ends early" in nccltool("triage", str(file)).out


@pytest.mark.parametrize(("missing", "code"), [(0, 1), (4, 4)], ids=["whole", "cut"])
def test_that_a_test_stands_still_is_not_told_by_an_early_end(
    missing: int, code: int, tmp_path: Path, nccltool: Nccltool
) -> None:
    packed = gzip.compress(b"# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n# Using devices\n")
    (tmp_path / "job.log.gz").write_bytes(packed[: len(packed) - missing])
    assert nccltool("triage", str(tmp_path)).code == code


def test_standard_input_and_a_folder(tmp_path: Path, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rank0.log").write_text(HEALTHY)
    (tmp_path / "rank1.log").write_text(SHM)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SHM.encode())))
    for paths in (["-"], [str(tmp_path)]):
        assert json.loads(nccltool("triage", "--format", "json", *paths).out)["root_cause"] == "shm-size"


def test_the_result_goes_to_a_file(log: Path, tmp_path: Path, nccltool: Nccltool) -> None:
    out = tmp_path / "triage.txt"
    said = nccltool("triage", str(log), "--output", str(out))
    assert (said.code, said.out) == (1, "")
    assert out.read_text().startswith("FAIL triage: shm-size (confidence ")


def test_a_file_that_is_not_there_is_exit_code_2(tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("triage", str(tmp_path / "nothing.log"))
    assert (said.code, said.out) == (2, "")
    assert "nothing.log does not exist" in said.err


def test_a_time_limit_needs_something_to_follow(log: Path, nccltool: Nccltool) -> None:
    said = nccltool("triage", "--for", "5", str(log))
    assert (said.code, said.out) == (2, "")
    assert "--for has no effect without --follow" in said.err


@pytest.mark.parametrize("form", ["table", "json"])
def test_following_ends_with_what_is_sure(form: str, log: Path, tmp_path: Path, nccltool: Nccltool) -> None:
    out = tmp_path / "result"
    words = ("--settle", "0.2", "--format", form, "--output", str(out))
    said = nccltool("triage", "--follow", *words, str(log), str(tmp_path / "other\x1b.log"))
    assert (said.code, said.out) == (1, "")
    assert "shm-size" in out.read_text()
    assert f"waiting for {tmp_path}/other\\x1b.log, which does not exist yet\n" in said.err
    assert "looks like shm-size (confidence 0.98); certain if unchanged for 0.2 s\n" in said.err


def test_nothing_to_follow_is_exit_code_4(tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("triage", "--follow", "--for", "0", str(tmp_path / "job.log"))
    assert (said.code, said.out) == (
        4,
        "UNKNOWN triage: nothing in the logs to check, 0 lines read\n",
    )
    assert said.err.endswith("the --for time has elapsed\n")


def test_an_empty_path_is_no_folder(nccltool: Nccltool) -> None:
    said = nccltool("triage", "")
    assert (said.code, said.out) == (2, "")
    assert "a PATH is empty" in said.err
