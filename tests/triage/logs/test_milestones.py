"""Lines that tell where a rank, a task, or a host has got to."""

import pytest

from nccltool.triage.logs.reader import LogReader

TOLD = {
    "INFO 2026-01-28 11:01:43,200 trainer 3: data loader ready (43 s), entering train step": ("trainer", "3"),
    "[rank12]: entering all_reduce of step 5": ("rank", "12"),
    "[Rank 03] reached the barrier": ("rank", "3"),
    "[host1] step 5: before_psum": ("host", "host1"),
}
SILENT = (
    "step 5: entering the all-reduce",
    "worker 3 of 8 joined",
    "node1:7:7 [0] NCCL INFO entering rank 3",
    "rank 3 copied the weights",
)


def milestones(log: str) -> list[dict[str, str]]:
    return [dict(e.fields) for e in LogReader().read("a.log", [log.encode()]) if e.kind == "job.milestone"]


@pytest.mark.parametrize(("line", "writer"), TOLD.items())
def test_a_milestone_tells_its_writer(line: str, writer: tuple[str, str]) -> None:
    (found,) = milestones(line)
    assert (found["of"], found["who"]) == writer


@pytest.mark.parametrize("line", SILENT)
def test_others_tell_none(line: str) -> None:
    assert not milestones(line)


def test_the_same_place_is_the_same_text_at_another_time() -> None:
    lines = "10:00:01 rank 0: step 4 done in 1.1 s\n10:00:02 rank 1: step 4 done in 1.4 s\n"
    own, other = milestones(lines)
    assert own["what"] == other["what"]


def test_another_step_is_another_place() -> None:
    own, other = milestones("rank 0: step 4 done\nrank 0: step 5 done\n")
    assert own["what"] != other["what"]
