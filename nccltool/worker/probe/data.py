"""Input data whose every element depends on seed, rank and position, and the exact result of operations on it.

Values are small integers that the element type represents exactly, chosen so that every partial sum or
product is exact too: the order in which a backend reduces cannot change the result, and the check needs no
tolerance. A swapped chunk, a swapped rank, a permuted element and a missing contribution all change the
result: in nearly all elements of what is moved, and of a sum where the rank contributes; in every other one of a
product there; in one of as many as there are ranks of a maximum. Work goes block by block, in scratch memory of a
block.

What ranks put into a reduction is made from its result, not the result from what they put in: a total is drawn
for each element and dealt out to the ranks that contribute to it. So its check takes one draw in any world.

- sum, avg: of t, dealt to k ranks, the one in place p gets floor((t + p) / k); over all places that is t
  (Hermite's identity). Places turn from element to element. Neighbours in place also share a number: one has it,
  the other what it lacks to the largest, or they would have nearly the same. Everybody adds 1: no part is nothing.
- prod: the same for the exponents of 2, each 0 or 1.
- max: the total is what one of the ranks has, drawn for each element; the others have less. min: its mirror image.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from nccltool.probe.collectives.base import Part
from nccltool.probe.dtypes import is_float, largest_exact
from nccltool.worker.probe.scratch import Scratch, wrapped

MAX_CONTRIBUTORS = 16
"""Ranks that put a value other than the neutral one into one element of a sum or product. With more ranks than
this the contributors change from element to element, so that each rank contributes to many elements."""

_AVG_ULPS = 2
"""avg divides: backends scale before or after adding, so two units in the last place are allowed (nccl-tests
allows the same)."""
_PAIRED = 4
"""One part in so many of a rank's range is what neighbours in place share; the rest is for the total."""
_HALF_BITS = 15
_HALF_A_DRAW = 2**_HALF_BITS
"""The lower half of a draw says the place, the upper one what neighbours share."""
_TOTAL, _PLACE = -1, -2
"""In the place of a rank in a hash: draws that all ranks make alike."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The data of one check."""

    seed: int
    dtype: torch.dtype
    dtype_name: str
    world_size: int
    reduce_op: str | None
    """None for operations that only move data."""

    def fill(self, buffer: Tensor, rank: int, tick: Callable[[], None]) -> None:
        """Write the input of `rank` into its send buffer."""
        scratch = Scratch(buffer.device, self.dtype, len(buffer))
        for start, stop in scratch.blocks():
            tick()
            self._input(scratch, start, rank)
            buffer[start:stop].copy_(scratch.value)

    def wrong(self, buffer: Tensor, part: Part, tick: Callable[[], None]) -> tuple[int, int | None]:
        """(wrong elements in this part of a receive buffer, index of the first one in the buffer)."""
        scratch = Scratch(buffer.device, self.dtype, part.length)
        for start, stop in scratch.blocks():
            tick()
            self._compare(scratch, part, start, buffer[part.start + start : part.start + stop])
            scratch.count()
        counts = scratch.counted()
        first = next((number for number, count in enumerate(counts) if count), None)
        if first is None:
            return 0, None
        start = first * scratch.block
        stop = min(start + scratch.block, part.length)
        scratch.use(start, stop)
        self._compare(scratch, part, start, buffer[part.start + start : part.start + stop])
        return sum(counts), part.start + start + int(scratch.differs.nonzero()[0])

    def expected(self, part: Part, start: int, stop: int, device: torch.device) -> Tensor:
        """What must stand in elements start..stop of a part: int64, or a float for the avg of floats."""
        parts = []
        scratch = Scratch(device, self.dtype, stop - start)
        for begin, _ in scratch.blocks():
            self._output(scratch, part, start + begin)
            parts.append((self._average(scratch) if self._divides else scratch.value).clone())
        return torch.cat(parts)

    def _compare(self, scratch: Scratch, part: Part, start: int, got: Tensor) -> None:
        """Leave in `scratch.differs` where a block is not what it must be."""
        self._output(scratch, part, start)
        if not self._divides:
            scratch.typed.copy_(scratch.value)
            torch.ne(got, scratch.typed, out=scratch.differs)
            return
        expected = self._average(scratch)
        apart = scratch.value.view(torch.float64)
        apart.copy_(got).sub_(expected).abs_()
        # x * eps is at least one unit in the last place of x, and no value is negative
        expected.mul_(_AVG_ULPS * torch.finfo(self.dtype).eps)
        torch.le(apart, expected, out=scratch.differs).logical_not_()  # not `gt`: NaN is wrong

    @property
    def _divides(self) -> bool:
        """Whether the result is no whole number."""
        return self.reduce_op == "avg" and is_float(self.dtype_name)

    def _average(self, scratch: Scratch) -> Tensor:
        """The totals that stand in `scratch.value`, divided by the ranks, in memory of `scratch.spare`."""
        return scratch.spare.view(torch.float64).copy_(scratch.value).div_(self.world_size)

    # ---- what comes out: in scratch.value, from element `start` of a part on

    def _output(self, scratch: Scratch, part: Part, start: int) -> None:
        first, out = part.source_start + start, scratch.value
        if part.source is not None:
            self._draw(scratch, out, first, part.source, self._top())
        elif self.reduce_op in ("min", "max"):
            self._draw(scratch, out, first, _TOTAL, self._top() - 1)
            self._mirrored(out.add_(1))
        else:
            self._draw(scratch, out, first, _TOTAL, self._deal().totals)
            self._whole_total(scratch, first)

    def _whole_total(self, scratch: Scratch, first: int) -> None:
        """From what was dealt to the sum, product or whole average."""
        deal, out = self._deal(), scratch.value
        if self.reduce_op == "prod":
            torch.bitwise_left_shift(torch.ones_like(out), out, out=out)
            return
        few, many = deal.sure_total(deal.least), deal.sure_total(deal.least + 1)
        out.add_(few)
        if deal.more:  # one rank more contributes to some elements
            scratch.residues(first + self.seed, deal.stride, scratch.spare)
            scratch.spare.neg_().bitwise_and_(deal.stride - 1).lt_(deal.more)
            out.add_(scratch.spare, alpha=many - few)
        if self.reduce_op == "avg" and not self._divides:
            out.div_(self.world_size, rounding_mode="floor")

    # ---- what a rank puts in

    def _input(self, scratch: Scratch, first: int, rank: int) -> None:
        if self.reduce_op is None:
            self._draw(scratch, scratch.value, first, rank, self._top())
        elif self.reduce_op in ("min", "max"):
            self._candidate(scratch, first, rank)
        else:
            self._share(scratch, first, rank)

    def _candidate(self, scratch: Scratch, first: int, rank: int) -> None:
        """Of a maximum or minimum: the total where this rank was drawn, and less elsewhere."""
        out, other, is_mine = scratch.value, scratch.second, scratch.third
        self._draw(scratch, out, first, _TOTAL, self._top() - 1)
        out.add_(1)
        self._draw(scratch, other, first, rank, 2**16)
        other.mul_(out).bitwise_right_shift_(16)
        self._draw(scratch, is_mine, first, _PLACE, self.world_size)
        is_mine.eq_(rank)
        self._mirrored(out.sub_(other).mul_(is_mine).add_(other))

    def _share(self, scratch: Scratch, first: int, rank: int) -> None:
        """Of a sum or product, where this rank contributes."""
        deal, out, place = self._deal(), scratch.value, scratch.second
        ranks = deal.contributors_beside(rank)
        self._draw(scratch, out, first, _TOTAL, deal.totals)
        self._draw(scratch, scratch.third, first, _PLACE, 2 * _HALF_A_DRAW**2)
        self._place(scratch, rank // deal.stride, ranks)
        out.add_(place)
        if ranks.bit_count() == 1:
            out.bitwise_right_shift_(ranks.bit_length() - 1)  # ten times as fast as to divide
        else:
            out.div_(ranks, rounding_mode="floor")
        if deal.shared > 1:
            self._add_shared(scratch, ranks, deal.shared)
        of_nobody = 1 if self.reduce_op == "prod" else 0
        out.add_(1 - of_nobody)
        if deal.stride > 1:
            scratch.residues(first + self.seed + rank, deal.stride, scratch.spare)
            out.mul_(scratch.spare.eq_(0))
        out.add_(of_nobody)

    def _place(self, scratch: Scratch, number: int, ranks: int) -> None:
        """Into `scratch.second`, from the lower half of a draw: the place of contributor `number` of `ranks`."""
        place = scratch.second
        torch.bitwise_and(scratch.third, _HALF_A_DRAW - 1, out=place)
        place.mul_(ranks).bitwise_right_shift_(_HALF_BITS).add_(number)
        torch.ge(place, ranks, out=scratch.spare)
        place.sub_(scratch.spare, alpha=ranks)

    def _add_shared(self, scratch: Scratch, ranks: int, shared: int) -> None:
        """What a rank has of the number that it shares with its neighbour, from the upper half of the draw."""
        number, place = scratch.third, scratch.second
        number.bitwise_right_shift_(_HALF_BITS).bitwise_and_(shared - 1)
        torch.bitwise_and(place, 1, out=scratch.spare)
        number.bitwise_xor_(scratch.spare.mul_(shared - 1))  # an odd place: what it lacks to the largest
        if ranks % 2:
            number.mul_(place.lt_(ranks - 1))  # the last place has no neighbour
        scratch.value.add_(number)

    def _mirrored(self, out: Tensor) -> None:
        if self.reduce_op == "min":
            out.neg_().add_(self._top())

    def _draw(self, scratch: Scratch, out: Tensor, first: int, rank: int, bound: int) -> None:
        key = (rank + 3) * 0x1F83D9ABFB41BD6B + (self.seed + 1) * 0x5BE0CD19137E2179
        scratch.draw(out, first, wrapped(key), bound)

    def _deal(self) -> "_Deal":
        top = self._top()
        most = {"prod": top.bit_length() - 1, "avg": 2}.get(self.reduce_op or "", MAX_CONTRIBUTORS)
        stride = 1
        while -(-self.world_size // stride) > min(most, MAX_CONTRIBUTORS):
            stride *= 2
        largest = 2 if self.reduce_op == "prod" else top // -(-self.world_size // stride)
        shared = min(2 ** max((largest // _PAIRED).bit_length() - 1, 0), _HALF_A_DRAW)
        return _Deal(self.world_size // stride, self.world_size % stride, stride, largest - shared + 1, shared)

    def _top(self) -> int:
        return min(largest_exact(self.dtype_name), 2**31 - 1)


@dataclass(frozen=True, slots=True)
class _Deal:
    """Who contributes to an element of a sum or product, and how much at most.

    Those are the ranks with (index + seed + rank) % stride == 0; a stride is a power of two. In the next round
    it is others: a message of one element has but some.
    """

    least: int
    """Contributors to an element, where there is not one more."""
    more: int
    """Of `stride` neighbouring elements, so many have one more."""
    stride: int
    parts: int
    """1 to this is a rank's part of the total."""
    shared: int
    """How many values what neighbours share has, a power of two; 1 = they share nothing."""

    @property
    def totals(self) -> int:
        """Different totals that are dealt."""
        return self.least * (self.parts - 1) + 1

    def contributors_beside(self, rank: int) -> int:
        """How many contribute to the elements to which this rank does, with it."""
        return self.least + (rank % self.stride < self.more)

    def sure_total(self, contributors: int) -> int:
        """What is added to what is dealt: the 1 of each, and what pairs of neighbours share."""
        return contributors + contributors // 2 * (self.shared - 1)
