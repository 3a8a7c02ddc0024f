"""From streams of several commands to one run; what is missing, cut, changed or mixed is said."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nccltool.core import user_files
from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding
from nccltool.interop import collect
from nccltool.launch import events
from nccltool.probe.result import Run
from nccltool.train import document as train_document
from tests.samples import finding
from tests.support.streams import (
    FOLLOWER,
    LEADER,
    beginning,
    begun,
    ended,
    forms,
    good,
    job_of,
    leaving,
    mixed,
    part,
    steps,
)

BOTH = [good(0), good(1)]


def collected(data: bytes | Sequence[bytes], folder: Path) -> collect.Collected:
    file = folder / "pods.log"
    file.write_bytes(data if isinstance(data, bytes) else b"".join(data))
    return collect.collect([str(file)], folder / "runs")


def run_of(data: bytes | Sequence[bytes], folder: Path) -> Run:
    return collected(data, folder).run


def refusal(data: bytes | Sequence[bytes], folder: Path) -> str:
    with pytest.raises(BadInput) as error:
        collected(data, folder)
    assert list((folder / "runs").iterdir()) == [], "nothing is left behind"
    return error.value.message.replace(str(folder / "pods.log"), "F")


@pytest.mark.parametrize("form", forms(BOTH))
def test_every_form_of_the_logs_gives_the_same_run(form: str, tmp_path: Path) -> None:
    run = run_of(forms(BOTH)[form], tmp_path)
    assert (run.verdict.status, run.verdict.exit_code, run.findings) == ("pass", 0, ())
    info = run.info
    assert (info.id, info.started, info.command) == (LEADER, "2025-01-02T03:04:05Z", begun(0).command)
    assert (info.nodes, info.world_size, info.hosts, info.emulated) == (2, 4, ("alpha", "beta"), False)
    assert [(row.bytes, row.iterations, row.time_s.median, row.wrong) for row in run.measurements] == [
        (1024, 3, 0.002, 0),
        (2**20, 3, 0.002, 0),
    ]


def test_the_folder_holds_what_that_of_a_local_run_holds(tmp_path: Path) -> None:
    found = collected(forms(BOTH)["--prefix --timestamps"] + b"a line of NCCL\n", tmp_path)
    assert (found.folder, found.is_new) == (tmp_path / "runs" / LEADER, True)
    assert sorted(file.name for file in found.folder.iterdir()) == [
        "collected.txt",
        "events.jsonl",
        "job.json",
        "log.txt",
        "run.json",
    ]
    assert (found.folder / "collected.txt").read_text() == f"{tmp_path / 'pods.log'}\n"
    assert train_document.from_json((found.folder / "run.json").read_bytes(), "") == found.run
    said = [json.loads(line) for line in (found.folder / "events.jsonl").read_text().splitlines()]
    assert sorted(map(str, said)) == sorted(
        str(json.loads(events.encode(event)[1:]))
        for node in (0, 1)
        for event in (*beginning(node), *steps(node), *leaving(node))
    )
    log = (found.folder / "log.txt").read_text()
    assert '[rank 0] a line with "quotes"\n' in log
    assert log.endswith("a line of NCCL\n")
    assert json.loads((found.folder / "job.json").read_text())["run_id"] == LEADER


def test_the_whole_logs_take_the_place_of_a_part_of_them(tmp_path: Path) -> None:
    first = collected(good(0), tmp_path)
    again = collected(mixed(BOTH), tmp_path)
    assert (first.run.verdict.exit_code, again.run.verdict.exit_code) == (3, 0)
    assert (again.folder, again.is_new) == (first.folder, True)
    assert train_document.from_json((again.folder / "run.json").read_bytes(), "") == again.run
    assert len(list(again.folder.iterdir())) == 5
    assert [file.name for file in (tmp_path / "runs").iterdir()] == [LEADER]


def test_a_run_that_was_measured_here_is_left_alone(tmp_path: Path) -> None:
    first = collected(mixed(BOTH), tmp_path)
    (first.folder / "collected.txt").unlink()
    (first.folder / "run.json").write_text("mine")
    again = collected(mixed(BOTH), tmp_path)
    assert (again.folder, again.is_new, again.run) == (first.folder, False, first.run)
    assert (first.folder / "run.json").read_text() == "mine"
    assert [file.name for file in (tmp_path / "runs").iterdir()] == [LEADER]


def test_the_logs_in_a_file_each(tmp_path: Path) -> None:
    for number, one in enumerate(BOTH):
        (tmp_path / f"{number}.log").write_bytes(b"".join(one))
    files = [str(tmp_path / "1.log"), str(tmp_path / "0.log")]
    assert collect.collect(files, tmp_path / "runs").run == run_of(mixed(BOTH), tmp_path / "..")


SLOW = finding(code="busbw-unknown", severity="warning")


@pytest.mark.parametrize(
    ("findings", "interrupted", "status", "code"),
    [
        ([finding()], False, "incomplete", 3),
        ([finding(code="wrong-data")], False, "fail", 1),
        ([SLOW], False, "unknown", 4),
        ([finding(severity="warning", code="clock-skew")], False, "warn", 0),
        ([], True, "incomplete", 130),
    ],
)
def test_the_word_of_node_0_is_taken(
    findings: list[Finding], interrupted: bool, status: str, code: int, tmp_path: Path
) -> None:
    leader = part(begun(0), [*beginning(0), *steps(0)], ended(findings, interrupted))
    run = run_of([*leader, *good(1)], tmp_path)
    assert (run.verdict.status, run.verdict.exit_code, run.findings) == (status, code, tuple(findings))


def test_the_threshold_of_the_run_is_judged_again(tmp_path: Path) -> None:
    run = run_of([*good(0, min_busbw_gb_per_s=100.0), *good(1)], tmp_path)
    assert ([one.code for one in run.findings], run.verdict.exit_code) == (["busbw-low"], 1)


# ---- what is not there


def codes(run: Run) -> list[tuple[str, str]]:
    assert (run.verdict.status, run.verdict.exit_code) == ("incomplete", 3)
    return [(one.code, one.message) for one in run.findings]


def test_a_pod_is_missing(tmp_path: Path) -> None:
    run = run_of(good(0), tmp_path)
    assert codes(run) == [("stream-missing", "no events from node 1 of 2")]
    assert len(run.measurements) == 2


def test_node_0_is_missing(tmp_path: Path) -> None:
    run = run_of(good(1), tmp_path)
    assert codes(run) == [("stream-missing", "no events from node 0 of 2")]
    assert (run.info.id, run.info.hosts, run.measurements) == (LEADER, ("beta",), ())


def test_a_stream_is_cut(tmp_path: Path) -> None:
    lines = good(1)
    run = run_of([*good(0), *lines[:-1], lines[-1][:50]], tmp_path)
    assert codes(run) == [
        ("stream-cut", f"the stream of node 1 stops after line {len(lines) - 1}, before its end")
    ]
    assert len(run.measurements) == 2


def test_the_stream_of_node_0_is_cut(tmp_path: Path) -> None:
    run = run_of([*good(0)[:13], *good(1)], tmp_path)
    assert codes(run) == [("stream-cut", "the stream of node 0 stops after line 13, before its end")]
    assert [row.bytes for row in run.measurements] == [1024]


def test_who_died_is_found_without_node_0(tmp_path: Path) -> None:
    """The pod of node 0 was killed before it could say anything about it; a rank of node 1 had died first."""
    dead: list[events.Event] = [events.Exited(rank=3, code=-9)]
    echo: list[events.Event] = [
        events.Failed(rank=2, in_collective=True, text="Connection closed"),
        events.Exited(rank=2, code=1),
    ]
    follower = part(begun(1), [*beginning(1), *steps(1)[:2], *dead, *echo], ended())
    run = run_of([*good(0)[:10], *follower], tmp_path)
    assert [code for code, _ in codes(run)] == ["stream-cut", "rank-died"]
    assert run.findings[1].message.startswith("rank 3 on beta (node 1, pid 3) was killed by SIGKILL in all_reduce")


def test_a_pod_that_was_lost_is_no_news_when_node_0_said_so(tmp_path: Path) -> None:
    lost = finding(code="node-missing", message="node 1 of 2 did not join within 3 s")
    run = run_of(part(begun(0), beginning(0), ended([lost])), tmp_path)
    assert codes(run) == [("node-missing", "node 1 of 2 did not join within 3 s")]


def test_a_warning_of_node_0_does_not_say_why_a_pod_is_missing(tmp_path: Path) -> None:
    older = finding(code="version-mismatch", severity="warning", message="the nodes have different kernels")
    run = run_of(part(begun(0), [*beginning(0), *steps(0), *leaving(0)], ended([older])), tmp_path)
    assert [code for code, _ in codes(run)] == ["version-mismatch", "stream-missing"]


def test_a_node_that_never_met_the_others(tmp_path: Path) -> None:
    """It could not know the run; its number, and what it was asked for, say that it belongs there."""
    problem = finding(code="rdzv-unreachable", message="node 1 (beta) got no answer at alpha:1")
    missing = finding(code="node-missing", message="node 1 of 2 did not join within 3 s")
    alone = part(begun(1), [events.Reported(finding=problem)], ended([problem]))
    run = run_of([*part(begun(0), [], ended([missing])), *alone], tmp_path)
    assert [code for code, _ in codes(run)] == ["node-missing"]
    assert [code for code, _ in codes(run_of(alone, tmp_path))] == ["rdzv-unreachable", "stream-missing"]


def test_ranks_of_a_launchers_job(tmp_path: Path) -> None:
    parts = []
    for rank in (0, 1):
        start = begun(rank)
        start = replace(start, job=replace(start.job, node_ranks=()), parts=None if rank else 2)
        parts.append(part(start, [events.Bye(rank=rank)], replace(ended(), ranks_seen=2)))
    assert run_of(mixed(parts), tmp_path).verdict.exit_code == 4, "nothing was measured"
    assert codes(run_of(parts[0], tmp_path)) == [("stream-missing", "no events from rank 1 of 2")]


# ---- what is refused


def without(lines: list[bytes], *numbers: int) -> list[bytes]:
    return [line for number, line in enumerate(lines) if number not in numbers]


def damaged(lines: list[bytes], number: int) -> list[bytes]:
    return [line.replace(b"1", b"2", 1) if n == number else line for n, line in enumerate(lines)]


OTHER = "20250109T000000Z-0001"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "F: no nccltool events found"),
        ([b"some\n", b"text\n"], "F: no nccltool events found"),
        ([good(0)[0][:200]], "F: no nccltool events found; F:1 is damaged"),
        ([b"\0" * 3_000_000], "F: no nccltool events found"),
        ([*without(good(0), 5), *good(1)], "F:1: line 6 of the stream of node 0 is missing"),
        ([*good(0), *without(good(1), 3, 4)], "F:{len0}: lines 4 to 5 of the stream of node 1 are missing"),
        ([*good(0)[-10:], *good(1)], "F:1: lines 1 to {head} of the stream of part 0 are missing"),
        ([*damaged(good(0), 9), *good(1)], "F:1: line 10 of the stream of node 0 is missing; F:10 is damaged"),
        (
            [*good(0), *good(0, job=replace(begun(0).job, run_id=OTHER))],
            "F:1 and F:{len0} are from different runs: both",
        ),
        (
            [*good(1), *good(1, job=replace(begun(1).job, run_id=OTHER))],
            "F:1 and F:{len1} are from different runs: both",
        ),
        (
            [*good(0), *good(1, job=replace(job_of(1), ops=("broadcast",)))],
            "F:1 and F:{len0} are from different runs",
        ),
        (
            [*good(0, job=replace(begun(0).job, run_id=OTHER)), *good(1)],
            f"F:1 and F:{{len0}} are from different runs: their run IDs differ: {OTHER}, {LEADER}",
        ),
    ],
)
def test_what_cannot_be_one_run_is_refused(lines: list[bytes], message: str, tmp_path: Path) -> None:
    places = {"len0": len(good(0)) + 1, "len1": len(good(1)) + 1, "head": len(good(0)) - 10}
    assert refusal(lines, tmp_path).startswith(message.format(**places))


def test_a_log_that_begins_late_is_found_before_all_of_it_is_held(tmp_path: Path) -> None:
    said = [events.Enter(rank=0, step=step, op="all_reduce", bytes=1) for step in range(11_000)]
    message = refusal(part(begun(0), said, ended())[100:], tmp_path)
    assert message == "F:1: lines 1 to 100 of the stream of part 0 are missing"


def test_operations_of_a_later_release(tmp_path: Path) -> None:
    start = begun(0, job=replace(job_of(0), ops=("all_reduce", "scan")))
    assert refusal(part(start, [], ended()), tmp_path) == (
        "F:1: part 0 sent an event that this version of nccltool does not understand: scan"
    )


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name in (str(tmp_path / "none"), str(tmp_path), "a\0b"):
        with pytest.raises(BadInput) as error:
            collect.collect([name], tmp_path / "runs")
        assert "cannot be read" in error.value.message


def test_neither_a_silent_pipe_nor_an_endless_device_is_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_files, "SILENCE_S", 0.01)
    os.mkfifo(tmp_path / "pipe")
    for name, message in ((str(tmp_path / "pipe"), "no data within"), ("/dev/zero", "is a device")):
        with pytest.raises(BadInput, match=message):
            collect.collect([name], tmp_path / "runs")


EDITS = st.lists(
    st.tuples(st.integers(0, 9000), st.integers(0, 400), st.binary(max_size=20)), min_size=1, max_size=3
)


@settings(max_examples=40)
@given(edits=EDITS)
def test_whatever_happens_to_a_log_there_is_one_answer(
    edits: list[tuple[int, int, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """And a run that is said to be complete is the one that was measured."""
    text = b"".join(mixed(BOTH))
    for start, length, insert in edits:
        text = text[:start] + insert + text[start + length :]
    folder = tmp_path_factory.mktemp("damaged")
    try:
        run = run_of(text, folder)
    except BadInput:
        return
    assert re.fullmatch(f"{LEADER}|{FOLLOWER}", run.info.id)
    if run.verdict.exit_code == 0:
        assert run == run_of(mixed(BOTH), folder)
