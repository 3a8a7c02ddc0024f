"""How slow the way between the ranks may be, from what the first contact showed."""

from datetime import timedelta
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from nccltool.probe.longest_call import SLOWEST_RATE
from nccltool.worker.agreement import Agreement
from nccltool.worker.rank import contact
from nccltool.worker.rank.contact import Contact

pytestmark = [pytest.mark.torch, pytest.mark.quick]


class Linked(Agreement):
    """Two ranks with a link of so many bytes per second between them."""

    device = None

    def __init__(self, rate: float, size: int = 2) -> None:
        self.size, self._rate = size, rate
        self.sent: list[int] = []

    def add_up(self, tensor: Tensor) -> None:
        self.sent.append(tensor.nbytes)

    def maximum(self, numbers: list[int]) -> list[int]:
        return [round(self.sent[-1] / self._rate * 1e9)]


@pytest.mark.parametrize(
    ("rate", "slowest", "sent"),
    [
        (50e9, SLOWEST_RATE, [2**16, 2**16, 2**20, 2**20]),
        (0.118e9, 0.059e9, [2**16, 2**16, 2**20, 2**20]),
        (1.2e6, 0.6e6, [2**16, 2**16, 2**20, 2**20]),  # 10 Mbit/s
        (1.2e5, 0.6e5, [2**16, 2**16]),  # 1 Mbit/s: the larger one would take long
    ],
)
def test_the_slowest_rate(rate: float, slowest: float, sent: list[int]) -> None:
    group = Linked(rate)
    assert contact.slowest_rate(group) == pytest.approx(slowest, rel=0.001)
    assert group.sent == sent


def test_one_rank_sends_nothing() -> None:
    group = Linked(1.0, size=1)
    assert (contact.slowest_rate(group), group.sent) == (SLOWEST_RATE, [])


def test_gloo_and_one_host_have_no_adapters_that_repeat() -> None:
    assert contact.retries_s("gloo", one_host=False, nccl="2.27.3") == 0.0
    assert contact.retries_s("nccl", one_host=True, nccl="2.27.3") == 0.0


def test_settings_of_nccl_say_how_long_adapters_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_NET", "IB")
    assert contact.retries_s("nccl", one_host=False, nccl="2.27.3") == pytest.approx(34.4, rel=0.01)
    monkeypatch.setenv("NCCL_IB_TIMEOUT", "22")
    assert contact.retries_s("nccl", one_host=False, nccl="2.27.3") == pytest.approx(137.4, rel=0.01)
    monkeypatch.setenv("NCCL_NET", "Socket")
    assert contact.retries_s("nccl", one_host=False, nccl="2.27.3") == 0.0


def test_the_first_call_connects_over_nccl() -> None:
    assert (Contact().first_call_s, Contact(backend="nccl", ranks=8).first_call_s) == (0.0, 4.0)


def test_groups_of_libraries_wait_as_long_as_the_run() -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        groups = (dist.group.WORLD, dist.new_group([0]))
        contact.let_groups_wait(None)
        assert timedelta(seconds=3660) not in map(timeout_of, groups)
        contact.let_groups_wait(3660.0)
        assert set(map(timeout_of, groups)) == {timedelta(seconds=3660)}
    finally:
        dist.destroy_process_group()


def timeout_of(group: Any) -> timedelta:
    timeout: timedelta = group._get_backend(torch.device("cpu")).options._timeout
    return timeout
