"""Which rungs of a suite are run, and why others are not; no rank is started here."""

import json
from pathlib import Path

import pytest

from nccltool.launch import torch_needed
from tests.conftest import Nccltool


def test_a_dry_run_starts_nothing(nccltool: Nccltool, tmp_path: Path) -> None:
    done = nccltool(
        "preflight", "--dry-run", "--hosts", "n[1-3]", "--ssh", "true", "--run-dir", str(tmp_path / "r")
    )
    assert (done.code, done.err) == (0, "")
    assert "    nccltool probe --op all_reduce,all_gather --sizes 64KiB,4MiB" in done.out
    assert "--launcher ssh --hosts n1,n2,n3 --nodes 3 --ssh true\n" in done.out
    assert done.out.splitlines()[-4:] == [
        "about 27 s in total on healthy nodes",
        "    1 rank per host starts in about 6 s: hosts 2.1 s, Python and torch 3.9 s, ranks 0.1 s",
        "about 62 s with 8 GPUs per host; --dry-run does not contact hosts",
        "    8 ranks per host start in about 15 s: hosts 2.1 s, Python and torch 5.9 s, ranks 0.4 s, "
        "GPU contexts 4.0 s, communicator 3.1 s",
    ]
    assert not (tmp_path / "r").exists()


def document(done_out: str) -> dict[str, str]:
    """Rungs that are one outcome, to what it says."""
    return {
        one["code"]: f"{one['status']}: {one['reason']}"
        for one in json.loads(done_out)["outcomes"]
        if one["code"] == one["rung"]
    }


def test_what_is_left_out_says_why(nccltool: Nccltool) -> None:
    words = (
        "--nodes",
        "2",
        "--only",
        "inventory,doctor",
        "--only",
        "pairs",
        "--suite",
        "smoke",
        "--format",
        "json",
    )
    done = nccltool("preflight", *words)
    assert document(done.out) == {
        "reach": "skip: --only inventory,doctor,pairs",
        "within": "skip: --only inventory,doctor,pairs",
        "across": "skip: --only inventory,doctor,pairs",
        "pairs": "skip: the suite smoke does not have this stage",
        "train": "skip: --only inventory,doctor,pairs",
    }


def test_what_the_budget_does_not_allow_is_unknown(nccltool: Nccltool) -> None:
    done = nccltool("preflight", "--nodes", "2", "--budget", "2s", "--format", "json", "--skip", "doctor")
    found = document(done.out)
    assert found["across"].startswith("unknown: it needs about 6 s, but ")
    assert found["train"].startswith("unknown: it needs about 6 s, but ")
    assert (done.code, json.loads(done.out)["status"]) == (4, "unknown")
    assert [(one["status"], one["exclude"]) for one in json.loads(done.out)["hosts"]] == [("unknown", False)]


def test_without_torch_what_needs_none_is_left(
    nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(torch_needed, "missing", lambda: ("torch", "numpy"))
    done = nccltool("preflight", "--nodes", "2", "--run-dir", str(tmp_path / "runs"))
    assert (done.code, done.out) == (2, "")
    without = "--only inventory,doctor,reach"
    assert f"  -> pip install 'nccltool[torch]', or run the stages that need no torch: {without}" in done.err
    assert not (tmp_path / "runs").exists()
    done = nccltool("preflight", "--nodes", "2", *without.split(), "--skip", "doctor", "--suite", "smoke")
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize("fault", ["", "stop:rank=1"])
def test_an_injected_fault_is_named(nccltool: Nccltool, fault: str) -> None:
    told = f"a fault was injected into rank 1: {fault}"
    words = ("preflight", "--nodes", "2", "--suite", "smoke", "--only", "inventory")
    found = json.loads(nccltool(*words, "--format", "json", NCCLTOOL_FAULT=fault).out)["findings"]
    assert [(one["code"], one["message"]) for one in found] == ([("fault-injected", told)] if fault else [])
    assert (told in nccltool(*words, NCCLTOOL_FAULT=fault).out.splitlines()) == bool(fault)
