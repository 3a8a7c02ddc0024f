"""`nccltool probe --split` with real ranks on Gloo."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

WITHIN_S = 120.0
WORDS = (
    "--nodes",
    "2",
    "--nproc-per-node",
    "2",
    "--op",
    "all_reduce,all_gather",
    "--sizes",
    "64KiB",
    "-n",
    "20",
)


def document(start: Start, *words: str, **env: str) -> tuple[int, dict[str, Any]]:
    command = start(*WORDS, "--format", "json", *words, **env)
    ended = command.wait(WITHIN_S)
    assert command.everything_gone()
    assert ended.stdout, ended.said
    return ended.code, json.loads(ended.stdout)


def rows(said: dict[str, Any]) -> list[tuple[str, str, bool]]:
    return [(row["op"], row["group"]["name"], row["group"]["alone"]) for row in said["measurements"]]


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("node", [("node 0", [0, 1], ["node 0"]), ("node 1", [2, 3], ["node 1"])]),
        ("rail", [("rail 0", [0, 2], ["node 0", "node 1"]), ("rail 1", [1, 3], ["node 0", "node 1"])]),
    ],
)
def test_every_group_has_rows_of_its_own(
    start: Start, by: str, groups: list[tuple[str, list[int], list[str]]]
) -> None:
    code, said = document(start, "--split", by, "--also-alone")
    assert code == 0
    assert [(one["name"], one["ranks"], one["nodes"]) for one in said["groups"]] == groups
    names = [name for name, _, _ in groups]
    each = [(name, alone) for alone in (False, True) for name in names]
    assert rows(said) == [(op, *one) for op in ("all_reduce", "all_gather") for one in each]
    for row in said["measurements"]:
        assert row["wrong"] == 0
        assert row["group"]["world_size"] == 2
        factor = {"all_reduce": 1.0, "all_gather": 0.5}[row["op"]]  # of two ranks, not of four
        assert row["busbw_bytes_per_s"] == pytest.approx(factor * row["algbw_bytes_per_s"])
    assert [one["op"] for one in said["slowest_groups"]] == ["all_reduce", "all_gather"]
    assert len(said["interference"]) == 4


@pytest.mark.parametrize("action", [pytest.param("hang", marks=pytest.mark.slow), "stop"])
def test_the_rank_that_hangs_is_named_and_the_other_group_keeps_its_rows(start: Start, action: str) -> None:
    fault = f"{action}:rank=3,op=all_gather"
    code, said = document(start, "--split", "node", "--timeout", "5", NCCLTOOL_FAULT=fault)
    assert code == 3
    (culprit,) = [one for one in said["findings"] if one["severity"] == "error"]
    assert (culprit["code"], culprit["subject"]) == ("rank-hung", {"kind": "rank", "name": "3"})
    assert "in all_gather at 64 KiB in group node 1" in culprit["message"]
    assert sorted(rows(said)) == [
        ("all_gather", "node 0", False),
        ("all_reduce", "node 0", False),
        ("all_reduce", "node 1", False),
    ]


def test_wrong_data_and_late_ranks_have_their_numbers_in_the_job(start: Start) -> None:
    code, said = document(start, "--split", "node", NCCLTOOL_FAULT="corrupt:rank=3,op=all_gather")
    assert code == 1
    (wrong,) = [one for one in said["findings"] if one["severity"] == "error"]
    assert (wrong["code"], wrong["subject"]) == ("wrong-data", {"kind": "rank", "name": "3"})
    assert [row["wrong"] for row in said["measurements"]] == [0, 0, 0, 1]
    code, said = document(start, "--split", "node", NCCLTOOL_FAULT="slow:rank=2")
    assert code == 1
    assert [one["subject"]["name"] for one in said["findings"] if one["code"] == "late-rank"] == ["2"]


def test_groups_are_leaf_switches(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "leaves"
    file.write_text("node0 south\nnode1 south\nnode2 north\nnode3 north\n")
    words = ("--nodes", "4", "--op", "all_reduce", "--sizes", "64KiB", "-n", "5", "--format", "json")
    ended = start(*words, "--split", "leaf", "--topology", str(file)).wait(WITHIN_S)
    said = json.loads(ended.stdout)
    assert (ended.code, [group["ranks"] for group in said["groups"]]) == (0, [[0, 1], [2, 3]]), ended.said
    assert rows(said) == [("all_reduce", "south", False), ("all_reduce", "north", False)]
