"""Interfaces for Gloo that a user named, and that are of no use."""

from dataclasses import replace

import pytest

from nccltool.worker.rank import handshake
from nccltool.worker.rank.handshake import Decision
from tests.samples import facts

pytestmark = [pytest.mark.torch, pytest.mark.quick]

ONE_HOST = Decision(
    run_id="r", go=True, backend="gloo", reason="", one_host=True, leader_host_id="h", leader_address=None
)
TWO_HOSTS = replace(ONE_HOST, one_host=False)


@pytest.mark.parametrize(
    ("decision", "wanted", "why"),
    [
        (ONE_HOST, "", None),
        (ONE_HOST, "lo", None),
        (TWO_HOSTS, "lo", "lo: its addresses lead to no other host"),
        (ONE_HOST, "lo,nope0", "nope0: it has "),
        (replace(ONE_HOST, backend="nccl"), "nope0", None),
    ],
)
def test_why_an_interface_cannot_be_used(decision: Decision, wanted: str, why: str | None) -> None:
    found = handshake.interface_problem(decision, facts(1), wanted)
    assert (found is None) == (why is None)
    assert found is None or (why or "") in found.message
