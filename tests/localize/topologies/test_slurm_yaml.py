"""Slurm's topology.yaml."""

from nccltool.localize.topologies import slurm_yaml


def test_it_is_told_from_other_text() -> None:
    assert slurm_yaml.recognises("# a comment\n---\n- topology: tree\n")
    assert not slurm_yaml.recognises("topology leaf1\n- topologies: 2\n")
