"""The node processes that the command starts itself."""

import sys

import pytest

from nccltool.launchers import local
from nccltool.model import Job
from tests.samples import job


@pytest.mark.parametrize(
    "wanted", [job(), job(nodes=16), job(node_ranks=(3,), emulated=False), job(node_ranks=())]
)
def test_one_process_whatever_the_number_of_nodes(wanted: Job) -> None:
    assert local.commands(wanted) == ((sys.executable, "-P", "-m", "nccltool.worker"),)
