"""nccltool triage, from files to exit codes."""

import io
import json
from pathlib import Path

import pytest

from tests.conftest import Nccltool
from tests.incidents import INCIDENTS

LOGS = {incident.name: incident.log for incident in INCIDENTS}
SHM, HEALTHY = LOGS["shm-64m-pod"], LOGS["retried-and-finished"]
KEYS = [
    *("schema", "kind", "status", "exit_code", "run", "findings", "root_cause", "confidence", "offender"),
    *("first_failure", "candidates", "evidence", "decides", "lines_read", "picture"),
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "job.log"
    file.write_text(SHM)
    return file


def test_the_table_names_cause_offender_lines_and_remedy(log: Path, nccltool: Nccltool) -> None:
    said = nccltool("triage", str(log))
    assert (said.code, said.err) == (1, "")
    assert said.out.splitlines()[:2] == [
        "root cause  shm-size    confidence 0.98",
        "offender    file /dev/shm",
    ]
    assert f"{log}:1, host pod-0, 2025-12-01 10:00:02" in said.out
    assert "failed to extend /dev/shm/nccl-Qx81aZ" in said.out
    assert "what to do: docker run --shm-size=16g" in said.out
    assert said.out.endswith("fail: 4 lines read, exit code 1\n")


def test_the_document(log: Path, nccltool: Nccltool) -> None:
    said = nccltool("triage", "--format", "json", str(log))
    document = json.loads(said.out)
    assert list(document) == KEYS
    assert (document["schema"], document["kind"], document["status"], document["exit_code"]) == (
        1,
        "triage",
        "fail",
        1,
    )
    assert (said.code, document["root_cause"], document["offender"]) == (
        1,
        "shm-size",
        {"kind": "file", "name": "/dev/shm"},
    )
    assert {name: document["first_failure"][name] for name in ("file", "line", "rank", "host", "time")} == {
        "file": str(log),
        "line": 1,
        "rank": None,
        "host": "pod-0",
        "time": "2025-12-01 10:00:02",
    }
    assert [finding["code"] for finding in document["findings"]] == ["shm-size"]
    assert document["candidates"][0]["root_cause"] == "shm-size"
    assert document["run"]["hosts"] == []


def test_a_healthy_log_is_exit_code_0(tmp_path: Path, nccltool: Nccltool) -> None:
    file = tmp_path / "job.log"
    file.write_text(HEALTHY)
    said = nccltool("triage", str(file))
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("root cause  none ")
    assert "what to do" not in said.out


@pytest.mark.parametrize("text", ["", "hello\nworld\n"], ids=["empty", "no log"])
def test_what_says_nothing_is_exit_code_4(text: str, tmp_path: Path, nccltool: Nccltool) -> None:
    file = tmp_path / "job.log"
    file.write_text(text)
    said = nccltool("triage", str(file), "--format", "json")
    assert (said.code, json.loads(said.out)["status"]) == (4, "unknown")


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
    assert out.read_text().startswith("root cause  shm-size")


def test_a_file_that_is_not_there_is_exit_code_2(tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("triage", str(tmp_path / "nothing.log"))
    assert (said.code, said.out) == (2, "")
    assert "nothing.log does not exist" in said.err


def test_the_summary_shows_hosts_and_what_differs(tmp_path: Path, nccltool: Nccltool) -> None:
    file = tmp_path / "job.log"
    file.write_text(
        "h1:5:5 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\nh1:5:5 [0] NCCL INFO Using network IB\n"
        "h1:5:5 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5\n"
        "h2:5:5 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\nh2:5:5 [0] NCCL INFO Using network IB\n"
        "h3:5:5 [0] NCCL INFO NCCL version 2.24.3+cuda12.4\nh3:5:5 [0] NCCL INFO Using network Socket\n"
        "h1:5:5 [0] NCCL INFO comm 0x1 rank 0 nranks 3 cudaDev 0 busId 1 commId 0x9 - Init START\n"
        "h1:5:5 [0] NCCL INFO comm 0x1 rank 0 nranks 3 cudaDev 0 busId 1 commId 0x9 - Init COMPLETE\n"
    )
    said = nccltool("triage", "--summary", str(file))
    assert "NCCL: 2.24.3+cuda12.4 on h3; 2.27.3+cuda12.9 on the other 2" in said.out
    assert "network: Socket on h3; IB on the other 2" in said.out
    assert [line.split() for line in said.out.splitlines() if line.startswith(("h3", "NCCL_IB_HCA", "0x9"))] == [
        ["h3", "2.24.3+cuda12.4", "Socket"],
        ["NCCL_IB_HCA", "mlx5", "h1"],
        ["NCCL_IB_HCA", "(not", "echoed)", "h[2-3]"],
        ["0x9", "3", "?", "1", "1"],
    ]


@pytest.mark.parametrize("form", ["table", "json"])
def test_nothing_of_a_log_acts_on_a_terminal(form: str, tmp_path: Path, nccltool: Nccltool) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\u202e\x9b31m"
    file = tmp_path / "job.log"
    file.write_text(
        f"[rank0]: ValueError: {nasty}\n"
        f"h1:5:5 [0] NCCL INFO Bootstrap: Using et\x1bh0:10.0.0.1<0>\n"
        f"h1:5:5 [0] NCCL INFO NCCL_ALGO set by environment to {nasty}\n"
    )
    for words in ([], ["--summary"]):
        said = nccltool("triage", "--format", form, *words, str(file))
        assert all(letter == "\n" or letter.isprintable() for letter in said.out)


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
    assert f"waiting for {tmp_path}/other\\x1b.log, which is not there yet\n" in said.err
    assert "looks like shm-size (confidence 0.98); sure when nothing changes that for 0.2 s\n" in said.err


def test_nothing_to_follow_is_exit_code_4(tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("triage", "--follow", "--for", "0", str(tmp_path / "job.log"))
    assert (said.code, said.out) == (
        4,
        "root cause  none    confidence 0.00\n\nunknown: 0 lines read, exit code 4\n",
    )
    assert said.err.endswith("the time of --for is over\n")


def test_an_empty_path_is_no_folder(nccltool: Nccltool) -> None:
    said = nccltool("triage", "")
    assert (said.code, said.out) == (2, "")
    assert "a PATH is empty" in said.err


def test_a_name_that_is_not_utf_8_has_a_place_in_a_document(tmp_path: Path, nccltool: Nccltool) -> None:
    file = tmp_path / "job\udcff.log"
    file.write_text(SHM)
    document = json.loads(nccltool("triage", "--format", "json", str(file)).out)
    assert document["first_failure"]["file"] == f"{tmp_path}/job\\udcff.log"
