"""Overlap settings of a strategy that are timed in turns: which ones, and the result. Pure.

Each round takes one step with every setting, so a disturbance that outlasts a step affects all of them. A setting
is compared with the one asked for by the ratio of their steps in the same round. The intervals of the median
ratios hold for all settings together (Bonferroni): chance alone finds a difference in at most one of twenty runs.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from importlib import import_module
from statistics import median
from typing import Any

from nccltool.core import statistics
from nccltool.core.findings import Finding, Subject
from nccltool.core.text import counted
from nccltool.core.units import format_seconds
from nccltool.train import events
from nccltool.train.finding_kinds import SETTING_WRONG
from nccltool.train.job import TrainSpec
from nccltool.train.result import OverlapRow, TrainingResult, TunedSetting, Tuning
from nccltool.train.strategies.base import NO_OVERLAP, StrategyOptions, TuningPlace, Variant

AS_ASKED = "as asked for"
RISK = 0.05
"""Probability that chance alone makes any setting differ."""
WORTH = 0.02
"""What a recommended setting saves at least: less is not worth a change."""
_FLOAT, _DOUBLE = 4, 8


def has_variants(strategy: str) -> bool:
    return hasattr(_module(strategy), "variants")


def why_not(strategy: str) -> str:
    """Why there is no other setting of its overlap; empty = nobody says."""
    reason: str = getattr(_module(strategy), "NO_TUNING", "")
    return reason


def variants(spec: TrainSpec, strategy: str, ranks: int) -> tuple[Variant, ...]:
    """What was asked for, then the other settings."""
    own: StrategyOptions = spec.of(_module(strategy).Options)
    size = _DOUBLE if spec.dtype == "float64" else _FLOAT
    parameters = spec.layers * 12 * spec.width**2 + (2 * spec.vocabulary + spec.context) * spec.width
    place = TuningPlace(ranks=ranks, mib=size * parameters / 2**20, batch=spec.batch)
    asked = Variant(name=AS_ASKED, setting="", options=own)
    return (asked, *_module(strategy).variants(own, place))


def spec_of(spec: TrainSpec, variant: Variant) -> TrainSpec:
    """The training with this setting."""
    changed = {
        field.name: value
        for field in fields(variant.options)
        if (value := getattr(variant.options, field.name)) != field.default
    }
    return replace(spec, options=changed, tune=False)


def _module(strategy: str) -> Any:
    return import_module(f"nccltool.train.strategies.{strategy}")


# ---- how long to measure, and the result


def ratios(ns: Sequence[int], asked_ns: Sequence[int]) -> list[float]:
    return [one / asked for one, asked in zip(ns, asked_ns, strict=True)]


def exposed_between(ns: Sequence[int], without_sync_ns: Sequence[int]) -> tuple[float, float] | None:
    """Shares of a step in the same rounds; None = too few of them."""
    return statistics.interval_of([1 - one for one in ratios(without_sync_ns, ns)], RISK)


def is_enough(rounds: Sequence[Sequence[int]], precision: float) -> bool:
    """Whether each interval is narrow enough. `rounds`: ns of each setting, the one asked for first."""
    asked, *others = rounds
    for ns in others:
        found = statistics.interval_of(ratios(ns, asked), RISK / len(others))
        if found is None or found[1] - found[0] > 2 * precision:
            return False
    return True


def of(
    tried: Sequence[events.VariantTried], timed: Sequence[events.VariantTimed], *, is_complete: bool = True
) -> Tuning | None:
    """None = nothing was tried."""
    ns: dict[int, list[int]] = defaultdict(list)
    for event in timed:
        ns[event.number].extend(event.ns)
    if not tried:
        return None
    rounds = min((len(times) for times in ns.values()), default=0)  # where the run ended amid one
    for number in ns:
        del ns[number][rounds:]
    last = {event.number: event for event in tried}.values()
    compared = sum(event.number > 0 and bool(ns[event.number]) for event in last)
    settings = tuple(_setting(event, ns, compared) for event in last)
    best = _best(settings) if is_complete else None
    return Tuning(
        settings=settings,
        rounds=len(ns[0]),
        recommended=best.name if best is not None else None,
        is_complete=is_complete,
    )


def _setting(event: events.VariantTried, ns: dict[int, list[int]], compared: int) -> TunedSetting:
    mine, asked = ns[event.number], ns[0]
    times = statistics.summarise([one / 1e9 for one in mine]) if mine else None
    exposed = exposed_low = exposed_high = ratio = between = None
    if mine and event.without_sync_ns is not None:
        share = 1 - event.without_sync_ns / median(mine)  # medians on both sides
        exposed = max(0.0, share)
        if event.exposed_between is not None:
            exposed_low, exposed_high = (max(0.0, pick(share, *event.exposed_between)) for pick in (min, max))
    if mine and event.number and len(mine) == len(asked):
        by_round = ratios(mine, asked)
        ratio, between = median(by_round), statistics.interval_of(by_round, RISK / compared)
    return TunedSetting(
        name=event.name,
        setting=event.setting,
        is_exact=event.is_exact,
        status="fail" if event.wrong else "skip" if event.reason else "pass",
        reason=event.reason,
        step_time_s=times,
        exposed_communication_ratio=exposed,
        exposed_communication_low=exposed_low,
        exposed_communication_high=exposed_high,
        ratio=ratio,
        ratio_low=None if between is None else between[0],
        ratio_high=None if between is None else between[1],
    )


def _best(settings: Sequence[TunedSetting]) -> TunedSetting | None:
    """The fastest of those that are faster beyond chance, change no result, and save enough."""
    faster = [
        one
        for one in settings
        if one.status == "pass" and one.is_exact and one.ratio is not None and one.ratio <= 1 - WORTH
        and one.ratio_high is not None and one.ratio_high < 1
    ]  # fmt: skip
    return min(faster, key=lambda one: one.ratio or 1.0, default=None)


def overlap(trainings: Iterable[TrainingResult]) -> tuple[OverlapRow, ...]:
    """How much communication each strategy hides: as asked for, without overlap, and with the fastest setting."""
    return tuple(row for one in trainings if one.tuning for row in _of_strategy(one.strategy, one.tuning))


def _of_strategy(strategy: str, tuning: Tuning) -> Iterator[OverlapRow]:
    asked, *others = tuning.settings
    timed = [one for one in others if one.status == "pass" and one.ratio is not None]
    without = [one for one in timed if one.name.endswith(NO_OVERLAP)]
    faster = [one for one in timed if one.is_exact and one.ratio is not None and one.ratio < 1]
    fastest = sorted(faster, key=lambda one: one.ratio or 1.0)[:1]
    told = tuning.is_complete and any(one.ratio_low is not None for one in timed)
    for one in dict.fromkeys((asked, *without, *fastest)):
        yield OverlapRow(
            strategy=strategy,
            name=one.name,
            setting=one.setting,
            exposed_communication_ratio=one.exposed_communication_ratio,
            exposed_communication_low=one.exposed_communication_low,
            exposed_communication_high=one.exposed_communication_high,
            ratio=one.ratio,
            ratio_low=one.ratio_low,
            ratio_high=one.ratio_high,
            is_recommended=one.name == (tuning.recommended or asked.name) if told else None,
        )


def wrong(strategy: str, tuning: Tuning) -> Iterator[Finding]:
    """Settings with which the strategy trains something else."""
    for one in tuning.settings:
        if one.status == "fail":
            yield SETTING_WRONG.finding(
                subject=Subject(kind="operation", name=strategy),
                message=f"{strategy} with {one.name} differs from the reference: {one.reason}",
                evidence=(one.setting,),
                remedy="do not train with this setting here; report it to PyTorch with the versions above",
            )


# ---- in words


def hidden(tuning: Tuning) -> str:
    """What the overlap as asked for takes from a step; empty where nothing without overlap was timed."""
    asked = tuning.settings[0]
    exposed = next((one for one in tuning.settings if one.name.endswith(NO_OVERLAP)), None)
    step_s = asked.step_time_s and asked.step_time_s.median
    if not step_s or exposed is None or exposed.ratio_low is None or exposed.ratio_high is None:
        return ""
    low, high = (step_s * (ratio - 1) for ratio in (exposed.ratio_low, exposed.ratio_high))
    if low <= 0 <= high:
        return f"overlap hides nothing beyond chance (at most {format_seconds(high)} of a step)"
    if high < 0:
        return f"overlap costs {format_seconds(-high)} to {format_seconds(-low)} of a step: it takes more calls"
    left = asked.exposed_communication_ratio
    still = "" if left is None else f"; {format_seconds(left * step_s)} remain exposed"
    return f"overlap hides {format_seconds(low)} to {format_seconds(high)} of a step{still}"


def advice(tuning: Tuning) -> str:
    """What to set, or why nothing is recommended."""
    if not tuning.is_complete:
        return f"unknown: interrupted after {counted(tuning.rounds, 'round')}"
    best = next((one for one in tuning.settings if one.name == tuning.recommended), None)
    if best is not None:
        assert best.ratio is not None
        assert best.ratio_low is not None
        assert best.ratio_high is not None
        saved = f"{1 - best.ratio:.0%} less time per step ({1 - best.ratio_high:.0%} to {1 - best.ratio_low:.0%})"
        return f"use {best.name} ({best.setting}): {saved}"
    compared = [one for one in tuning.settings if one.ratio is not None]
    lows = [one.ratio_low for one in compared if one.ratio_low is not None]
    if not lows:
        return (
            f"unknown: {counted(tuning.rounds, 'round')} cannot compare settings; use a smaller model or --batch"
        )
    slower = [one for one in compared if one.ratio_low is not None and one.ratio_low > 1]
    missed = max(0.0, 1 - min(lows))
    if slower:
        return f"keep the current setting: no faster one to recommend, {len(slower)} measured slower"
    return f"keep the current setting: no faster one to recommend; a saving of up to {missed:.0%} may be hidden"


def rows(tuning: Tuning) -> Iterator[tuple[str, ...]]:
    """Of a table: setting, step and its interval, exposed communication, ratio and its interval."""
    for one in tuning.settings:
        if one.step_time_s is None:
            yield one.name, one.status, "", "", "", ""
            continue
        low, high = one.step_time_s.seconds_between
        step = format_seconds(one.step_time_s.seconds), f"{format_seconds(low)} - {format_seconds(high)}"
        yield (one.name, *step, *_shares(one))


def overlap_rows(found: Iterable[OverlapRow]) -> Iterator[tuple[str, ...]]:
    """Cells: strategy, setting, exposed communication, ratio and its interval, whether to use it."""
    for one in found:
        use = "?" if one.is_recommended is None else "yes" if one.is_recommended else ""
        yield (one.strategy, one.name, *_shares(one), use)


def _shares(one: TunedSetting | OverlapRow) -> tuple[str, str, str]:
    """Exposed communication, ratio, and its interval."""
    has_interval = one.ratio_low is not None and one.ratio_high is not None
    exposed = one.exposed_communication_ratio
    return (
        "?" if exposed is None else f"{100 * exposed:.0f}{_percent_between(one)}",
        "" if one.ratio is None else f"{one.ratio:.2f}",
        f"{one.ratio_low:.2f} - {one.ratio_high:.2f}" if has_interval else "",
    )


def _percent_between(one: TunedSetting | OverlapRow) -> str:
    low, high = one.exposed_communication_low, one.exposed_communication_high
    return "" if low is None or high is None else f" ({100 * low:.0f}-{100 * high:.0f})"
