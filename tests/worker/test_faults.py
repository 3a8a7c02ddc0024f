"""Every fault ends the run in time, names its culprit, keeps what was measured, and leaves nothing behind."""

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from nccltool.core import processes
from tests.support.commands import RUNS, Command, Ended, parent_of, until
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

HOST = socket.gethostname()
DEADLINE_S = 60
LIMIT_S = DEADLINE_S + 5
"""The longest that any run here may take."""
TWO_NODES = ("--nodes", "2", "--timeout", "4", "--deadline", str(DEADLINE_S))
SWEEP = (*TWO_NODES, "--op", "all_reduce,broadcast", "--sizes", "1KiB,64KiB", "-n", "4")
LONG = (*TWO_NODES, "--op", "all_reduce", "--sizes", "1KiB,64KiB", "-n", "40")
SLOW = "slow:rank=1,size=64KiB,ms=500"
"""The first of two rows comes at once, the second one takes 20 s."""


def ended(command: Command) -> Ended:
    """Its end, after looking that nothing is left of it."""
    result = command.wait(LIMIT_S)
    assert command.everything_gone(), command.living()
    assert result.litter == []
    return result


def assert_culprit(result: Ended, code: str, rank: int, message: str) -> dict[str, Any]:
    """The run did not complete, and the only error names this rank in these words, on the screen too."""
    assert (result.code, result.document["status"], result.document["exit_code"]) == (3, "incomplete", 3), (
        result.said
    )
    (error,) = result.problems
    assert (error["code"], error["subject"]) == (code, {"kind": "rank", "name": str(rank)}), result.said
    assert re.fullmatch(message, error["message"]), error["message"]
    assert f"ERROR {code}: {error['message']}\n" in result.stdout
    return error


def rows(result: Ended) -> list[tuple[str, int]]:
    """What was measured: the same in run.json and on the screen."""
    measured = [(row["op"], row["bytes"]) for row in result.document["measurements"]]
    shown = re.findall(r"^(?:all_reduce|broadcast) +\d+ [KM]iB +\d", result.stdout, re.MULTILINE)
    assert len(shown) == len(measured)
    return measured


# ---- drills

WHERE = {
    "start": "during startup",
    "hello": r"before the first operation \(joining\)",
    "enter": "after broadcast at 1 KiB, before its next step",
    "timing": r"in broadcast at 64 KiB \(timing\)",
    "check": r"in broadcast at 64 KiB \(checking\)",
}
OTHER = {
    "start": r"rank 0 waited before the first operation \(joining\)",
    "hello": r"rank 0 waited before the first operation \(joining\)",
    "enter": r"rank 0 waited in broadcast at 64 KiB \(warm-up\)",
    "timing": r"rank 0 waited in broadcast at 64 KiB \((warm-up|timing)\)",
    "check": r"rank 0 waited in broadcast at 64 KiB \(checking\)",
}
MEASURED = [("all_reduce", 1024), ("all_reduce", 65536), ("broadcast", 1024)]
SAID = {
    "kill": ("rank-died", "was killed by SIGKILL"),
    "exit": ("rank-died", "exited with code 3 without an error message"),
    "raise": ("rank-error", "raised InjectedFault: injected fault: NCCLTOOL_FAULT told rank 1 to raise"),
    "stop": ("rank-hung", r"made no progress for \d+ s"),
    "hang": ("rank-hung", r"made no progress for \d+ s"),
}


def begin_drill(start: Start, action: str, place: str) -> Command:
    where = "" if place in ("start", "hello") else ",op=broadcast,size=64KiB"
    return start(*SWEEP, NCCLTOOL_FAULT=f"{action}:rank=1,at={place}{where}")


def assert_drill_named(result: Ended, action: str, place: str) -> dict[str, Any]:
    code, how = SAID[action]
    error = assert_culprit(result, code, 1, rf"rank 1 on {HOST} \(node 1, pid \d+\) {how} {WHERE[place]}")
    waits = [line for line in error["evidence"] if line.startswith("rank 0 waited")]
    assert waits or place in ("start", "hello")  # then rank 0 may not have been there yet
    assert all(re.fullmatch(OTHER[place], line) for line in waits), waits
    assert rows(result) == ([] if place in ("start", "hello") else MEASURED)
    return error


WAYS = {("kill", "start"), ("raise", "hello"), ("exit", "enter"), ("raise", "timing"), ("kill", "check")}
"""Each way to end and each place once; at all places in all ways: slow."""


def how_often(action: str, place: str) -> list[pytest.MarkDecorator]:
    if (action, place) == ("kill", "timing"):
        return [pytest.mark.quick]
    return [] if (action, place) in WAYS else [pytest.mark.slow]


