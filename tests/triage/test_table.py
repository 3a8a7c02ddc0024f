"""The answer for people."""

from pathlib import Path

import pytest

from tests.conftest import Nccltool
from tests.incidents import LOGS

SHM = LOGS["shm-64m-pod"]


def test_the_table_names_cause_offender_lines_and_remedy(tmp_path: Path, nccltool: Nccltool) -> None:
    log = tmp_path / "job.log"
    log.write_text(SHM)
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
