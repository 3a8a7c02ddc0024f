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
        (("nowhere",), "no fabric is called 'nowhere'\n  -> choose from auto, aws-efa, "),
        (("infinband",), "did you mean infiniband? choose from auto, aws-efa, "),
        (("AWS",), "did you mean aws-efa or aws-gb200? choose from auto, "),
        (("gcp",), "did you mean gcp-gib or gcp-tcp or gcp-tcpx or gcp-tcpxo? choose from auto, "),
        (("h100",), "did you mean oci-h100? choose from auto, "),
        (("x" * 5000,), "no fabric is called 'xxx"),
        (("aws-efa", "--nodes", "2"), "--nodes is an option of probe, which runs only with --prove"),
        (("aws-efa", "--prove"), "--prove must stand before the fabric\n  -> nccltool env --prove ... aws-efa"),
        (("aws-efa", "--format", "json"), "--format must stand before the fabric"),
        (("aws-efa", "--run-deadline=7"), "--run-deadline must stand before the fabric"),
        (("--prove", "aws-efa", "--root", "/"), "--root must stand before the fabric"),
        (("aws-efa", "--nothing"), "unknown option '--nothing'"),
        (("aws-efa", "roce"), "unexpected argument 'roce'"),
        (("--prove", "aws-efa", "--nothing"), "unknown option '--nothing'"),
        (("--prove", "aws-efa", "--backend", "gloo"), "Gloo reads no setting of NCCL"),
        (("--prove", "infiniband"), "infiniband needs no settings"),
        (("--prove", "aws-efa", "--op", "nothing"), "unknown operation 'nothing'"),
        (("--root", "/nowhere", "auto"), "--root /nowhere contains neither proc nor sys"),
    ],
)
def test_bad_input(nccltool: Nccltool, words: tuple[str, ...], said: str) -> None:
    ended = nccltool("env", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
