"""Settings of a strategy's overlap: the losses of each are compared with the reference, then all are timed."""

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from nccltool.train import tolerance, tuning
from nccltool.train.events import VariantTimed, VariantTried
from nccltool.train.strategies.base import DataParallelOptions, Variant
from nccltool.train.tolerance import Products
from nccltool.worker.train import comparison, precision, strategies, timed_steps
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy

_PRECISION = 0.02
"""Half the interval of a ratio that is narrow enough."""
_ROUNDS, _MOST_ROUNDS = 10, 500
"""Between two looks at the intervals, and in total. Ten give an interval for up to 25 settings."""
_BUDGET_S, _LONGEST_S = 60.0, 600.0
"""How long to measure, and the longest time if steps are too long for ten rounds."""
_WARM_UP = 2
_ANOTHER_RANK = "another rank cannot do it"


@dataclass(slots=True)
class _Tried:
    """A setting on this rank."""

    number: int
    variant: Variant
    strategy: Strategy | None = None
    """None = it cannot be built, or is wrong."""
    reason: str = ""
    is_wrong: bool = False


def tune(asked: Strategy, losses: Sequence[float], products: Products) -> None:
    """`asked`: as it was asked for; `losses`: of the reference, by step. All ranks together; rank 0 reports."""
    setup = asked.setup
    every = tuning.variants(setup.spec, setup.name, setup.world)
    tried = [_Tried(number, variant) for number, variant in enumerate(every)]
    for one in tried:
        _build(one, setup)
        if one.strategy is not None:
            with precision.exact():
                _check(one, one.strategy, setup, losses, products)
        _report(one, setup)
    whole = [one for one in tried if one.strategy is not None]
    alone = {} if tried[0].strategy is None or len(whole) < 2 else _time(whole, setup)
    for one in whole:
        if one.number in alone:
            _report(one, setup, *alone[one.number])


def _report(
    one: _Tried,
    setup: Setup,
    without_sync_ns: int | None = None,
    exposed_between: tuple[float, float] | None = None,
) -> None:
    if setup.rank == 0:
        setup.channel.emit(
            VariantTried(
                strategy=setup.name,
                number=one.number,
                name=one.variant.name,
                setting=one.variant.setting,
                is_exact=one.variant.is_exact,
                reason=one.reason,
                wrong=one.is_wrong,
                without_sync_ns=without_sync_ns,
                exposed_between=exposed_between,
            )
        )


def _build(one: _Tried, asked: Setup) -> None:
    try:
        setup = Setup(asked.name, tuning.spec_of(asked.spec, one.variant), asked.tools)
        with setup.communicating("building"):
            one.strategy = strategies.build(setup)
    except CannotTrain as cannot:
        one.reason = str(cannot)
    if asked.group.maximum([one.strategy is None])[0]:
        one.strategy, one.reason = None, one.reason or _ANOTHER_RANK


def _check(one: _Tried, strategy: Strategy, asked: Setup, losses: Sequence[float], products: Products) -> None:
    """Train the steps that were compared with the reference; its losses must be those of the reference."""
    group, allowed = asked.group, tolerance.of(strategy.setup.spec, asked.world, products)
    for number, expected in enumerate(losses, start=1):
        strategy.clear()
        mine = strategy.forward_backward(asked.tokens(number))
        strategy.reduce_gradients()
        strategy.unscale()
        group.settle()
        seen = {at: float(loss) for at, loss in mine.items()}
        all_losses = comparison.from_integers(group.maximum(comparison.as_integers(seen, strategy.micro_batches)))
        got = sum(all_losses) / len(all_losses)
        strategy.update()
        limit = allowed.at(number) * abs(expected)
        if group.maximum([not abs(got - expected) <= limit])[0]:
            one.strategy, one.is_wrong = None, True
            one.reason = f"loss {got:.9g} in step {number}, expected {expected:.9g}; off by more than {limit:.2g}"
            return


def _time(whole: Sequence[_Tried], asked: Setup) -> dict[int, tuple[int, tuple[float, float] | None]]:
    """Of settings by number the median without communication, and between what shares is exposed; rank 0 reports
    the steps at each look, so that what ends the run loses none that were looked at."""
    group, spec = asked.group, asked.spec
    chosen = [one.strategy for one in whole if one.strategy is not None]
    alone, keys = _yardsticks(whole)
    kinds = [*map(timed_steps.stepper, chosen), *alone.values()]
    begin = time.monotonic()
    for _ in range(_WARM_UP):
        _round(kinds, range(len(kinds)), asked)
    took = [list[int]() for _ in kinds]
    shuffling = random.Random(spec.seed)  # noqa: S311 - all ranks shuffle alike
    while rounds := group.from_rank_0(_rounds_to_go(took[: len(whole)], time.monotonic() - begin)):
        mine = list[list[int]]()
        for _ in range(rounds):
            order = shuffling.sample(range(len(kinds)), len(kinds))  # the same on all ranks
            mine.append(_round(kinds, order, asked))
        slowest = iter(group.maximum([ns for row in mine for ns in row]))
        for _ in range(rounds):
            for times in took:
                times.append(next(slowest))
        for one, times in zip(whole, took, strict=False):
            if asked.rank == 0:
                asked.channel.emit(*VariantTimed.of(asked.name, one.number, times[-rounds:]))
    without = dict(zip(alone, took[len(whole) :], strict=True))
    return {
        one.number: (statistics.median_low(times), tuning.exposed_between(steps, times))
        for one, steps in zip(whole, took, strict=False)
        if one.number in keys
        for times in [without[keys[one.number]]]
    }


def _rounds_to_go(took: Sequence[Sequence[int]], spent_s: float) -> int:
    """Until the next look; 0 = the intervals are narrow, or there is no time left."""
    done = len(took[0])
    if done >= _MOST_ROUNDS or (done and tuning.is_enough(took, _PRECISION)):
        return 0
    in_a_second = (done + _WARM_UP) / spent_s
    affordable = int((_BUDGET_S - spent_s) * in_a_second)
    if done + affordable < _ROUNDS:
        affordable = min(_ROUNDS - done, int((_LONGEST_S - spent_s) * in_a_second))
    return max(min(affordable, _ROUNDS), 0 if done else 1)


def _round(kinds: Sequence[Callable[[Tensor], None]], order: Sequence[int], asked: Setup) -> list[int]:
    """A step of each kind: ns on this rank, in the order of the kinds. All begin each step together."""
    took, tokens = [0] * len(kinds), asked.drawn(1)[0]
    for index in order:
        asked.slot.phase("timing")
        asked.group.meet()
        begin = time.perf_counter_ns()
        kinds[index](tokens)
        asked.group.settle()
        took[index] = time.perf_counter_ns() - begin
    return took


_Key = tuple[int, str]


def _yardsticks(
    whole: Sequence[_Tried],
) -> tuple[dict[_Key, Callable[[Tensor], None]], dict[int, _Key]]:
    """Steps without communication, one for all settings that compute alike; and which is whose."""
    steps, keys = dict[_Key, Callable[[Tensor], None]](), dict[int, _Key]()
    for one in whole:
        if one.strategy is not None and timed_steps.can_compute_alone(one.strategy):
            setup = one.strategy.setup
            key = setup.spec.of(DataParallelOptions).accumulate, setup.param_dtype
            keys[one.number] = key
            if key not in steps:
                steps[key] = timed_steps.compute_only_step(setup)
    return steps, keys
