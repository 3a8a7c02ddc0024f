"""The top of a report: the verdict in one sentence, what to do, what was tested on what."""

from dataclasses import replace

import pytest

from nccltool.report import page
from nccltool.report.parts import TodoItem
from tests import samples
from tests.report import materials


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "probe",
            "all_reduce, all_gather, send_recv, 1 KiB to 4 MiB; peak busbw all_reduce 1.50 GB/s, all_gather",
        ),
        ("pairs", "localize: suspect node 644; 1 slow pair unexplained; 5 measurements of 7 nodes"),
        ("preflight", "preflight on n[1-2]: across/data failed; exclude n2"),
        ("train", "train: ddp differs from the reference"),
        ("failed", "1 row: all_reduce, 1 MiB; rank-died; suspect: rank 1"),
        ("empty", "nothing was measured (exit code 4)"),
    ],
)
def test_the_sentence_is_that_of_the_command(name: str, said: str) -> None:
    assert page.of(materials.ALL[name]()).sentence.startswith(said)


def test_what_to_do_is_about_errors_before_warnings() -> None:
    assert page.of(materials.failed()).todo == (
        TodoItem(
            found="rank 1 on beta (node 1, pid 1001) was killed by SIGKILL in all_reduce at 1 MiB (timing)",
            remedy="on beta: dmesg",
            link="page-rank-died",
        ),
    )
    calm = materials.of(materials.swept(findings=(samples.failing_run().findings[0],)))
    assert [one.remedy for one in page.of(calm).todo] == ["start chrony or ntpd"]
    assert page.of(materials.of(materials.swept())).todo == ()


def test_what_was_tested_on_what() -> None:
    facts = {one.name: one.value for one in page.of(materials.of(materials.swept())).facts}
    assert facts == {
        "when": "2025-01-02T03:04:05Z",
        "hosts": "alpha (1 host, 2 emulated nodes: no network was measured)",
        "ranks": "4",
        "GPU": "unknown",
        "network": "unknown",
        "versions": "nccltool 0.1.0, torch 2.13.0+cpu, gloo 2.13.0+cpu",
        "command": "nccltool probe --nodes 2",
    }


def test_what_is_not_known_is_called_so() -> None:
    facts = {one.name: one.value for one in page.of(materials.of(samples.empty_run())).facts}
    assert (facts["hosts"], facts["ranks"]) == ("unknown", "unknown")


def test_a_run_that_passed_and_is_slower_is_no_pass() -> None:
    made = page.of(materials.compared())
    assert (made.status, made.exit_code) == ("fail", 1)
    assert (
        "20250103T030405Z-beef is slower than 20250102T030405Z-beef: the typical row is 20x slower"
        in made.sentence
    )


def test_a_pass_after_a_lasting_loss_is_a_warning() -> None:
    made = page.of(materials.nights())
    assert (made.status, made.exit_code) == ("warn", 0)
    assert made.sentence == "all_reduce 4 MiB 20.1 % lower since 2025-01-11"
    assert made.title == "nccltool: 20 runs, 2025-01-01 to 2025-01-20"
    assert [one.link for one in made.todo] == ["history"]
    facts = {one.name: one.value for one in made.facts}
    assert facts["newest run"] == "pass: all_reduce, 4 MiB; peak busbw 1.19 GB/s at 4 MiB"


def test_a_failure_comes_before_an_earlier_loss() -> None:
    nights = materials.nights()
    bad = materials.reported(samples.failing_run())
    made = page.of(replace(nights, runs=(*nights.runs, bad)))
    assert made.status == "incomplete"
    assert made.sentence.startswith("1 row: all_reduce, 1 MiB; rank-died")
    assert made.sentence.endswith("; all_reduce 4 MiB 20.1 % lower since 2025-01-11")


def test_the_newest_of_several_runs_is_shown_and_all_are_inside() -> None:
    made = page.of(materials.compared())
    assert {one.name: one.value for one in made.facts}["runs"].startswith("2, from 2025-01-02")
    assert [one.name for one in made.documents] == ["20250102T030405Z-beef", "20250103T030405Z-beef"]
