"""`nccltool attach` over a real ssh, in a real Slurm, and in containers: trials of `scripts/bench attach_far`."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from benchmarks.attach_far_job import FarJob
from benchmarks.attach_far_states import STATES
from benchmarks.attach_places.containers import InContainers
from benchmarks.attach_places.slurm import InSlurm
from benchmarks.attach_places.ssh import OverSsh

pytestmark = [pytest.mark.lab, pytest.mark.torch, pytest.mark.slow]
_BY_NAME = {one.name: one for one in STATES}


@pytest.mark.parametrize(
    ("kind", "name", "rank"),
    [
        pytest.param(OverSsh, "dead", 1, id="ssh: dead, alone on its host"),
        pytest.param(OverSsh, "stopped, another host unreachable", 0, id="ssh: a host does not answer"),
        pytest.param(InSlurm, "stopped", 1, id="a Slurm job"),
        pytest.param(InContainers, "stopped", 1, id="containers, seen from their host"),
    ],
)
def test_a_rank_and_its_host_are_named(kind: Any, name: str, rank: int, tmp_path: Path) -> None:
    if reason := kind.missing():
        pytest.skip(reason)
    state = _BY_NAME[name]
    with ExitStack() as stack:
        place = kind(tmp_path, stack)
        hosts = place.hosts()
        job = FarJob(
            state=state,
            strategy="ddp",
            launcher="none",
            hosts=hosts,
            per_host=1,
            rank=rank,
            folder=tmp_path / "job",
        )
        job.prepare()
        with place.started(job):
            job.come_to_fault()
            place.act(job)
            sight = next(iter(place.sights(job)))
    found = sight.document
    assert found, sight.said
    named = [(one["cause"], one["rank"], one["host"]) for one in found["culprits"] if one["level"] != "low"]
    assert (found["state"], named) == ("hung", [(state.causes[0], rank, sight.host or hosts[rank])])
