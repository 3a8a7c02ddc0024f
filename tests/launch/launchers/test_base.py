"""What all launchers stand on."""

import sys

import pytest

from nccltool.launch.launchers import base
from nccltool.launch.launchers.base import expand_counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("2", (2,)),
        ("2(x3),1", (2, 2, 2, 1)),
        ("1,2(x2),1", (1, 2, 2, 1)),
        ("0", (0,)),
        ("", None),
        ("2(x)", None),
        ("2,,1", None),
        ("-1", None),
        ("8(x999999999)", None),
        ("1(x100001)", None),
    ],
)
def test_counts_of_slurm(text: str, counts: tuple[int, ...] | None) -> None:
    assert expand_counts(text) == counts


@pytest.mark.parametrize("node_ranks", [(), (0,), (3,), tuple(range(16))])
def test_one_process_whatever_the_number_of_nodes(node_ranks: tuple[int, ...]) -> None:
    launch = base.worker_here(node_ranks, "because")
    (command,) = launch.commands
    assert (command.argv, command.nodes) == ((sys.executable, "-P", "-m", "nccltool.worker"), node_ranks)
    assert (launch.launcher, launch.why, launch.remote) == ("local", "because", False)
