"""nccltool env: what is printed, and what is bad input."""

import pytest

from tests.conftest import Nccltool


def test_settings_with_reason_and_source(nccltool: Nccltool) -> None:
    said = nccltool("env", "aws-efa")
    assert (said.code, said.err) == (0, "")
    title, *_, reason, setting = said.out.splitlines()
    assert title == "# AWS with EFA (p4d to p6)"
    assert reason.startswith("# ")
    assert reason.endswith("(aws/aws-ofi-nccl, doc/efa-env-var.md)")
    assert setting == "export NCCL_SOCKET_IFNAME='^docker,lo,veth'"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "no fabric is called 'nowhere'"),
        (("aws-efa", "--nodes", "2"), "'--nodes' is an option of probe"),
        (("--prove", "infiniband"), "infiniband needs no settings"),
        (("--prove", "aws-efa", "--op", "nothing"), "unknown operation 'nothing'"),
        (("--root", "/nowhere", "auto"), "--root /nowhere contains neither proc nor sys"),
    ],
)
def test_bad_input(nccltool: Nccltool, words: tuple[str, ...], said: str) -> None:
    ended = nccltool("env", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
