"""The answer for people."""

from pathlib import Path

import pytest

from nccltool.core.look import Look
from nccltool.core.notices import BELOW
from nccltool.triage import run, table
from nccltool.triage.wording import likeness, second_opinion
from nccltool.triage.wording.likeness import WordWeights
from tests.conftest import Nccltool
from tests.incidents import LOGS

SHM = LOGS["shm-64m-pod"]


def test_the_table_names_cause_offender_lines_and_remedy(tmp_path: Path, nccltool: Nccltool) -> None:
    log = tmp_path / "job.log"
    log.write_text(SHM)
    said = nccltool("triage", str(log))
    assert (said.code, said.err) == (1, "")
    assert said.out.splitlines()[:3] == [
        "FAIL triage: shm-size (confidence 0.98), suspect file /dev/shm; 4 lines read",
        "    /dev/shm is full",
        "    a shared memory segment could not be created",
    ]
    assert f"{log}:1, host pod-0, 2025-12-01 10:00:02" in said.out
    assert "failed to extend /dev/shm/nccl-Qx81aZ" in said.out
    assert "\n-> Docker: add --shm-size=16g" in said.out
    assert "\nnccltool explain shm-size\n" in said.out


def test_a_long_line_is_cut_without_a_false_count(tmp_path: Path, nccltool: Nccltool) -> None:
    log = tmp_path / "job.log"
    log.write_text(f"start\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB {'x' * 5000}\n")
    said = nccltool("triage", str(log))
    assert "Tried to allocate 2.00 GiB xxx" in said.out
    assert "xxx...\n" in said.out
    assert "characters)" not in said.out


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_screen_shows_the_cause_the_first_failure_and_the_remedy(name: str, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(LOGS[name])
    incident = run.triage([str(tmp_path / "job.log")], ("nccltool", "triage"))
    lines = table.render(incident, Look(width=80, height=24)).splitlines()
    assert len(lines) <= 24 - BELOW
    failed = incident.verdict.status == "fail"
    assert lines[0].startswith(
        f"FAIL triage: {incident.root_cause} (" if failed else "PASS triage: no failure found"
    )
    assert any(line.startswith("-> ") for line in lines) == failed
    assert (f"nccltool explain {incident.root_cause}" in lines) == failed
    assert all(len(line) <= 80 for line in lines if " " in line.strip())
    assert len(table.render(incident, Look(width=80, height=24, verbose=True)).splitlines()) >= len(lines)


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


def test_a_failure_that_words_take_back_is_unknown(
    tmp_path: Path, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = WordWeights(
        failures=1, unit=1.0, causes=("none", "out-of-memory"), bias=(0, 0), words={"healthy": ((0, 9),)}
    )
    monkeypatch.setattr(likeness, "learned", lambda: model)
    monkeypatch.setattr(second_opinion, "_LEAST_WORDS", 1)
    log = tmp_path / "job.log"
    log.write_text("healthy step 1 loss 2.0\nKilled\nstep 2 loss 1.9\n")
    said = nccltool("triage", str(log))
    assert (said.code, said.err) == (4, "")
    assert said.out.splitlines()[:2] == [
        "UNKNOWN triage: probably no failure (confidence 0.75), 3 lines read",
        "    known cases of this kind have these words: healthy",
    ]
