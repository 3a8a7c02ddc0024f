"""api.checked_groups() in somebody's script: overlapping groups over Gloo, and ranks that create others."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import TORCHRUN, Command

pytestmark = pytest.mark.torch

SCRIPT = """
import json, os, sys
from datetime import timedelta
import torch, torch.distributed as dist
from torch.distributed import new_group
from torch.distributed.device_mesh import init_device_mesh
from nccltool import api

what, folder = sys.argv[1:]
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", timeout=timedelta(seconds=120))
size = dist.get_world_size()
half = size // 2
# data x pipeline: each rank is in a row and a column
groups = [[one, one + half] for one in range(half)] + [list(range(half)), list(range(half, size))]
if what == "order" and rank == 1:
    groups.reverse()
if what == "member" and rank == 1:
    groups[0] = [0, 1]
if what == "fewer" and rank == 1:
    groups.pop()
if what == "absent" and rank == 1:
    groups[1:1] = [None]
said = {"error": "", "sums": []}
try:
    with api.checked_groups(timeout_s=3 if what == "absent" else 60):
        made = []
        for ranks in groups:
            if ranks is None:
                while not os.path.exists(f"{folder}/0.json"):
                    pass
            else:
                if what == "raises" and rank == 1 and len(made) == 1:
                    raise ValueError("no such layer")
                local = what == "local"
                if not local or rank in ranks:
                    made.append(new_group(ranks, use_local_synchronization=local))
        if what in ("clean", "local"):
            mesh = init_device_mesh("cpu", (half, 2))
except api.DidNotComplete as error:
    said["error"] = error.message
except ValueError as error:
    said["error"] = "own"
else:
    for group in made:
        if group != dist.GroupMember.NON_GROUP_MEMBER:
            value = torch.tensor([float(rank)])
            dist.all_reduce(value, group=group)
            said["sums"].append(value.item())
dist.distributed_c10d._get_default_store().set(f"{what} {rank}", "")
with open(f"{folder}/{rank}.part", "w") as file:
    json.dump(said, file)
os.rename(f"{folder}/{rank}.part", f"{folder}/{rank}.json")
dist.destroy_process_group()
"""


def said(what: str, folder: Path, ranks: int = 4) -> list[dict[str, Any]]:
    script = folder / "train.py"
    script.write_text(SCRIPT)
    argv = (*TORCHRUN, "--standalone", "--nproc-per-node", str(ranks), str(script), what, str(folder))
    with Command(argv, folder / "command") as command:
        ended = command.wait(120)
    assert ended.code == 0, ended.said
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(ranks)]


@pytest.mark.parametrize("what", ["clean", "local"])
def test_overlapping_groups_in_one_order_are_created(what: str, tmp_path: Path) -> None:
    assert said(what, tmp_path) == [
        {"error": "", "sums": sums} for sums in ([2.0, 1.0], [4.0, 1.0], [2.0, 5.0], [4.0, 5.0])
    ]


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("order", "group 1 in order of creation differs: rank 1: [2, 3] (gloo); the others: [0, 2] (gloo)"),
        ("member", "group 1 in order of creation differs: rank 1: [0, 1] (gloo); the others: [0, 2] (gloo)"),
        ("fewer", "group 4 in order of creation differs: rank 1: no further group; the others: [2, 3] (gloo)"),
        (
            "absent",
            "group 2 in order of creation differs: rank 1 of 4 did not arrive within 3 s; "
            "the others: [1, 3] (gloo)",
        ),
    ],
)
def test_the_rank_that_creates_another_group_is_named_on_all_ranks(what: str, error: str, tmp_path: Path) -> None:
    assert said(what, tmp_path) == [{"error": error, "sums": []}] * 4


def test_a_rank_that_raises_is_not_waited_for(tmp_path: Path) -> None:
    error = (
        "group 2 in order of creation differs: rank 1: no further group (ValueError); the others: [1, 3] (gloo)"
    )
    errors = [one["error"] for one in said("raises", tmp_path)]
    assert errors == [error, "own", error, error]
