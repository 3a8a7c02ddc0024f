"""Which sequences of a data set each rank has in each step: the reference of what a sampler hands out. Pure.

It knows nothing of torch's DistributedSampler, which it is compared with: of a permutation of all sequences that
the epoch and the seed decide, rank r of W has places r, r + W, r + 2W, ... So the sequences that all ranks have in
a step together, and their order, are the same for any W, as long as the global batch is.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Uneven = Literal["drop", "repeat"]
"""What becomes of sequences at the end of an epoch that are too few for all ranks: they are left out, or the first
ones of the epoch are repeated until all ranks have as many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InputPlan:
    """How a data set is dealt out."""

    sequences: int
    """In the data set."""
    ranks: int
    batch: int
    """Sequences of each rank in a step."""
    uneven: Uneven = "drop"

    @property
    def of_a_rank(self) -> int:
        """Sequences of each rank in an epoch."""
        whole, rest = divmod(self.sequences, self.ranks)
        return whole + (1 if rest and self.uneven == "repeat" else 0)

    @property
    def steps(self) -> int:
        """In an epoch. The last one is smaller with `repeat`; with `drop`, it is left out."""
        whole, rest = divmod(self.of_a_rank, self.batch)
        return whole + (1 if rest and self.uneven == "repeat" else 0)

    @property
    def left_out(self) -> int:
        """Sequences that no rank has in an epoch; they are others in the next one."""
        return max(self.sequences - self.steps * self.batch * self.ranks, 0) if self.uneven == "drop" else 0

    @property
    def repeated(self) -> int:
        """Sequences that two ranks have in an epoch."""
        return max(self.of_a_rank * self.ranks - self.sequences, 0)

    def place(self, step: int) -> tuple[int, int]:
        """(epoch, step in it), both from 0 on, of a step of the training, from 1 on."""
        return divmod(step - 1, self.steps)

    def dealt(self, order: Sequence[int], rank: int, step: int) -> tuple[int, ...]:
        """The sequences of a rank in a step of an epoch, from 0 on; `order`: all sequences, as it has them."""
        mine = range(rank, self.of_a_rank * self.ranks, self.ranks)
        first = step * self.batch
        return tuple(order[place % len(order)] for place in mine[first : first + self.batch])


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardError:
    """How the sequences that ranks had differ from those that they should have had."""

    rank: int
    step: int
    """Of the training, from 1 on."""
    what: Literal["missing", "of another rank", "of another step", "of an earlier epoch", "twice", "unknown"]
    got: tuple[int, ...]
    expected: tuple[int, ...]


def compared(
    plan: InputPlan,
    order_of: Callable[[int], Sequence[int]],
    rank: int,
    step: int,
    got: Sequence[int],
) -> ShardError | None:
    """What is wrong with the sequences that a rank had in a step; None = nothing. `order_of`: of an epoch."""
    epoch, inside = plan.place(step)
    order = order_of(epoch)
    expected = plan.dealt(order, rank, inside)
    if tuple(got) == expected:
        return None
    what = _what(plan, order_of, rank, step, tuple(got))
    return ShardError(rank=rank, step=step, what=what, got=tuple(got), expected=expected)


def _what(
    plan: InputPlan, order_of: Callable[[int], Sequence[int]], rank: int, step: int, got: tuple[int, ...]
) -> Literal["missing", "of another rank", "of another step", "of an earlier epoch", "twice", "unknown"]:
    epoch, inside = plan.place(step)
    order = order_of(epoch)
    if any(count > 1 for count in Counter(got).values()) and not plan.repeated:
        return "twice"
    if any(got == plan.dealt(order, other, inside) for other in range(plan.ranks) if other != rank):
        return "of another rank"
    if any(got == plan.dealt(order_of(before), rank, inside) for before in range(epoch)):
        return "of an earlier epoch"
    if any(got == plan.dealt(order, rank, other) for other in range(plan.steps) if other != inside):
        return "of another step"
    expected = plan.dealt(order, rank, inside)
    return "missing" if len(got) < len(expected) and set(got) <= set(expected) else "unknown"