@pytest.mark.parametrize(
    ("action", "place"),
    [
        pytest.param(action, place, marks=how_often(action, place))
        for action, place in product(("kill", "exit", "raise"), WHERE)
    ],
)
def test_a_rank_that_ends(start: Start, action: str, place: str) -> None:
    error = assert_drill_named(ended(begin_drill(start, action, place)), action, place)
    raised = [
        line
        for line in error["evidence"]
        if line.endswith("InjectedFault: injected fault: NCCLTOOL_FAULT told rank 1 to raise")
    ]
    assert len(raised) == (action == "raise")


@pytest.mark.parametrize(
    "place",
    [place if place == "timing" else pytest.param(place, marks=pytest.mark.slow) for place in WHERE],
)
def test_a_rank_that_stands_still(start: Start, place: str) -> None:
    stopped, hung = begin_drill(start, "stop", place), begin_drill(start, "hang", place)
    error = assert_drill_named(ended(stopped), "stop", place)
    assert error["evidence"][0] == "its process is stopped (state T): something sent it SIGSTOP"
    error = assert_drill_named(ended(hung), "hang", place)
    (stack,) = [text for text in error["evidence"] if text.startswith("stack: ")]
    assert "fault.py" in stack.splitlines()[1]


def test_a_rank_that_is_slow_is_waited_for(start: Start) -> None:
    result = ended(start(*SWEEP, NCCLTOOL_FAULT="slow:rank=1,op=broadcast,ms=100"))
    (error,) = result.problems
    assert (result.code, result.document["status"]) == (1, "fail"), result.said
    assert (error["code"], error["subject"]) == ("late-rank", {"kind": "rank", "name": "1"})
    assert re.match(
        rf"rank 1 on {HOST} \(node 1\) arrived late in 2 of 4 rows, by a median of \S+ ms; ", error["message"]
    )
    slow = [row for row in result.document["measurements"] if row["op"] == "broadcast"]
    assert [row["late_rank"] for row in slow] == [1, 1]
    assert [[late["rank"] for late in row["late_ranks"]] for row in slow] == [[1], [1]]
    assert all(row["late_s"] > 0.05 < row["time_s"]["mean"] for row in slow)


@pytest.mark.parametrize(
    ("dtype", "reduce_op"),
    [
        pytest.param("float32", "sum", marks=pytest.mark.quick),
        pytest.param("bfloat16", "avg", marks=pytest.mark.slow),
        pytest.param("int8", "max", marks=pytest.mark.slow),
    ],
)
def test_one_corrupt_element(start: Start, dtype: str, reduce_op: str) -> None:
    words = (*SWEEP, "-d", dtype, "-o", reduce_op)
    result = ended(start(*words, NCCLTOOL_FAULT="corrupt:rank=1,op=all_reduce,size=64KiB"))
    assert (result.code, result.document["status"]) == (1, "fail"), result.said
    (error,) = result.problems
    assert (error["code"], error["subject"]) == ("wrong-data", {"kind": "rank", "name": "1"})
    assert error["message"] == "rank 1 received 1 wrong element, first in all_reduce at 64 KiB"
    middle = 65536 // {"float32": 4, "bfloat16": 2, "int8": 1}[dtype] // 2
    assert re.fullmatch(rf"element {middle}: got \S+, expected \S+ \(the reduction\)", error["evidence"][0])
    assert [row["wrong"] for row in result.document["measurements"]] == [0, 1, 0, 0]


@pytest.mark.slow
def test_the_lowest_rank_may_be_the_culprit_too(start: Start) -> None:
    result = ended(start(*SWEEP, NCCLTOOL_FAULT="kill:rank=0,op=broadcast,size=64KiB"))
    assert_culprit(
        result, "rank-died", 0, rf"rank 0 on {HOST} \(node 0, pid \d+\) was killed by SIGKILL {WHERE['timing']}"
    )
    assert rows(result) == MEASURED


@pytest.mark.slow
def test_one_of_four_ranks(start: Start) -> None:
    words = (*SWEEP, "--nproc-per-node", "2")
    result = ended(start(*words, NCCLTOOL_FAULT="stop:rank=2,op=broadcast,size=64KiB"))
    assert_culprit(
        result,
        "rank-hung",
        2,
        rf"rank 2 on {HOST} \(node 1, pid \d+\) made no progress for \d+ s {WHERE['timing']}",
    )


# ---- from outside


def begin_long(start: Start, *words: str) -> tuple[Command, int]:
    """A run in its second row, and the process of its rank 1."""
    command = start(*LONG, *words, NCCLTOOL_FAULT=SLOW)
    pid = command.wait_for("spawned", rank=1)["pid"]
    for rank in (0, 1):
        command.wait_for("enter", rank=rank, bytes=65536)
    return command, pid


