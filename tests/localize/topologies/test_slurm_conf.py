"""Slurm's topology.conf."""

from nccltool.localize.topologies import slurm_conf


def test_lines_that_go_on_and_comments() -> None:
    text = "SwitchName=a Nodes=n1,\\\n  n2 LinkSpeed=4 # SwitchName=b Nodes=n9\n"
    assert slurm_conf.recognises(text)
    assert dict(slurm_conf.read(text, "f").leaf_of) == {"n1": "a", "n2": "a"}
    assert not slurm_conf.recognises("n1 SwitchName")
