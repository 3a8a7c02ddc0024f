"""The node processes that the command starts itself."""

import sys

import pytest

from nccltool.launch.launchers import local


@pytest.mark.parametrize("node_ranks", [(), (0,), (3,), tuple(range(16))])
def test_one_process_whatever_the_number_of_nodes(node_ranks: tuple[int, ...]) -> None:
    launch = local.launch(node_ranks, "because")
    (command,) = launch.commands
    assert (command.argv, command.nodes) == ((sys.executable, "-P", "-m", "nccltool.worker"), node_ranks)
    assert (launch.launcher, launch.why, launch.remote) == ("local", "because", False)
