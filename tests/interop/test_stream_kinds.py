"""Streams of each command that can be collected give its run."""

from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.interop import collect, stream_kinds
from nccltool.launch.events import Event, Hello, World
from nccltool.localize import document
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.pairs.events import Encountered, RoundEnded
from nccltool.localize.pairs.job import PairsJob, PairSpec
from nccltool.probe.run import ProbeBegun
from tests.localize.pairs.test_run import ROUNDS, facts
from tests.support.streams import LEADER, begun, ended, part

WORLD = World(world_size=4, emulated=False, backend="gloo", backend_version="2", backend_reason="no GPU", steps=12)


def pairs_begun(spec: PairSpec, node: int = 0) -> ProbeBegun:
    job = PairsJob(run_id=LEADER, nodes=4, nproc_per_node=1, pairs=spec, node_ranks=tuple(range(4)))
    return begun(node, job=job, parts=1, ranks_seen=4, command=("nccltool", "pairs", "--events"))


def said(rounds: int) -> list[Event]:
    met: list[Event] = [Hello(facts=facts(number)) for number in range(4)]
    met.append(WORLD)
    for number, pairs in enumerate(ROUNDS[:rounds]):
        for pair in pairs:
            rate = (0.5 if "n2" in pair else 1.0) * (1e9 + 1e6 * number)
            met.append(Encountered(round=number, members=pair, busbw_bytes_per_s=rate, samples=9))
        met.append(RoundEnded(step=number, meetings=2, missing=0))
    return met


def of(lines: list[bytes], folder: Path) -> collect.Collected:
    file = folder / "pods.log"
    file.write_bytes(b"".join(lines))
    return collect.collect([str(file)], folder / "runs")


def test_a_run_of_pairs(tmp_path: Path) -> None:
    end = replace(ended(), nodes=4)
    found = of(part(pairs_begun(PairSpec()), said(3), end), tmp_path)
    assert isinstance(found.run, LocalizedRun)
    assert (found.run.verdict.exit_code, len(found.run.encounters)) == (1, 6)
    assert [one.subject for one in found.run.localization.suspects] == [("n2",)]
    again = document.from_json((found.folder / "run.json").read_bytes(), "")
    assert again.encounters == found.run.encounters


def test_pairs_whose_stream_was_cut_keep_their_rows(tmp_path: Path) -> None:
    found = of(part(pairs_begun(PairSpec()), said(2), None), tmp_path)
    assert isinstance(found.run, LocalizedRun)
    assert (found.run.verdict.exit_code, len(found.run.encounters)) == (3, 4)
    assert "stream-cut" in [finding.code for finding in found.run.findings]


@pytest.mark.parametrize("other", [PairSpec(op="send_recv"), PairSpec(group_size=3), PairSpec(seed=2)])
def test_what_was_asked_for_is_compared(other: PairSpec) -> None:
    one, two = (stream_kinds.asked(pairs_begun(spec).job) for spec in (PairSpec(), other))
    assert one != two
    assert one == stream_kinds.asked(pairs_begun(PairSpec()).job)