IN_SECOND_ROW = r"in all_reduce at 64 KiB( \((warm-up|timing)\))?"
"""Its phase is known where its supervisor could still say so."""


@pytest.mark.parametrize("name", [pytest.param("SIGKILL", marks=pytest.mark.slow), "SIGTERM"])
def test_a_rank_killed_from_outside(start: Start, name: str) -> None:
    command, pid = begin_long(start)
    os.kill(pid, signal.Signals[name])
    result = ended(command)
    assert_culprit(
        result, "rank-died", 1, rf"rank 1 on {HOST} \(node 1, pid {pid}\) was killed by {name} {IN_SECOND_ROW}"
    )
    assert rows(result) == [("all_reduce", 1024)]


def test_all_ranks_are_told_to_end_by_way_of_their_supervisors(start: Start) -> None:
    command, pid = begin_long(start)
    other = command.wait_for("spawned", rank=0)["pid"]
    for rank in (pid, other):
        os.kill(parent_of(rank), signal.SIGTERM)
    result = ended(command)
    (problem,) = result.problems
    assert (result.code, problem["code"], problem["subject"]["kind"]) == (3, "terminated", "run"), result.said


def test_a_rank_stopped_from_outside(start: Start) -> None:
    command, pid = begin_long(start)
    os.kill(pid, signal.SIGSTOP)
    result = ended(command)
    assert_culprit(
        result,
        "rank-hung",
        1,
        rf"rank 1 on {HOST} \(node 1, pid {pid}\) made no progress for \d+ s {IN_SECOND_ROW}",
    )


def test_the_supervisor_of_a_rank_is_killed(start: Start) -> None:
    command, pid = begin_long(start)
    os.kill(parent_of(pid), signal.SIGKILL)
    result = ended(command)
    said = rf"rank 1 on {HOST} \(node 1, pid {pid}\) was killed by SIGKILL {IN_SECOND_ROW}"
    assert_culprit(result, "rank-died", 1, said)
    assert rows(result) == [("all_reduce", 1024)]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("words", "node", "ranks"),
    [pytest.param((), 1, "rank 1", marks=pytest.mark.slow), (("--nproc-per-node", "2"), 0, "ranks 0, 1")],
    ids=["one rank", "two ranks, rank 0 among them"],
)
def test_an_agent_is_killed(start: Start, words: tuple[str, ...], node: int, ranks: str) -> None:
    command, pid = begin_long(start, *words)
    os.kill(parent_of(parent_of(pid)), signal.SIGKILL)
    result = ended(command)
    (error,) = result.problems
    assert (result.code, error["code"], error["subject"]) == (3, "agent-killed", {"kind": "host", "name": HOST})
    message = (
        rf"the agent of node {node} on {HOST} was killed by SIGKILL {IN_SECOND_ROW}, along with {ranks} on {HOST}"
    )
    assert re.fullmatch(message, error["message"]), result.said
    assert rows(result) == [("all_reduce", 1024)]


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_the_node_process_is_killed(start: Start, number: signal.Signals) -> None:
    command, pid = begin_long(start)
    node = parent_of(parent_of(parent_of(pid)))
    assert parent_of(node) == command.process.pid
    os.kill(node, number)
    result = ended(command)
    assert result.code == 3, result.said
    error = result.findings["node-failed"]
    assert (
        error["message"]
        == f"the node process was killed by {processes.signal_name(number)} before its ranks were done"
    )
    assert rows(result) == [("all_reduce", 1024)]


@pytest.mark.quick
def test_the_command_itself_is_killed(start: Start) -> None:
    command, _ = begin_long(start)
    assert len(command.living()) >= 6
    command.send(signal.SIGKILL)
    assert command.wait(LIMIT_S).code == -signal.SIGKILL
    assert command.everything_gone(), command.living()
    assert [event["bytes"] for event in command.events() if event["event"] == "result"] == [1024]
    listed = start("--run-dir", str(command.runs), "--format", "json", argv=RUNS).wait(LIMIT_S)
    assert [run["status"] for run in json.loads(listed.stdout)["runs"]] == ["incomplete"]


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.quick),
        signal.SIGTERM,
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_interrupted(start: Start, number: signal.Signals) -> None:
    command, _ = begin_long(start)
    command.send(number)
    result = ended(command)
    assert (result.code, result.document["status"], result.document["exit_code"]) == (130, "incomplete", 130)
    assert result.problems == []
    assert rows(result) == [("all_reduce", 1024)]


@pytest.mark.slow
def test_interrupted_before_anything_was_measured(start: Start) -> None:
    command = start(*LONG)
    assert until(lambda: len(command.living()) > 1, LIMIT_S)
    command.send(signal.SIGINT)
    result = ended(command)
    assert (result.code, rows(result)) == (130, [])


