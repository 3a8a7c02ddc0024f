"""The JSON document holds every key that the contract names."""

import json
from typing import Any

import pytest

from nccltool.probe import views
from nccltool.probe.result import Run
from tests.samples import RUNS, failing_run, good_run

DOCUMENT = {"schema", "kind", "status", "exit_code", "run", "findings", "measurements"}
RUN = {
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
FINDING = {"code", "severity", "subject", "message", "evidence", "remedy", "page"}
MEASUREMENT = {
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
TIME = {"mean", "median", "p90", "p99", "min", "max", "ci95"}


def document(run: Run) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(views.renderer("json")(run))
    return parsed


@pytest.mark.parametrize("name", RUNS)
def test_the_keys_of_the_contract(name: str) -> None:
    shown = document(RUNS[name]())
    assert shown.keys() >= DOCUMENT
    assert shown["run"].keys() >= RUN
    for finding in shown["findings"]:
        assert finding.keys() >= FINDING
        assert finding["subject"].keys() == {"kind", "name"}
    for row in shown["measurements"]:
        assert row.keys() >= MEASUREMENT
        assert row["time_s"].keys() >= TIME


def test_the_values_of_the_contract() -> None:
    shown = document(failing_run())
    assert (shown["schema"], shown["kind"]) == (1, "probe")
    assert (shown["status"], shown["exit_code"]) == ("incomplete", 3)
    assert shown["run"]["command"] == ["nccltool", "probe", "--nodes", "2"]
    assert shown["run"]["emulated"] is False
    assert shown["findings"][1]["subject"] == {"kind": "rank", "name": "1"}
    assert shown["measurements"][0]["wrong"] == 17


def test_what_is_not_known_is_null() -> None:
    rows = document(good_run())["measurements"]
    assert [row["wrong"] for row in rows] == [0, 0, 0, None]
    assert [row["time_s"]["p99"] for row in rows] == [None, 0.00002, None, None]
    assert rows[3]["time_s"]["ci95"] is None
    assert rows[0]["late_rank"] is rows[0]["late_s"] is rows[1]["reduce_op"] is None
