"""`nccltool probe` from the command line to the run directory, with real ranks on Gloo."""

import csv
import io
import json
import re
import socket
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from nccltool.probe import collectives
from nccltool.probe.dtypes import ELEMENT_SIZE, REDUCE_OPS, is_float
from tests.support.commands import RUNS, Ended
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

LAUNCHER = "launcher: local (no --hosts, no scheduler detected)"
DONE_WITHIN_S = 120.0
SIZES = (1024, 4096, 16384, 65536, 262144, 1048576)

RUN_KEYS = {
    "id",
    "started",
    "command",
    "nccltool",
    "torch",
    "backend",
    "backend_version",
    "nodes",
    "emulated",
    "world_size",
    "hosts",
}
MEASUREMENT_KEYS = {
    "op",
    "bytes",
    "bytes_per_rank",
    "dtype",
    "reduce_op",
    "placement",
    "cadence",
    "iterations",
    "time_s",
    "algbw_bytes_per_s",
    "busbw_bytes_per_s",
    "wrong",
    "late_rank",
    "late_s",
    "late_ranks",
}
TIME_KEYS = {"mean", "median", "p90", "p99", "min", "max", "ci95"}


def done(start: Start, *words: str, **env: str) -> Ended:
    command = start(*words, **env)
    ended = command.wait(DONE_WITHIN_S)
    assert command.everything_gone()
    assert ended.litter == []
    return ended


# ---- a whole sweep


@dataclass(frozen=True)
class Sweep:
    nodes: int
    nproc: int
    ended: Ended

    @property
    def world(self) -> int:
        return self.nodes * self.nproc


@pytest.mark.parametrize(
    ("nodes", "nproc"), [pytest.param(2, 1, marks=pytest.mark.quick), pytest.param(2, 2, marks=pytest.mark.slow)]
)
def test_all_operations(start: Start, nodes: int, nproc: int) -> None:
    words = ("--nodes", str(nodes), "--nproc-per-node", str(nproc), "-e", "1MiB", "-n", "5", "--format", "json")
    sweep = Sweep(nodes, nproc, done(start, *words))
    assert sweep.ended.code == 0, sweep.ended.said
    document = json.loads(sweep.ended.stdout)
    assert_contract(document, sweep)
    assert_all_measured(document["measurements"], sweep.world)
    assert_run_directory(document, sweep.ended)
    assert [line for line in sweep.ended.stderr.splitlines() if not re.match(r"\[\d+/\d+\] ", line)] == [
        LAUNCHER,
        f"saved to {sweep.ended.run}",
    ]


def assert_contract(document: dict[str, Any], sweep: Sweep) -> None:
    assert [document[key] for key in ("schema", "kind", "status", "exit_code")] == [1, "probe", "pass", 0]
    assert sweep.ended.problems == []
    run = document["run"]
    assert run.keys() >= RUN_KEYS
    facts = (run["nodes"], run["world_size"], run["emulated"], run["backend"], run["hosts"])
    assert facts == (sweep.nodes, sweep.world, True, "gloo", [socket.gethostname()])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", run["started"])
    assert run["command"][:3] == ["nccltool", "probe", "--nodes"]


def assert_all_measured(rows: list[dict[str, Any]], world: int) -> None:
    assert [(row["op"], row["bytes"]) for row in rows] == [(op, n) for op in collectives.IN_ALL for n in SIZES]
    for row in rows:
        where = f"{row['op']} at {row['bytes']}"
        assert row.keys() >= MEASUREMENT_KEYS, where
        assert row["time_s"].keys() == TIME_KEYS, where
        assert (row["wrong"], row["iterations"], row["dtype"]) == (0, 5, "float32"), where
        assert (row["reduce_op"] == "sum") == (row["op"] in ("all_reduce", "reduce_scatter", "reduce")), where
        times = row["time_s"]
        assert 0 < times["min"] <= times["median"] <= times["max"], where
        assert row["algbw_bytes_per_s"] == pytest.approx(row["bytes"] / times["mean"]), where
        assert row["busbw_bytes_per_s"] == pytest.approx(row["algbw_bytes_per_s"] * bus_factor(row["op"], world))


