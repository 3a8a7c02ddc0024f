"""Topologies from files."""

from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.localize import topologies


def _read(text: str | bytes, folder: Path) -> dict[str, str]:
    file = folder / "topology.conf"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return dict(topologies.read(str(file)).leaf_of)


SLURM = """\
# two leaves and a spine
SwitchName=leaf1 Nodes=n[01-02] LinkSpeed=400
switchname=leaf2 nodes=n03,\\
n04
SwitchName=spine Switches=leaf[1-2]
"""


YAML = """\
---
- topology: ib
  cluster_default: false
  block:
    block_sizes: [2]
    blocks:
      - block: b1
        nodes: n[01-04]
- topology: tree
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: leaf[1-2]
      - switch: leaf1
        nodes: n[01-02]
      - {switch: leaf2, nodes: "n03,n04"}
"""
FOUR = {"n01": "leaf1", "n02": "leaf1", "n03": "leaf2", "n04": "leaf2"}
MNNVL = "{}:77:90 [0] NCCL INFO MNNVL busId 0xb0000 fabric UUID {} cliqueId 0x7ffe state 3 healthMask 0x0\n"
LOG = "0: " + MNNVL.format("gb1", "7a4af5e106e46349.c4fe63d71b7d9aa1") + MNNVL.format("gb2", "0.0")


def test_the_racks_in_names_are_asked_for() -> None:
    assert topologies.read("host-names").is_by_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SLURM, {"n01": "leaf1", "n02": "leaf1", "n03": "leaf2", "n04": "leaf2"}),
        (YAML, FOUR),
        (YAML.replace("true", "false"), dict.fromkeys(FOUR, "b1")),
        ("- topology: a\n  flat: true\n" + YAML.replace("---\n", ""), FOUR),
        (LOG, {"gb1": "7a4af5e106e46349.c4fe63d71b7d9aa1/7ffe"}),
        ("BlockName=b1 Nodes=n[1-2]\nBlockSizes=2\n", {"n1": "b1", "n2": "b1"}),
        ("n[1-2] leaf1\n# a comment\nn3 leaf2 mlx5_0,mlx5_1\n", {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2"}),
    ],
)
def test_each_format(text: str, expected: dict[str, str], tmp_path: Path) -> None:
    assert _read(text, tmp_path).items() >= expected.items()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it names no node"),
        (b"\xff\xfe\x00", "it is not UTF-8 text"),
        ("n1\n", "line 1: expected NODE LEAF"),
        ("n1 a\nn1 b\n", "line 2: n1 is on a and on b"),
        ("n[1-999999999] a\n", "line 1: .* has too many nodes"),
        ("n[1- a\n", "line 1: .* is not a list of nodes"),
        ("- topology: a\n  flat: true\n", "no switch has nodes"),
        ("- topology: a\n  tree: [\n", "line 3: not YAML"),
        ("- topology: a\n- 5\n", "it is not a list of topologies"),
        ("- topology: a\n  tree: {switches: 5}\n", "tree has no list of switches"),
        ("- topology: a\n  tree: {switches: [{switch: s1, nodes: [n1]}]}\n", "s1: its nodes are no text"),
        ("- topology: a\n  tree: {switches: [{switch: s1, nodes: 'n[1-'}]}\n", "s1: .* is not a list of nodes"),
        (YAML.replace("n03", "n01"), "leaf2: n01 is also on leaf1"),
        ("- topology: " + "[" * 100_000, "not YAML"),
        (MNNVL.format("n1", "0.0"), "names no NVLink domain"),
        (LOG + MNNVL.format("gb1", "5.6"), "gb1 is in 7a4a.* and in 5.6/7ffe"),
        ('<system version="2">\n  <cpu/>\n</system>\n', "describes the inside of one host"),
        ("SwitchName=spine Switches=a\n", "no switch has nodes"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", "line 2: n1 is on a and on b"),
    ],
)
def test_what_is_refused(text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message):
        _read(text, tmp_path)
