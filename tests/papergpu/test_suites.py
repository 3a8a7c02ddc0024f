"""The suites, `probe` and `train` on each captured machine: NCCL on every GPU, and no fault where there is none.

Sizes are what eight ranks on two cores can hold; the device's own clock says how fast they went, and what a suite
says of lateness is left out, for it is read from the clock of this host.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT
from tests.papergpu.conftest import OnPaper
from tests.papergpu.machine import PaperMachine
from tests.papergpu.machines import paper

pytestmark = [pytest.mark.torch, pytest.mark.slow]

LIMIT_S = 900.0
GPUS = {
    "h100-pcie": 1,
    "dgx": 8,
    "p5": 8,
    "a3-mega": 8,
    "a4": 8,
    "azure": 8,
    "gb200": 4,
    "mi300x": 8,
    "wsl2": 1,
    "mig": 1,
    "two-of-eight": 2,
}
"""And how many a rank can have there."""
SUITES = ("smoke", "preflight", "nightly", "acceptance")
BUS = {"h100-pcie": 40e9, "a4": 800e9, "gb200": 800e9, "mi300x": 320e9, "wsl2": 20e9, "mig": 40e9}
"""Bytes a second that are healthy there; elsewhere NVLink 4 of eight H100."""
SHORT = (
    (r"^(gpu_)?sizes = .*$", r'\1sizes = ["64 KiB", "1 MiB"]'),
    (r"^\[\[\w+\.expect\]\]\nmetric = \"late\"\n(?:.+\n)*?(?=\n)", ""),
    (r"^(steps|timed_steps) = .*$", r"\1 = 2"),
    (r"^row_time = .*$", 'row_time = "0.1 s"'),
)


def machine_of(name: str) -> PaperMachine:
    return paper(name, bus_bytes_per_s=BUS.get(name, 380e9), latency_s=1e-7, instant_launch=True)


def short(suite: str) -> str:
    """A suite whose sizes and times are small."""
    text = (ROOT / f"checks/{suite}.toml").read_text()
    for pattern, by in SHORT:
        text = re.sub(pattern, by, text, flags=re.MULTILINE)
    return text


def document(ended: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("name", GPUS)
def test_a_suite_on_a_machine(name: str, suite: str, on_paper: OnPaper, tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(short(suite))
    words = ("preflight", "--suite", str(tmp_path / "short.toml"), "--format", "json")
    ended = on_paper(machine_of(name), *words, limit_s=LIMIT_S)
    found = document(ended)
    failed = [(one["code"], one["reason"]) for one in found["outcomes"] if one["status"] == "fail"]
    assert (ended.code, failed) == (0, []), ended.said
    assert found["run"]["world_size"] == GPUS[name], ended.said
    alone = suite == "smoke" and GPUS[name] == 1  # no rank has one to talk to: no run is started
    assert found["run"]["backend"] == (None if alone else "nccl"), ended.said


@pytest.mark.parametrize(
    ("name", "backend", "ranks"),
    [("dgx", "nccl", 8), ("p5", "nccl", 8), ("gb200", "nccl", 4), ("mi300x", "nccl", 8), ("h100-pcie", "gloo", 2)],
)
def test_emulated_nodes_of_a_machine_pass(
    name: str, backend: str, ranks: int, on_paper: OnPaper, tmp_path: Path
) -> None:
    """What is expected of the wires between hosts is not expected of them."""
    (tmp_path / "short.toml").write_text(short("preflight"))
    words = ("preflight", "--nodes", "2", "--suite", str(tmp_path / "short.toml"), "--format", "json")
    ended = on_paper(machine_of(name), *words, limit_s=LIMIT_S)
    found = document(ended)
    failed = [(one["code"], one["reason"]) for one in found["outcomes"] if one["status"] in ("fail", "unknown")]
    assert ended.code == 0, (failed, ended.said)
    assert (found["run"]["backend"], found["run"]["world_size"]) == (backend, ranks), ended.said


@pytest.mark.parametrize("name", GPUS)
def test_every_training_on_a_machine(name: str, on_paper: OnPaper) -> None:
    words = ("train", "all", "--steps", "2", "--time-steps", "1", "--format", "json")
    ended = on_paper(machine_of(name), *words, limit_s=LIMIT_S)
    found = document(ended)
    assert {one["status"] for one in found["trainings"]} <= {"pass", "skip"}, ended.said
    assert (found["run"]["backend"], found["run"]["world_size"]) == ("nccl", GPUS[name]), ended.said