def bus_factor(op: str, world: int) -> float:
    """The table of nccl-tests' doc/PERFORMANCE.md."""
    if op == "all_reduce":
        return 2 * (world - 1) / world
    scattered = ("all_gather", "reduce_scatter", "gather", "scatter", "all_to_all")
    return (world - 1) / world if op in scattered else 1


def assert_run_directory(document: dict[str, Any], ended: Ended) -> None:
    assert sorted(entry.name for entry in ended.run.iterdir()) == [
        "events.jsonl",
        "job.json",
        "log.txt",
        "run.json",
    ]
    assert ended.run.name == document["run"]["id"]
    assert ended.document == document
    events = [json.loads(line) for line in (ended.run / "events.jsonl").read_text().splitlines()]
    kinds = {event["event"] for event in events}
    assert kinds == {"spawned", "hello", "world", "enter", "samples", "result", "beat", "exit", "bye"} | kinds & {
        "log"
    }
    assert json.loads((ended.run / "job.json").read_text())["ops"] == list(collectives.IN_ALL)


@pytest.mark.parametrize(
    ("op", "size", "bytes_per_rank"),
    [
        # 1000 B are 250 floats; of scattered operations each of 4 ranks gets 62, rounded down to 16 B: 60
        ("all_reduce", 1000, 1000),
        ("all_gather", 960, 240),
        ("reduce_scatter", 960, 240),
        ("gather", 960, 240),
        ("scatter", 960, 240),
        ("all_to_all", 960, 960),
        ("send_recv", 1000, 1000),
    ],
)
def test_sizes_are_those_of_nccl_tests(
    odd_sizes: dict[str, dict[str, Any]], op: str, size: int, bytes_per_rank: int
) -> None:
    assert (odd_sizes[op]["bytes"], odd_sizes[op]["bytes_per_rank"]) == (size, bytes_per_rank)


@pytest.fixture(scope="module")
def odd_sizes(start_once: Start) -> dict[str, dict[str, Any]]:
    ended = done(start_once, "--nodes", "2", "--nproc-per-node", "2", "--sizes", "1000", "-n", "2")
    return {row["op"]: row for row in ended.document["measurements"]}


# ---- exchanges of parts that are not equally long

SKEWS = ("--op", "all_to_all_v", "--skew", "uniform,zipf:1,one-hot", "--sizes", "64KiB", "-n", "2")


def test_every_skew(start: Start) -> None:
    rows = done(start, "--nodes", "2", "--nproc-per-node", "2", *SKEWS).document["measurements"]
    names = ["all_to_all_v", "all_to_all_v:zipf:1", "all_to_all_v:one-hot"]
    assert [(row["op"], row["bytes"], row["wrong"]) for row in rows] == [(name, 65536, 0) for name in names]
    # 1 + 1/2 + 1/3 + 1/4 of 16 KiB, the third rounded down to 16 B
    assert [row["bytes_per_rank"] for row in rows] == [65536, 16384 + 8192 + 5456 + 4096, 16384]
    sent = [row["traffic"] for row in rows]
    assert [one["imbalance"] for one in sent] == pytest.approx([1, 65536 / 34128, 4])
    assert [(one["skew"], one["busiest_rank"]) for one in sent] == [
        ("uniform", None),
        ("zipf:1", 0),
        ("one-hot", 0),
    ]


@pytest.mark.slow
def test_wrong_data_under_a_skew(start: Start) -> None:
    ended = done(start, "--nodes", "2", *SKEWS, NCCLTOOL_FAULT="corrupt:rank=0,op=all_to_all_v")
    assert (ended.code, [row["wrong"] for row in ended.document["measurements"]]) == (1, [1, 1, 1])
    assert [problem["subject"]["name"] for problem in ended.problems if problem["code"] == "wrong-data"] == ["0"]


# ---- types and reductions

REDUCTIONS = "all_reduce,reduce_scatter,reduce"


