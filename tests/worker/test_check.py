"""api.check(group) in somebody's script: ranks over Gloo, one that never comes, and one with other settings."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import TORCHRUN, Command

pytestmark = pytest.mark.torch

SCRIPT = """
import json, os, sys, time
import torch.distributed as dist
from nccltool import api

what, folder = sys.argv[1:]
rank = int(os.environ["RANK"])
if what == "settings" and rank == 1:
    os.environ["NCCL_ALGO"] = "Tree"
dist.init_process_group("gloo")
if what == "late" and rank == 1:
    dist.distributed_c10d._get_default_store().wait(["rank 0 came"])
    time.sleep(1.5)
elif what == "late":
    dist.distributed_c10d._get_default_store().set("rank 0 came", "")
if what == "absent" and rank == 2:
    while not os.path.exists(f"{folder}/1.json"):
        time.sleep(0.05)
else:
    found = api.check(timeout_s=2 if what == "absent" else 60)
    again = api.check(timeout_s=60) if what != "absent" else found
    said = {
        "ok": found.ok, "exit_code": found.verdict.exit_code, "absent": found.absent, "wrong": found.wrong,
        "ranks": [one.rank for one in found.ranks], "again": again.verdict.exit_code,
        "codes": sorted({one.code for one in found.findings} - {"late-rank"}),
        "messages": [one.message for one in found.findings if one.code != "late-rank"],
        "arrived_late": [(one.rank, one.late_s) for one in found.arrived_late],
        "at_arrival": [one.message for one in found.findings if "called check()" in one.message],
        "busbw": found.speed and found.speed.busbw_bytes_per_s, "alive": dist.is_initialized(),
    }
    with open(f"{folder}/{rank}.json.part", "w") as file:
        json.dump(said, file)
    os.rename(f"{folder}/{rank}.json.part", f"{folder}/{rank}.json")
dist.destroy_process_group()
"""


def said(what: str, ranks: int, folder: Path) -> list[dict[str, Any]]:
    """What each rank said; all of it is the same."""
    script = folder / "train.py"
    script.write_text(SCRIPT)
    argv = (*TORCHRUN, "--standalone", "--nproc-per-node", str(ranks), str(script), what, str(folder))
    with Command(argv, folder / "command") as command:
        ended = command.wait(120)
    assert ended.code == 0, ended.said
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]


def test_a_rank_that_never_comes_is_named_and_hangs_nobody(tmp_path: Path) -> None:
    first, second = said("absent", 3, tmp_path)
    assert first == second
    assert (first["ok"], first["exit_code"], first["absent"], first["ranks"]) == (False, 3, [2], [0, 1])
    assert (first["codes"], first["wrong"], first["busbw"]) == (["rank-missing"], None, None)
    assert first["messages"] == ["rank 2 of 3 did not call check() within 2 s"]


def test_one_rank_with_other_settings_is_named(tmp_path: Path) -> None:
    """All else is well: the data is right, and the group is as it was."""
    found = said("settings", 2, tmp_path)
    for one in found:
        assert (one["absent"], one["ranks"], one["wrong"], one["alive"]) == ([], [0, 1], 0, True)
        assert one["codes"] == ["env-differs"]
        assert one["messages"] == ["ranks differ in NCCL_ALGO: not set on rank 0; Tree on rank 1"]
        assert one["busbw"] > 0


def test_a_rank_that_comes_late_is_named_with_how_late_it_was(tmp_path: Path) -> None:
    first, second = said("late", 2, tmp_path)
    assert first == second
    assert first["ok"]
    ((rank, late_s),) = first["arrived_late"]
    assert rank == 1
    assert late_s >= 1.0
    (message,) = first["at_arrival"]
    assert re.fullmatch(r"rank 1 on \S+ called check\(\) [\d.]+ s after the others", message)


def test_without_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    from nccltool import api

    with pytest.raises(api.BadInput) as raised:
        api.check()
    assert raised.value.message == "there is no process group"
    assert "torch" in sys.modules