def node_processes(command: Command) -> list[int]:
    below = processes.children(command.process.pid)
    return [pid for pid in below if b"nccltool.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_node_process_that_is_stopped_before_any_rank_starts(start: Start) -> None:
    command = start(*LONG)
    assert until(lambda: bool(node_processes(command)), LIMIT_S)
    (node,) = node_processes(command)
    os.kill(node, signal.SIGSTOP)
    result = ended(command)
    (error,) = result.problems
    assert (result.code, error["code"], error["subject"]["kind"]) == (3, "process-stopped", "host"), result.said
    assert error["message"].startswith(f"the node process on {socket.gethostname()} (pid {node}) is stopped")


@pytest.mark.parametrize(
    ("above", "who"), [pytest.param(1, "supervisor of rank 1", marks=pytest.mark.slow), (2, "agent")]
)
def test_what_is_stopped_above_a_rank_is_named_where_the_end_waits_for_it(
    start: Start, above: int, who: str
) -> None:
    command = start("--nodes", "2", "--op", "all_reduce", "--sizes", "1KiB", "-n", "20")
    pid = command.wait_for("spawned", rank=1)["pid"]
    for _ in range(above):
        pid = parent_of(pid)
    command.wait_for("enter", rank=1)
    os.kill(pid, signal.SIGSTOP)
    result = ended(command)
    (warning,) = (one for one in result.document["findings"] if one["code"] == "process-stopped")
    assert (result.code, warning["severity"]) == (0, "warning"), result.said
    assert warning["message"].startswith(f"the {who} on {socket.gethostname()} (pid {pid}) is stopped")


FAR = """#!/bin/sh
for command; do :; done
cat | setsid sh -c "exec $command"
"""
"""As ssh: what it starts is in a session of its own, which ends with its standard input."""


def test_a_far_end_that_is_stopped_does_not_outlive_the_run(start: Start, tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(FAR)
    ssh.chmod(0o755)
    command = start("--hosts", "localhost", "--nproc-per-node", "2", "--ssh", str(ssh), *LONG[2:])
    far = parent_of(parent_of(parent_of(parent_of(command.wait_for("spawned", rank=1)["pid"]))))
    os.kill(far, signal.SIGSTOP)
    command.send(signal.SIGINT)
    assert ended(command).code == 130
    assert until(lambda: far not in command.living(), LIMIT_S)  # where nobody reaps orphans, a zombie stays
    assert command.everything_gone(), command.living()


def test_interrupted_while_hosts_meet(start: Start, tmp_path: Path) -> None:
    """How many ranks there will be is not known before they have met."""
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\nsleep 60\n")
    ssh.chmod(0o755)
    command = start("--hosts", "a,b", "--ssh", str(ssh))
    assert until(lambda: len(command.living()) > 2, LIMIT_S)
    command.send(signal.SIGINT)
    result = ended(command)
    assert (result.code, rows(result), result.problems) == (130, [], [])


def test_the_deadline(start: Start) -> None:
    result = ended(start(*LONG, "--deadline", "9", NCCLTOOL_FAULT=SLOW))
    assert result.code == 3, result.said
    error = result.findings["deadline"]
    assert error["message"] == "the run took longer than 9 s; 1 of 2 steps were done"
    assert rows(result) == [("all_reduce", 1024)]


# ---- the run directory


@pytest.mark.quick
def test_a_run_directory_that_cannot_be_made(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    for folder in (file / "runs", Path("/proc/runs")):
        result = ended(start(*SWEEP, "--run-dir", str(folder)))
        assert (result.code, result.stdout) == (2, "")
        assert f"the run directory {folder}/" in result.stderr
        assert "-> use a writable folder with free space: --run-dir DIR" in result.stderr


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 32 KiB."""
    if os.geteuid():
        pytest.skip("mounting a file system needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(start: Start, tiny_disk: Path) -> None:
    words = (*TWO_NODES, "--op", "all", "--sizes", "1KiB,2KiB,4KiB,8KiB", "-n", "90", "--format", "json")
    result = ended(start(*words, "--run-dir", str(tiny_disk)))
    assert result.code == 3, result.said
    document = json.loads(result.stdout)
    (error,) = [finding for finding in document["findings"] if finding["severity"] != "info"]
    assert (error["code"], error["severity"]) == ("run-dir-full", "error")
    assert "No space left on device" in error["message"]
    measured = [(row["op"], row["bytes"]) for row in document["measurements"]]
    assert 1 <= len(measured) < 40
    (events,) = tiny_disk.glob("*/events.jsonl")
    saved = [json.loads(line) for line in events.read_text().splitlines(True) if line.endswith("\n")]
    results = [(event["op"], event["bytes"]) for event in saved if event["event"] == "result"]
    assert measured == results