@pytest.mark.parametrize(
    "dtype",
    [
        dtype if dtype in ("bfloat16", "int64", "float8_e4m3fn") else pytest.param(dtype, marks=pytest.mark.slow)
        for dtype in ELEMENT_SIZE
    ],
)
def test_every_type(start: Start, dtype: str) -> None:
    ops = "send_recv,ping_pong" if dtype.startswith("float8") else "all_reduce,all_gather,all_to_all,ping_pong"
    ended = done(start, "--nodes", "2", "--op", ops, "--sizes", "1KiB,64KiB", "-d", dtype, "-n", "3", "-c", "2")
    assert ended.code == 0, ended.said
    rows = ended.document["measurements"]
    assert [(row["op"], row["dtype"], row["wrong"]) for row in rows] == [
        (op, dtype, 0) for op in ops.split(",") for _ in range(2)
    ]


@pytest.mark.parametrize(
    ("reduce_op", "dtype"),
    [
        ("prod", "bfloat16"),
        ("avg", "float64"),
        ("avg", "int8"),
        *(
            pytest.param(reduce_op, dtype, marks=pytest.mark.slow)
            for reduce_op, dtype in product(REDUCE_OPS, ("bfloat16", "int8"))
            if (reduce_op, dtype) not in (("prod", "bfloat16"), ("avg", "int8"))
        ),
    ],
)
def test_every_reduction(start: Start, reduce_op: str, dtype: str) -> None:
    words = ("--nproc-per-node", "3", "--op", REDUCTIONS, "--sizes", "48KiB", "-d", dtype, "-o", reduce_op)
    ended = done(start, *words, "-n", "2", "-c", "3")
    if reduce_op == "avg" and not is_float(dtype):
        assert (ended.code, "gloo cannot average int8" in ended.stderr) == (2, True), ended.said
        return
    assert ended.code == 0, ended.said
    rows = ended.document["measurements"]
    assert [(row["op"], row["reduce_op"], row["wrong"]) for row in rows] == [
        (op, reduce_op, 0) for op in REDUCTIONS.split(",")
    ]


def test_both_placements(start: Start) -> None:
    """In place, the smaller buffer is a part of the larger one: the check must not see its own input."""
    ops = "all_gather,reduce_scatter,gather,scatter,all_reduce"
    words = ("--nproc-per-node", "3", "--op", ops, "--placement", "both")
    ended = done(start, *words, "--sizes", "48KiB", "-n", "3", "-c", "2")
    assert ended.code == 0, ended.said
    rows = ended.document["measurements"]
    assert [(row["op"], row["placement"], row["wrong"]) for row in rows] == [
        ("all_gather", "out-of-place", 0),
        ("all_gather", "in-place", 0),
        ("reduce_scatter", "out-of-place", 0),
        ("reduce_scatter", "in-place", 0),
        ("gather", "out-of-place", 0),
        ("gather", "in-place", 0),
        ("scatter", "out-of-place", 0),
        ("scatter", "in-place", 0),
        ("all_reduce", "in-place", 0),
    ]


@pytest.mark.slow
def test_cadence_isolated(start: Start) -> None:
    words = ("--nodes", "2", "--op", "all_reduce,ping_pong", "--cadence", "isolated", "--sizes", "1KiB", "-n", "5")
    ended = done(start, *words)
    assert ended.code == 0, ended.said
    rows = ended.document["measurements"]
    assert [(row["op"], row["cadence"], row["iterations"], row["wrong"]) for row in rows] == [
        ("all_reduce", "isolated", 5, 0),
        ("ping_pong", "isolated", 5, 0),
    ]


def test_iterations_as_many_as_precision_needs(start: Start) -> None:
    words = ("--nodes", "2", "--op", "broadcast", "--sizes", "1KiB,4KiB", "--precision", "50", "--budget", "0.2")
    ended = done(start, *words)
    assert ended.code == 0, ended.said
    assert all(row["iterations"] >= 5 for row in ended.document["measurements"])


@pytest.mark.slow
def test_without_checks_wrong_is_not_known(start: Start) -> None:
    ended = done(start, "--nodes", "2", "--op", "broadcast", "--sizes", "1KiB", "-c", "0", "--format", "json")
    assert [row["wrong"] for row in json.loads(ended.stdout)["measurements"]] == [None]


@pytest.mark.slow
def test_100_samples_have_a_99th_percentile(start: Start) -> None:
    ended = done(start, "--nodes", "2", "--op", "broadcast", "--sizes", "8", "-n", "200")
    (row,) = ended.document["measurements"]
    assert row["iterations"] == 200
    assert row["time_s"]["p90"] <= row["time_s"]["p99"] <= row["time_s"]["max"]


