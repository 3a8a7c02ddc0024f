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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SLURM, {"n01": "leaf1", "n02": "leaf1", "n03": "leaf2", "n04": "leaf2"}),
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
        ("SwitchName=spine Switches=a\n", "no switch has nodes"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", "line 2: n1 is on a and on b"),
    ],
)
def test_what_is_refused(text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message):
        _read(text, tmp_path)
