"""What the reference costs beside a strategy: memory, and time as far as a first micro-batch tells. Pure.

The reference is the whole model on the global batch, in every rank: it is no smaller where ranks share a model.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

from nccltool.core.findings import Finding, Subject
from nccltool.core.units import format_decimal_bytes, format_seconds
from nccltool.train.finding_kinds import NOT_COMPARED, REFERENCE_COST
from nccltool.train.job import TrainSpec
from nccltool.train.strategies import ddp

SHARES_BYTES = 2**28
"""For gradients of all micro-batches side by side (worker/train/shares.py): of large ones, a sample."""
WORTH_SAYING_BYTES, WORTH_SAYING_S = 10**9, 60.0
"""A reference that takes less is not announced."""
_PER_BLOCK = 17
"""Numbers of a token that a block keeps for its backward pass, in widths: its input, two norms, query, key, value,
what was attended twice, the sum, and 4 + 4 of the feed-forward part (worker/train/transformer.py)."""
_PER_SCORE = 4
"""Copies of the scores of a token: themselves, their logarithms, and the gradients of both."""
_FLOAT, _DOUBLE = 4, 8


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferenceNeeds:
    """Bytes on one rank."""

    model: int
    gradients: int
    optimizer: int
    activations: int
    comparison: int
    """Copies in float64 of the largest parameter, and gradients of micro-batches side by side."""
    beside: int
    """What the strategy under test will still take: gradients, its optimizer's state, activations."""

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))

    @property
    def terms(self) -> str:
        """For a reader."""
        words = {"the strategy's own gradients, optimizer, and activations": self.beside}
        words |= {f.name: getattr(self, f.name) for f in fields(self) if f.name != "beside"}
        return ", ".join(f"{name} {format_decimal_bytes(value)}" for name, value in words.items() if value)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelNumbers:
    """Elements of parameters."""

    all: int
    largest: int
    """Of one tensor."""
    mine: int
    """What this rank holds under the strategy."""


def needs(spec: TrainSpec, numbers: ModelNumbers, sequences: int, micro_batches: int) -> ReferenceNeeds:
    """`sequences`: of the global batch."""
    element = _DOUBLE if spec.dtype == "float64" else _FLOAT
    own = spec.of(ddp.Options)
    passes = own.accumulate if own.sync_batch_norm else micro_batches
    tokens = -(-sequences // passes) * spec.context
    activations = tokens * (_PER_BLOCK * spec.width * spec.layers + _PER_SCORE * spec.vocabulary) * element
    # buckets and what PowerSGD owes; sums of rounded gradients, and exact ones; what each rank left out
    copies = {"none": 1, "powersgd": 3, "int8": 3, "topk": 3 + sequences // spec.batch}.get(own.comm_hook, 2)
    moments = 2 if own.adamw else int(bool(spec.momentum))
    return ReferenceNeeds(
        model=numbers.all * element,
        gradients=numbers.all * element * copies,
        optimizer=numbers.all * element * moments,
        activations=activations,
        comparison=numbers.largest * (element + 2 * _DOUBLE)
        + min(SHARES_BYTES, numbers.mine * micro_batches * _DOUBLE),
        beside=numbers.mine * element * (1 + moments) + activations,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class FreeMemory:
    """What one rank says."""

    place: int
    """The same number for ranks that share it."""
    bytes: int
    """Negative = not known."""
    needed: int


def too_little(strategy: str, ranks: Sequence[FreeMemory]) -> str:
    """Why the reference has no room; empty = it has, as far as anyone can tell."""
    sharers = Counter(rank.place for rank in ranks)
    found = [
        (free - rank.needed, number, free)
        for number, rank in enumerate(ranks)
        if rank.bytes >= 0 and (free := rank.bytes // sharers[rank.place]) < rank.needed
    ]
    if not found:
        return ""
    _, number, free = min(found)
    shared = sharers[ranks[number].place]
    part = f", its share among {shared} ranks" if shared > 1 else ""
    return (
        f"{strategy} and its reference need {format_decimal_bytes(ranks[number].needed)} of memory, "
        f"but rank {number} has {format_decimal_bytes(free)} free{part}"
    )


def not_compared(strategy: str, reason: str, evidence: tuple[str, ...] = ()) -> Finding:
    return NOT_COMPARED.finding(
        subject=Subject(kind="operation", name=strategy),
        message=f"{strategy} was not compared with the reference: {reason}",
        evidence=evidence,
        remedy="use a smaller --batch, --context, or model (--size, --layers, --width): every rank trains "
        "the whole model in addition to its part",
    )


def announced(
    strategy: str, needed: ReferenceNeeds, steps: int, micro_batches: int, first_s: float
) -> Finding | None:
    """What the reference costs; None where that is little. `first_s`: of the slowest rank's first micro-batch."""
    seconds = steps * micro_batches * first_s
    if needed.total < WORTH_SAYING_BYTES and seconds < WORTH_SAYING_S:
        return None
    times = f"{_count(steps, 'step')} of {_count(micro_batches, 'micro-batch', 'es')}"
    return REFERENCE_COST.finding(
        subject=Subject(kind="operation", name=strategy),
        message=f"{strategy} and its reference need about {format_decimal_bytes(needed.total)} on each rank, "
        f"and the reference takes about {format_seconds(seconds)}: {times}, "
        f"the first of which took {format_seconds(first_s)}",
        evidence=(needed.terms,),
        remedy="use --steps 1 to compare only one step; a smaller --batch or model needs less memory and time",
    )


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"
