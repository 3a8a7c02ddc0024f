"""Scratch memory in which values are worked out, a block of elements at a time.

Every operation writes into tensors that are there already: on a GPU a block is large, so that a buffer of any size
takes few kernels, and nothing is read back but a count for each block, once, at the end.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from nccltool.probe.memory import CHECKED_AT_ONCE, GPU_SCRATCH, scratch_per_element
from nccltool.worker import memory

_WHOLE_NUMBERS = 5
_FACTOR = 0x1E3779B97F4A7C15


def block_of(element_size: int, free: int | None) -> int:
    """Elements of a block, where so many bytes are free on a device; None = on a CPU."""
    if free is None:
        return CHECKED_AT_ONCE
    return max(min(GPU_SCRATCH, free // 2) // scratch_per_element(element_size), CHECKED_AT_ONCE)


def _free(device: torch.device) -> int | None:
    return memory.free(device) if device.type == "cuda" else None


class Scratch:
    """Tensors of one block, of which each method uses as much as the present block has elements."""

    def __init__(self, device: torch.device, dtype: torch.dtype, length: int) -> None:
        """For a stretch of `length` elements of this type."""
        self.length = length
        self.block = block = max(min(length, block_of(dtype.itemsize, _free(device))), 1)
        self._steps = torch.arange(block, dtype=torch.int64, device=device).mul_(_FACTOR)
        rows = torch.empty(_WHOLE_NUMBERS - 1, block, dtype=torch.int64, device=device)
        self._value, self._second, self._third, self._spare = rows.unbind()
        self._typed = torch.empty(block, dtype=dtype, device=device)
        self._differs = torch.empty(block, dtype=torch.bool, device=device)
        self._counts = torch.zeros(-(-length // block), dtype=torch.int64, device=device)
        self.use(0, block)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """(start, stop) of each block of the stretch, which the tensors below then have room for."""
        for start in range(0, self.length, self.block):
            stop = min(start + self.block, self.length)
            self.use(start, stop)
            yield start, stop

    def use(self, start: int, stop: int) -> None:
        """Cut the tensors to this block."""
        count, self._number = stop - start, start // self.block
        self.steps, self.value, self.spare = self._steps[:count], self._value[:count], self._spare[:count]
        self.second, self.third = self._second[:count], self._third[:count]
        self.typed, self.differs = self._typed[:count], self._differs[:count]

    def _hash(self, out: Tensor, first: int, key: int) -> None:
        """31 well-mixed bits of (index, key), for indices from `first` on: multiply and fold, in int64."""
        torch.add(self.steps, wrapped(first * _FACTOR + key), out=out)
        for shift, factor in ((29, 0x3C6EF372FE94F82B), (32, 0x2545F4914F6CDD1D)):
            torch.bitwise_right_shift(out, shift, out=self.spare)
            out.bitwise_xor_(self.spare).mul_(factor)
        out.bitwise_right_shift_(32).bitwise_and_(0x7FFFFFFF)

    def draw(self, out: Tensor, first: int, key: int, bound: int) -> None:
        """A hash, scaled to 0 .. bound - 1; bound is at most 2**31."""
        self._hash(out, first, key)
        out.mul_(bound).bitwise_right_shift_(31)

    def residues(self, first: int, modulus: int, out: Tensor) -> None:
        """(first + i) modulo a power of two."""
        torch.arange(first, first + len(out), out=out)
        out.bitwise_and_(modulus - 1)

    def count(self) -> None:
        """Note how many of this block differ, without waiting for it."""
        torch.sum(self.differs, dim=0, out=self._counts[self._number])

    def counted(self) -> list[int]:
        """How many differ in each block: the one place that waits for the device."""
        counts: list[int] = self._counts.tolist()
        return counts


def wrapped(number: int) -> int:
    """Into int64, as tensors do it by themselves."""
    return (number + 2**63) % 2**64 - 2**63
