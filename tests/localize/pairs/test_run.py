"""From what ranks said to a document."""

import json
from dataclasses import replace

import pytest

from nccltool.launch.events import Hello, RankFacts, World
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from nccltool.localize import document
from nccltool.localize.pairs import run
from nccltool.localize.pairs.events import Encountered
from nccltool.localize.pairs.job import PairOp, PairsJob, PairSpec
from nccltool.probe.run import ProbeBegun
from tests.localize.pairs.test_units import rank

JOB = PairsJob(run_id="r", nodes=4, nproc_per_node=1, pairs=PairSpec())
ROUNDS = ((("n0", "n1"), ("n2", "n3")), (("n0", "n2"), ("n1", "n3")), (("n0", "n3"), ("n1", "n2")))


def facts(number: int) -> RankFacts:
    return replace(rank(number, number, f"n{number}"), world_size=4)


def state(slow: str = "") -> RunState:
    said = RunState(JOB, 4, 0.0)
    for number in range(4):
        said.apply(Hello(facts=facts(number)), 0.0)
    world = World(
        world_size=4, emulated=False, backend="gloo", backend_version="2", backend_reason="no GPU", steps=12
    )
    said.apply(world, 0.0)
    for number, pairs in enumerate(ROUNDS):
        for pair in pairs:
            busbw = (0.5 if slow in pair else 1.0) * (1e9 + 1e6 * number)
            said.apply(Encountered(round=number, members=pair, busbw_bytes_per_s=busbw, samples=9), 0.0)
    return said


def begun() -> ProbeBegun:
    return ProbeBegun(
        job=JOB,
        leads=True,
        part=0,
        parts=1,
        ranks_seen=4,
        command=("nccltool", "pairs"),
        started="2026-01-01T00:00:00Z",
        nccltool="0.1.0",
        torch="2.13",
    )


def test_nodes_have_their_names() -> None:
    within = PairSpec(is_within=True)
    assert [unit.name for unit in run.met(state(), PairSpec())] == ["n0", "n1", "n2", "n3"]
    assert [unit.name for unit in run.met(state(), within)] == ["n0/0", "n1/0", "n2/0", "n3/0"]
    assert run.met(RunState(JOB, 4, 0.0), PairSpec()) == ()


@pytest.mark.parametrize(
    ("op", "ranks", "said"), [("send_recv", (0, 2, 3), True), ("all_reduce", (0, 1, 2, 3), False)]
)
def test_nodes_with_more_ranks_than_others(op: PairOp, ranks: tuple[int, ...], said: bool) -> None:
    uneven, spec = RunState(JOB, 4, 0.0), PairSpec(op=op)
    for number, node in enumerate((0, 0, 1, 2)):
        uneven.apply(Hello(facts=replace(rank(number, node, f"n{node}"), world_size=4)), 0.0)
    assert tuple(one for unit in run.met(uneven, spec) for one in unit.ranks) == ranks
    begun_here = replace(begun(), job=replace(JOB, nodes=3, nproc_per_node=None, pairs=spec))
    found = run.judged(LaunchOutcome(uneven, (), interrupted=False), begun_here).findings
    text = "1 rank of each node took part, because not all nodes have more; the others of n0 did not"
    assert (text in [finding.message for finding in found]) == said


def test_a_slow_node_is_named_and_a_healthy_run_passes() -> None:
    healthy = run.judged(LaunchOutcome(state(), (), interrupted=False), begun())
    assert (healthy.verdict.exit_code, healthy.localization.suspects) == (0, ())
    found = run.judged(LaunchOutcome(state("n2"), (), interrupted=False), begun())
    assert found.verdict.exit_code == 1
    assert [suspect.subject for suspect in found.localization.suspects] == [("n2",)]
    plain = json.loads(document.to_json(found))
    assert (plain["kind"], len(plain["pairs"])) == ("pairs", 6)


def test_what_was_measured_before_an_interruption_is_kept() -> None:
    ended = run.judged(LaunchOutcome(state(), (), interrupted=True), begun())
    assert (ended.verdict.exit_code, len(ended.encounters)) == (130, 6)


def test_isolated_pairs_know_their_nodes_without_ranks() -> None:
    said = RunState(JOB, 0, 0.0)
    said.product.nodes = ("a", "b")  # type: ignore[attr-defined]
    said.apply(Encountered(round=0, members=("a", "b"), busbw_bytes_per_s=1e9, samples=9), 0.0)
    ended = run.judged(LaunchOutcome(said, (), interrupted=False), begun())
    assert [one.members for one in ended.encounters] == [("a", "b")]
