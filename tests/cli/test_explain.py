"""nccltool explain."""

import pytest

from tests.conftest import Nccltool


@pytest.mark.parametrize(
    "word",
    ["SYN009", "syn-009", "quoted-value", "NCCL_IB_GID_INDEX", "nccl_timeout", "ib-link", "NccltoolWrongData"],
)
def test_explain(word: str, nccltool: Nccltool) -> None:
    said = nccltool("explain", word)
    assert (said.code, said.err) == (0, "")
    assert len(said.out.splitlines()) > 5
    assert max(len(line) for line in said.out.splitlines()) < 160


def test_explain_shows_the_rules_of_a_variable(nccltool: Nccltool) -> None:
    assert "TUN002 tiny-buffer" in " ".join(nccltool("explain", "NCCL_BUFFSIZE").out.split())
