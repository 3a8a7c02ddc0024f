"""Input data whose every element depends on seed, rank and position, and the exact result of operations on it.

Values are small integers that the element type represents exactly, chosen so that every partial sum or
product is exact too: the order in which a backend reduces cannot change the result, and the check needs no
tolerance. A swapped chunk, a swapped rank, a permuted element and a missing contribution all change the
result. Work goes block by block, so that checking needs a few MiB beside the buffers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from nccltool.probe.collectives.base import Part
from nccltool.probe.dtypes import is_float, largest_exact

BLOCK = 2**17
"""Elements worked on at a time: 1 MiB of int64, which stays in the cache."""

MAX_CONTRIBUTORS = 16
"""Ranks that put a value other than the neutral one into one element of a reduction. With more ranks than
this the contributors change from element to element, so that each rank contributes to many elements."""

_AVG_ULPS = 2
"""avg divides: backends scale before or after adding, so two units in the last place are allowed (nccl-tests
allows the same)."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The data of one check."""

    seed: int
    dtype: torch.dtype
    dtype_name: str
    world_size: int
    reduce_op: str | None
    """None for operations that only move data."""

    def fill(self, buffer: Tensor, rank: int) -> None:
        """Write the input of `rank` into its send buffer."""
        for start, stop in _blocks(len(buffer)):
            index = _index(start, stop, buffer.device)
            buffer[start:stop] = self._value(index, rank).to(self.dtype)

    def wrong(self, buffer: Tensor, part: Part, tick: Callable[[], None]) -> tuple[int, int | None]:
        """(wrong elements in this part of a receive buffer, index of the first one in the buffer)."""
        count, first = 0, None
        for start, stop in _blocks(part.length):
            tick()
            got = buffer[part.start + start : part.start + stop]
            bad = self._differs(got, self.expected(part, start, stop, buffer.device))
            here = int(bad.sum())
            if here and first is None:
                first = part.start + start + int(bad.nonzero()[0])
            count += here
        return count, first

    def expected(self, part: Part, start: int, stop: int, device: torch.device) -> Tensor:
        """What must stand in elements start..stop of a part: int64, or a float for the avg of floats."""
        index = _index(part.source_start + start, part.source_start + stop, device)
        if part.source is not None:
            return self._value(index, part.source)
        return self._reduced(index)

    def _differs(self, got: Tensor, expected: Tensor) -> Tensor:
        if not expected.is_floating_point():
            return got != expected.to(self.dtype)
        # |x| * eps is at least one unit in the last place of x
        allowed = _AVG_ULPS * torch.finfo(self.dtype).eps * expected.abs()
        return ~((got.to(torch.float64) - expected).abs() <= allowed)  # `not <=` so that NaN is wrong

    def _value(self, index: Tensor, rank: int | Tensor) -> Tensor:
        """The input of `rank` at the elements `index`, int64."""
        hashed = _hash(index, rank, self.seed)
        if self.reduce_op is None:
            return hashed % self._top()
        contributes = (index + rank) % self._stride() == 0
        return torch.where(contributes, 1 + hashed % self._range(), self._neutral())

    def _reduced(self, index: Tensor) -> Tensor:
        """The reduction of all ranks' inputs at the elements `index`."""
        assert self.reduce_op is not None
        combine = _COMBINE[self.reduce_op]
        first = -index % self._stride()  # the lowest rank with (index + rank) % stride == 0
        total = torch.full_like(index, self._neutral())
        for nth in range(self._contributors()):
            rank = first + nth * self._stride()
            value = self._value(index, rank)
            total = torch.where(rank < self.world_size, combine(total, value), total)
        if self.reduce_op != "avg":
            return total
        return total.to(torch.float64) / self.world_size if is_float(self.dtype_name) else total // self.world_size

    def _contributors(self) -> int:
        most = {"prod": self._top().bit_length() - 1, "avg": 2}.get(self.reduce_op or "", MAX_CONTRIBUTORS)
        return min(self.world_size, most, MAX_CONTRIBUTORS)

    def _stride(self) -> int:
        return -(-self.world_size // self._contributors())

    def _range(self) -> int:
        if self.reduce_op == "prod":
            return 2  # factors 1 and 2: the product stays a power of two
        return self._top() // self._contributors() if self.reduce_op in ("sum", "avg") else self._top() - 1

    def _neutral(self) -> int:
        return {"prod": 1, "min": self._top()}.get(self.reduce_op or "", 0)

    def _top(self) -> int:
        return min(largest_exact(self.dtype_name), 2**31 - 1)


_COMBINE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": torch.add,
    "avg": torch.add,
    "prod": torch.mul,
    "min": torch.minimum,
    "max": torch.maximum,
}


def _blocks(length: int) -> Iterator[tuple[int, int]]:
    for start in range(0, length, BLOCK):
        yield start, min(start + BLOCK, length)


def _index(start: int, stop: int, device: torch.device) -> Tensor:
    return torch.arange(start, stop, dtype=torch.int64, device=device)


def _hash(index: Tensor, rank: int | Tensor, seed: int) -> Tensor:
    """31 well-mixed bits of (index, rank, seed): multiply and fold, wrapping in int64."""
    mixed = index * 0x1E3779B97F4A7C15 + _times(rank, 0x1F83D9ABFB41BD6B) + _times(seed, 0x5BE0CD19137E2179)
    mixed = (mixed ^ (mixed >> 29)) * 0x3C6EF372FE94F82B
    mixed = (mixed ^ (mixed >> 32)) * 0x2545F4914F6CDD1D
    return (mixed >> 32) & 0x7FFFFFFF


def _times(number: int | Tensor, factor: int) -> int | Tensor:
    """(number + 1) * factor, wrapped into int64 as tensors do it by themselves."""
    if isinstance(number, Tensor):
        return (number + 1) * factor
    return ((number + 1) * factor + 2**63) % 2**64 - 2**63
