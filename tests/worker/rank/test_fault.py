"""A fault inside a rank, where it is due and nowhere else."""

import pytest
import torch

from nccltool.launch import fault_injection
from nccltool.worker.rank.fault import FaultInjector, InjectedFault

pytestmark = [pytest.mark.torch, pytest.mark.quick]


@pytest.mark.parametrize(
    ("op", "size", "expected"), [("a", 8, [1, 0, 1]), ("b", 8, [1, 1, 1]), ("a", 4, [1, 1, 1])]
)
def test_one_element_is_another_one(op: str, size: int, expected: list[int]) -> None:
    injector = FaultInjector(fault_injection.parse("corrupt:rank=0,op=a,size=8"), 0)
    buffer = torch.zeros(3, dtype=torch.int32)

    def fill() -> None:
        buffer.fill_(1)

    injector.corrupted(fill, buffer, op, size)()
    assert buffer.tolist() == expected


@pytest.mark.parametrize(("rank", "attempt", "raises"), [(1, 0, True), (0, 0, False), (1, 1, False)])
def test_it_is_due_once_and_in_the_third_iteration(rank: int, attempt: int, raises: bool) -> None:
    injector = FaultInjector(fault_injection.parse("raise:rank=1,attempt=0"), rank, attempt)
    calls: list[None] = []
    call = injector.disturbed(lambda: calls.append(None), "a", 8)
    call()
    call()
    if raises:
        with pytest.raises(InjectedFault):
            call()
    assert len(calls) == 2
