"""Whether data of a rank still flows, from what the kernel says of its connections."""

from collections.abc import Collection

import pytest

from nccltool.core import processes
from nccltool.hosts.sources import tcp_peers
from nccltool.worker.node.data_flow import LEAST_BYTES, DataFlow


@pytest.mark.parametrize(
    ("carried", "flowed"),
    [
        pytest.param([5_000_000, 5_000_000, 5_000_000], [False, False, False], id="it hangs"),
        pytest.param([5_000_000, 6_250_000, 7_500_000], [False, True, True], id="10 Mbit/s"),
        pytest.param([5_000_000, 5_000_400, 5_000_800], [False, False, False], id="only signs of life"),
        pytest.param([0, LEAST_BYTES, LEAST_BYTES], [False, True, False], id="it stops"),
        pytest.param([5_000_000, 0, 100], [False, False, False], id="a connection closes"),
    ],
)
def test_what_flows(carried: list[int], flowed: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter(carried)
    monkeypatch.setattr(processes, "sockets", lambda pid: {7})
    monkeypatch.setattr(tcp_peers, "carried_bytes", lambda sockets: next(left))
    flow = DataFlow(1)
    assert [flow.has_flowed() for _ in carried] == flowed


def test_what_the_kernel_does_not_tell_is_no_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(sockets: Collection[int]) -> int:
        raise PermissionError

    monkeypatch.setattr(processes, "sockets", lambda pid: {7})
    monkeypatch.setattr(tcp_peers, "carried_bytes", refused)
    flow = DataFlow(1)
    assert (flow.has_flowed(), flow.has_flowed()) == (False, False)


def test_a_rank_that_got_on_is_looked_at_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([1_000_000, 9_000_000, 9_000_000])
    monkeypatch.setattr(processes, "sockets", lambda pid: {7})
    monkeypatch.setattr(tcp_peers, "carried_bytes", lambda sockets: next(left))
    flow = DataFlow(1)
    assert not flow.has_flowed()
    flow.forget()
    assert (flow.has_flowed(), flow.has_flowed()) == (False, False)
