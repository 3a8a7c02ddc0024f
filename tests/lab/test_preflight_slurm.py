"""Preflight in an allocation of a real Slurm, whose srun takes the list of what it found."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import slurm
from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.slurm import Slurm
from tests.support.commands import NCCLTOOL

pytestmark = [pytest.mark.lab, pytest.mark.slow]
LIMIT_S = 240.0
SUITE = """schema = 1
title = "lab"
about = "20 s"
[inventory]
[reach]
[within]
ops = ["all_reduce"]
sizes = ["64 KiB"]
[across]
ops = ["all_reduce"]
sizes = ["64 KiB"]
"""


@pytest.fixture
def cluster(possible: None) -> Iterator[Slurm]:
    if reason := slurm.missing():
        pytest.skip(reason)
    with Lab(3) as lab, Slurm(lab) as started:
        yield started


def test_what_is_found_is_excluded(cluster: Slurm, start: Start, tmp_path: Path) -> None:
    suite, lists = tmp_path / "lab.toml", tmp_path / "lists"
    suite.write_text(SUITE)
    words = ("--suite", str(suite), "--hosts-dir", str(lists), "--format", "json", "-q", "--nproc-per-node", "2")
    argv = ("salloc", "-N3", *NCCLTOOL, "preflight", *words)
    ended = start(cluster.first, argv, **cluster.env, NCCLTOOL_FAULT="corrupt:rank=3").wait(LIMIT_S)
    found = json.loads(ended.stdout)
    failed = {(one["code"], one["host"], one["shown"]) for one in found["outcomes"] if one["status"] == "fail"}
    assert (ended.code, failed) == (1, {("within/data", "n2", "alone")}), ended.said  # rank 3 is its second one
    assert (lists / "nodes.exclude").read_text() == "n2\n"
    assert (lists / "hosts.pass").read_text() == "n1\nn3\n"
    said = cluster.run("srun", "-N2", f"--exclude={lists}/nodes.exclude", "hostname")
    assert sorted(said.split()) == ["n1", "n3"]


def test_a_host_is_tested_again_with_another_partner(cluster: Slurm, start: Start, tmp_path: Path) -> None:
    suite = tmp_path / "lab.toml"
    suite.write_text(SUITE)
    argv = ("salloc", "-N3", *NCCLTOOL, "preflight", "--suite", str(suite), "--format", "json", "-q")
    ended = start(cluster.first, argv, **cluster.env, NCCLTOOL_FAULT="corrupt:rank=1").wait(LIMIT_S)
    found = json.loads(ended.stdout)
    failed = {(one["code"], one["host"], one["shown"]) for one in found["outcomes"] if one["status"] == "fail"}
    assert (ended.code, failed) == (1, {("across/data", "n2", "confirmed")}), ended.said