# ---- what is shown


@pytest.mark.slow
def test_every_format_says_that_nodes_are_emulated(start: Start) -> None:
    words = ("--nodes", "2", "--op", "broadcast,scatter", "--sizes", "1KiB", "-n", "2")
    table = done(start, *words)
    assert "2 nodes emulated on " in table.stdout
    as_csv = done(start, *words, "--format", "csv")
    assert [(row["op"], row["emulated"]) for row in csv.DictReader(io.StringIO(as_csv.stdout))] == [
        ("broadcast", "true"),
        ("scatter", "true"),
    ]
    as_json = done(start, *words, "--format", "json")
    assert json.loads(as_json.stdout)["run"]["emulated"] is True


@pytest.mark.slow
def test_one_node_is_not_emulated(start: Start) -> None:
    ended = done(start, "--nproc-per-node", "2", "--op", "broadcast", "--sizes", "1KiB", "-n", "2")
    run = ended.document["run"]
    assert (ended.code, run["nodes"], run["world_size"], run["emulated"]) == (0, 1, 2, False)
    assert "emulated" not in ended.stdout.lower()


@pytest.mark.quick
def test_what_cannot_be_run_at_a_size_is_named(start: Start) -> None:
    ended = done(start, "--nodes", "2", "--op", "all_reduce,all_gather", "--sizes", "16,1KiB", "-n", "2")
    assert [(row["op"], row["bytes"]) for row in ended.document["measurements"]] == [
        ("all_reduce", 16),
        ("all_reduce", 1024),
        ("all_gather", 1024),
    ]
    finding = ended.findings["left-out"]
    assert (finding["severity"], finding["subject"]["name"]) == ("info", "all_gather")


@pytest.mark.quick
def test_nothing_measured_is_not_success(start: Start) -> None:
    ended = done(start, "--nodes", "2", "--op", "all_gather", "--sizes", "16")
    assert (ended.code, ended.document["status"], ended.document["measurements"]) == (4, "unknown", [])


def test_busbw_is_judged_for_each_operation_at_its_largest_size(start: Start) -> None:
    words = ("--nodes", "2", "--op", "all_reduce,broadcast", "--sizes", "1KiB,64KiB", "-n", "2")
    ended = done(start, *words, "--min-busbw", "1000000")
    assert ended.code == 1, ended.said
    judged = [finding for finding in ended.document["findings"] if finding["code"] == "busbw-low"]
    assert [(finding["subject"]["name"], "at 64 KiB" in finding["message"]) for finding in judged] == [
        ("all_reduce", True),
        ("broadcast", True),
    ]
    assert len(ended.document["measurements"]) == 4


def test_the_average_of_integers_is_refused_before_anything_starts(start: Start) -> None:
    ended = done(start, "--nodes", "2", "-d", "int32", "-o", "avg", "--backend", "gloo")
    assert (ended.code, ended.stdout) == (2, "")
    assert "gloo cannot average int32" in ended.stderr
    assert not ended.runs.exists()


@pytest.mark.quick
def test_a_past_run_is_listed_and_shown_again(start: Start) -> None:
    ended = done(start, "--nodes", "2", "--op", "broadcast", "--sizes", "1KiB", "-n", "2", "--format", "csv")
    again = start(ended.run.name, "--format", "csv", "--run-dir", str(ended.runs), argv=RUNS).wait(DONE_WITHIN_S)
    assert (again.code, again.stdout) == (0, ended.stdout)


def test_ranks_with_nothing_to_check_wait_for_those_that_have(start: Start) -> None:
    """So much data that they wait outside of a collective."""
    ops = ("reduce", "gather")
    ended = done(
        start, *("--nodes", "1", "--nproc-per-node", "2", "--op", ",".join(ops), "--sizes", "8MiB"),
        *("-d", "int8", "-n", "2", "-c", "2", "--format", "json"),
    )  # fmt: skip
    assert ended.code == 0, ended.said
    assert [(row["op"], row["wrong"]) for row in ended.document["measurements"]] == [(op, 0) for op in ops]
