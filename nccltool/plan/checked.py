"""Predicted against counted: the calls and the memory of a layout. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nccltool.plan import calls, memory, parameter_sizes, stages
from nccltool.plan.counted import CountedRank, CountOrder, CountResult

ACTIVATIONS = 0.10
"""Statistics of norms, masks, and indices are not predicted; all else is exact."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedRow:
    """A figure."""

    rank: int
    """Of the pipeline."""
    what: str
    predicted: int
    counted: int

    @property
    def is_right(self) -> bool:
        allowed = ACTIVATIONS if self.what == "activations" else 0
        return abs(self.predicted - self.counted) <= allowed * self.counted


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedStrategy:
    """Of a strategy."""

    name: str
    sample: str
    """The layout that was counted."""
    rows: tuple[CheckedRow, ...] = ()
    reason: str = ""
    """Why nothing was counted."""

    @property
    def wrong(self) -> tuple[CheckedRow, ...]:
        return tuple(row for row in self.rows if not row.is_right)


def checked(name: str, orders: Sequence[CountOrder], results: Sequence[CountResult]) -> CheckedStrategy:
    """Of one strategy, in which a few ranks of the pipeline were counted."""
    sample = orders[0].layout.name
    if error := next((one.error for one in results if one.error), ""):
        return CheckedStrategy(name=name, sample=sample, reason=f"torch refused it: {error}")
    rows = [
        row
        for order, result in zip(orders, results, strict=True)
        if result.rank is not None
        for row in _rows(order, result.rank)
    ]
    return CheckedStrategy(name=name, sample=sample, rows=tuple(rows))


def _rows(order: CountOrder, counted: CountedRank) -> Iterator[CheckedRow]:
    predicted = _predicted(order)
    found = _counted(counted)
    for what in sorted(predicted.keys() | found.keys()):
        yield CheckedRow(rank=order.rank, what=what, predicted=predicted[what], counted=found[what])


def _predicted(order: CountOrder) -> Counter[str]:
    model, layout, recipe, rank = order.model, order.layout, order.recipe, order.rank
    made: Counter[str] = Counter()
    for one in calls.of(model, layout, recipe, rank):
        made[f"{one.operation} calls"] += one.count
        made[f"{one.operation} bytes"] += one.bytes
    parameters, gradients, optimizer = memory.states_of(model, layout, recipe, rank)
    if layout.sharding == "optimizer":  # the first rank was counted, not the one that has most
        shares = parameter_sizes.dealt(parameter_sizes.of_rank(model, layout, rank), layout.sharers)
        optimizer = optimizer // max(shares) * shares[0]
    weights = stages.of_rank(model, layout, rank)
    in_flight = stages.in_flight(layout, rank, layout.micro_batches(recipe))
    made["parameters"], made["gradients"], made["optimizer"] = parameters, gradients, optimizer
    made["activations"] = memory.of_activations(
        model, weights, layout, recipe, in_flight, stages.has_head(layout, rank)
    )
    return made


def _counted(counted: CountedRank) -> Counter[str]:
    made: Counter[str] = Counter()
    for one in counted.calls:
        if one.operation == "recv":  # somebody else has sent it
            continue
        name = "send_recv" if one.operation == "send" else one.operation
        made[f"{name} calls"] += one.count
        made[f"{name} bytes"] += one.bytes
    for term in ("parameters", "gradients", "optimizer", "activations"):
        made[term] = getattr(counted, term)
    return made
