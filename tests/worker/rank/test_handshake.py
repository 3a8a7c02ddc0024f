"""Greetings through the store; interfaces for Gloo that a user named, and that are of no use."""

import json
from dataclasses import asdict, replace

import pytest
import torch.distributed as dist
from torch.distributed import PrefixStore

from nccltool.launch.inside import RankPlace
from nccltool.probe import plan
from nccltool.probe.job import Sizes
from nccltool.worker.rank import handshake
from nccltool.worker.rank.handshake import Decision
from tests.samples import facts, job

pytestmark = [pytest.mark.torch, pytest.mark.quick]

ONE_HOST = Decision(
    run_id="r", go=True, backend="gloo", reason="", one_host=True, leader_host_id="h", leader_address=None
)
TWO_HOSTS = replace(ONE_HOST, one_host=False)
FIRST_OF_TWO = RankPlace(
    launcher="torchrun",
    rank=0,
    world_size=2,
    local_rank=0,
    local_world_size=1,
    node_rank=0,
    store_host="127.0.0.1",
    store_port=1,
    store_is_hosted=True,
)


def test_ranks_of_two_versions_end_in_a_finding_that_says_so() -> None:
    """What another version writes, word for word: this form must stay."""
    store, asked = PrefixStore("ranks", dist.HashStore()), job(nodes=2, nproc_per_node=1, emulated=False)
    theirs = asdict(facts(1, node_rank=1, nccltool="0.0.1"))
    store.set("greeting/1", json.dumps({"facts": theirs, "own_address": None, "dialled": "192.0.2.1"}))
    mine = facts(0, node_rank=0, nccltool="0.0.2")
    decision, findings, ranks = handshake.meet(asked, FIRST_OF_TWO, store, mine)
    assert not decision.go
    assert [one.nccltool for one in ranks] == ["0.0.2", "0.0.1"]
    assert "version-mismatch" in [one.code for one in findings if one.message.startswith("nccltool differs")]
    assert json.loads(store.get("greeting/0")).keys() == {"facts", "own_address", "dialled"}


@pytest.mark.parametrize(
    ("decision", "wanted", "why"),
    [
        (ONE_HOST, "", None),
        (ONE_HOST, "lo", None),
        (TWO_HOSTS, "lo", "lo: other hosts cannot reach its addresses"),
        (ONE_HOST, "lo,nope0", "nope0: it has "),
        (replace(ONE_HOST, backend="nccl"), "nope0", None),
    ],
)
def test_why_an_interface_cannot_be_used(decision: Decision, wanted: str, why: str | None) -> None:
    found = handshake.interface_problem(decision, facts(1), wanted)
    assert (found is None) == (why is None)
    assert found is None or (why or "") in found.message


def test_the_least_memory_of_a_rank_bounds_the_steps_of_all() -> None:
    store = PrefixStore("ranks", dist.HashStore())
    sizes = Sizes(listed=(2**20, 2**30))
    asked = job(nodes=1, nproc_per_node=2, emulated=False, backend="gloo", ops=("all_reduce",), sizes=sizes)
    theirs = facts(1, node_rank=0, host_free_bytes=2**30)
    store.set("greeting/1", json.dumps({"facts": asdict(theirs), "own_address": None, "dialled": None}))
    mine = facts(0, node_rank=0, host_free_bytes=2**34)
    decision, findings, _ = handshake.meet(asked, FIRST_OF_TWO, store, mine)
    assert decision.go
    assert [finding.message for finding in findings if finding.code == "left-out"] == [
        f"all_reduce at 1 GiB was left out: it needs 1.1 GB, but rank 1 on {theirs.host} "
        "has 0.5 GB of memory free, its share among 2 ranks"
    ]
    steps = plan.steps(asked, decision.backend, 2, decision.bytes_for_step)
    assert [step.layout.bytes for step in steps] == [2**20]


@pytest.mark.parametrize(
    ("hosts", "gpus", "expected"),
    [
        ("aabb", ("G0", "G1", "G2", "G3"), frozenset({"G2", "G3"})),
        ("aaab", ("G0", "G1", "G2", "G3"), None),  # dealt out otherwise
        ("aabb", ("G0", "G1", "G2", None), None),
        ("aabb", ("G0", "G1", "G2", "G2"), None),  # which two of them share
    ],
)
def test_the_gpus_of_the_ranks_of_a_host(
    hosts: str, gpus: tuple[str | None, ...], expected: frozenset[str] | None
) -> None:
    store = PrefixStore("ranks", dist.HashStore())
    theirs = [replace(facts(0), rank=rank, host_id=hosts[rank], gpu=gpu) for rank, gpu in enumerate(gpus)]
    for one in theirs:
        greeting = {"facts": asdict(one), "own_address": None, "dialled": None}
        store.set(f"greeting/{one.rank}", json.dumps(greeting))
    place = replace(FIRST_OF_TWO, rank=2, world_size=4, local_world_size=2, node_rank=1)
    assert handshake.gpus_here(place, store, theirs[2]) == (expected if hosts[2] == "b" else None)
    assert handshake.gpus_here(replace(place, rank=3), store, theirs[3]) is None
