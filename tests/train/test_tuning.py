"""Settings of overlap: which are tried, and what their steps prove; chance proves nothing."""

import random
from dataclasses import replace
from typing import Any

import pytest

from nccltool.train import strategies, tuning
from nccltool.train.events import Built, VariantTimed, VariantTried
from nccltool.train.job import TrainSpec
from nccltool.train.options import SIZES
from nccltool.train.result import Tuning
from nccltool.train.strategies import ddp, fsdp
from tests.train.test_judge import RIGHT, SHAPE
from tests.train.test_judge import judged as judged_run

TUNED = [name for name in strategies.NAMES if tuning.has_variants(name)]


def spec_of(strategy: str, **changes: Any) -> TrainSpec:
    return TrainSpec(strategies=(strategy,), **{**SIZES["tiny"], **changes})


@pytest.mark.parametrize("strategy", TUNED)
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_each_setting_is_another_one(strategy: str, ranks: int) -> None:
    spec = spec_of(strategy, width=1024)
    asked, *others = tuning.variants(spec, strategy, ranks)
    assert (asked.name, asked.options) == (tuning.AS_ASKED, spec.of(type(asked.options)))
    assert len({one.name for one in others}) == len(others) >= {"ring": 1, "deepspeed": 2}.get(strategy, 5)
    assert len({repr(one.options) for one in (asked, *others)}) == len(others) + 1
    assert all(one.setting for one in others)
    for one in others:
        tuned = tuning.spec_of(spec, one)
        assert (tuned.of(type(one.options)), tuned.tune) == (one.options, False)


@pytest.mark.parametrize("strategy", strategies.NAMES)
def test_a_strategy_has_settings_or_a_reason(strategy: str) -> None:
    assert tuning.has_variants(strategy) == (not tuning.why_not(strategy))


def _names(spec: TrainSpec, ranks: int = 4) -> set[str]:
    return {one.name for one in tuning.variants(spec, spec.strategies[0], ranks)}


def test_settings_depend_on_the_model_the_ranks_and_what_was_asked_for() -> None:
    small, large = spec_of("ddp"), spec_of("ddp", width=1024)
    assert not {name for name in _names(small) if name.startswith("buckets of")}
    assert {"buckets of 1 MiB", "buckets of 25 MiB", "buckets of 100 MiB"} <= _names(large)
    assert "static graph" not in _names(replace(small, options={"static_graph": True}))
    assert "3 micro-batches, each synchronized" in _names(spec_of("ddp", batch=6, options={"accumulate": 3}))
    assert "resharding to 2 ranks" in _names(spec_of("fsdp"))
    assert not {name for name in _names(spec_of("fsdp"), 2) if name.startswith("resharding to")}
    assert "no resharding" not in _names(spec_of("fsdp", options={"reshard": False}))
    assert "no resharding" in _names(spec_of("fsdp1"))
    assert "no resharding" not in _names(spec_of("fsdp1", options={"shard": "hybrid"}))


def test_other_options_stay() -> None:
    spec = spec_of("ddp", options={"comm_hook": "fp16"})
    assert {
        one.options.comm_hook for one in tuning.variants(spec, "ddp", 2) if isinstance(one.options, ddp.Options)
    } == {"fp16"}
    spec = spec_of("fsdp", options={"shard": "hybrid"})
    assert all(
        one.options.shard == "hybrid"
        for one in tuning.variants(spec, "fsdp", 4)
        if isinstance(one.options, fsdp.Options)
    )


# ---- what steps prove


def tried(count: int, **changes: Any) -> list[VariantTried]:
    return [
        VariantTried(
            strategy="ddp", number=number, name=f"s{number}", setting=f"x={number}", is_exact=True, **changes
        )
        for number in range(count)
    ]


def drawn(seed: int, factors: list[float], rounds: int = 40) -> list[VariantTimed]:
    """Steps on a machine whose speed drifts by a fifth and is disturbed now and then."""
    chance = random.Random(seed)
    steps: list[list[int]] = [[] for _ in factors]
    drift = 1.0
    for _ in range(rounds):
        drift *= chance.lognormvariate(0, 0.03)
        for times, factor in zip(steps, factors, strict=True):
            noise = chance.lognormvariate(0, 0.05) * (1.5 if chance.random() < 0.05 else 1)
            times.append(round(20e6 * drift * factor * noise))
    return [event for number, ns in enumerate(steps) for event in VariantTimed.of("ddp", number, ns)]


def judged(seed: int, factors: list[float]) -> Tuning:
    found = tuning.of(tried(len(factors)), drawn(seed, factors))
    assert found is not None
    return found


def test_identical_settings_differ_in_one_of_twenty_runs_at_most() -> None:
    found = [judged(seed, [1.0] * 9) for seed in range(200)]
    apart = [
        any(
            one.ratio_low is not None and one.ratio_high is not None and not one.ratio_low <= 1 <= one.ratio_high
            for one in run.settings
        )
        for run in found
    ]
    assert sum(apart) <= 10
    assert sum(run.recommended is not None for run in found) <= 10
    assert "no faster one to recommend; a saving of up to" in tuning.advice(found[0])


def test_a_slow_setting_is_never_recommended() -> None:
    for seed in range(200):
        assert judged(seed, [1.0, 1.0, 1.05, 1.3]).recommended not in ("s2", "s3")


def test_a_fast_setting_is_recommended() -> None:
    found = [judged(seed, [1.0, 1.0, 0.85, 1.1]) for seed in range(100)]
    assert sum(run.recommended == "s2" for run in found) >= 95
    assert tuning.advice(found[0]).startswith("use s2 (x=2): ")


def test_what_gains_too_little_or_changes_numbers_is_not_recommended() -> None:
    fast = drawn(1, [1.0, 0.5])
    inexact = [*tried(1), replace_exact(tried(2)[1])]
    assert getattr(tuning.of(inexact, fast), "recommended", "") is None
    steady = [VariantTimed(strategy="ddp", number=n, ns=(size,) * 40) for n, size in enumerate((1000, 985))]
    assert getattr(tuning.of(tried(2), steady), "recommended", "") is None


def replace_exact(event: VariantTried) -> VariantTried:
    import msgspec

    return msgspec.structs.replace(event, is_exact=False)


def test_too_few_rounds_prove_nothing() -> None:
    found = tuning.of(tried(3), drawn(1, [1.0, 0.5, 1.0], rounds=5))
    assert found is not None
    assert (found.recommended, found.settings[1].ratio_high) == (None, None)
    assert tuning.advice(found).startswith("unknown: 5 rounds cannot compare settings")


def test_what_was_measured_before_the_run_ended_counts() -> None:
    said = drawn(1, [1.0, 0.5, 1.0])
    found = tuning.of(tried(3), [*said, VariantTimed(strategy="ddp", number=0, ns=(10**9,))])
    whole = tuning.of([*tried(3), *tried(3, without_sync_ns=10**6)], said)
    assert found is not None
    assert whole is not None
    assert (found.rounds, found.recommended) == (whole.rounds, whole.recommended) == (40, "s1")
    assert [one.exposed_communication_ratio for one in found.settings] == [None] * 3
    assert len(whole.settings) == 3
    assert None not in [one.exposed_communication_ratio for one in whole.settings]


@pytest.mark.parametrize(
    ("said", "recommended", "advice"),
    [
        ((), None, "unknown: interrupted after 40 rounds"),
        ((Built(strategy="fsdp", shape=SHAPE),), "s1", "use s1 (x=1): 50% less time per step (50% to 50%)"),
    ],
    ids=["in the only strategy", "in the next strategy"],
)
def test_an_interrupted_comparison_recommends_nothing(
    said: tuple[Built, ...], recommended: str | None, advice: str
) -> None:
    steady = [VariantTimed(strategy="ddp", number=n, ns=(size,) * 40) for n, size in enumerate((1000, 500))]
    run = judged_run(*RIGHT, *tried(2), *steady, *said, strategies=("ddp", "fsdp"), interrupted=True)
    found = run.trainings[0].tuning
    assert found is not None
    assert (found.recommended, found.settings[1].ratio_high) == (recommended, 0.5)
    assert tuning.advice(found) == advice
    use = [row.is_recommended for row in tuning.overlap(run.trainings)]
    assert use == ([False, True] if recommended else [None, None])


@pytest.mark.parametrize(
    ("ns", "told"),
    [
        (12_000_000, "overlap hides 2 ms to 2 ms of a step; 1 ms remain exposed"),
        (10_000_000, "overlap hides nothing beyond chance (at most 0 us of a step)"),
        (9_000_000, "overlap costs 1 ms to 1 ms of a step: it takes more calls"),
    ],
)
def test_what_overlap_hides(ns: int, told: str) -> None:
    asked = VariantTried(strategy="ddp", number=0, name="s0", setting="", is_exact=True, without_sync_ns=9_000_000)
    bucket = VariantTried(strategy="ddp", number=1, name="one bucket: no overlap", setting="", is_exact=True)
    timed = [VariantTimed(strategy="ddp", number=n, ns=(ns,) * 40) for n, ns in enumerate((10**7, ns))]
    found = tuning.of([asked, bucket], timed)
    assert found is not None
    assert tuning.hidden(found) == told
    no_bucket = tuning.of(tried(2), timed)
    assert no_bucket is not None
    assert tuning.hidden(no_bucket) == ""


def named_settings(factors: dict[str, float], rounds: int = 40) -> Tuning:
    """Settings of these names, with the time of their steps over that of the first."""
    said = [
        VariantTried(
            strategy="ddp",
            number=number,
            name=name,
            setting=f"x={number}",
            is_exact=not name.startswith("rounded"),
            without_sync_ns=8_000_000,
            exposed_between=(0.1, 0.3),
        )
        for number, name in enumerate(factors)
    ]
    ns = [
        VariantTimed(strategy="ddp", number=n, ns=(round(1e7 * f),) * rounds)
        for n, f in enumerate(factors.values())
    ]
    found = tuning.of(said, ns)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("factors", "rounds", "shown"),
    [
        (
            {"as asked": 1.0, "one bucket: no overlap": 1.2, "views": 0.9, "graph": 0.95, "rounded": 0.5},
            40,
            [("as asked", ""), ("one bucket: no overlap", ""), ("views", "yes")],
        ),
        (
            {"as asked": 1.0, "one bucket: no overlap": 0.9},
            40,
            [("as asked", ""), ("one bucket: no overlap", "yes")],
        ),
        ({"as asked": 1.0, "views": 0.99, "graph": 1.1}, 40, [("as asked", "yes"), ("views", "")]),
        ({"as asked": 1.0, "views": 1.1}, 40, [("as asked", "yes")]),
        ({"as asked": 1.0, "views": 0.5}, 4, [("as asked", "?"), ("views", "?")]),
    ],
)
def test_one_table_has_what_each_strategy_hides(
    factors: dict[str, float], rounds: int, shown: list[tuple[str, str]]
) -> None:
    (training,) = judged_run(*RIGHT).trainings
    tuned = replace(training, tuning=named_settings(factors, rounds))
    rows = list(tuning.overlap_rows(tuning.overlap([tuned, training, replace(tuned, strategy="fsdp")])))
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        (strategy, *row) for strategy in ("ddp", "fsdp") for row in shown
    ]
    assert rows[0][2] == "20 (10-30)"
    assert tuning.overlap([training]) == ()


def test_the_exposed_share_has_an_interval() -> None:
    steps = [10_000_000 + 100_000 * (round_ % 5) for round_ in range(40)]
    between = tuning.exposed_between(steps, [8_000_000] * 40)
    assert between == pytest.approx((1 - 8 / 10.1, 1 - 8 / 10.3), abs=0.01)
    assert tuning.exposed_between(steps[:4], [8_000_000] * 4) is None
    timed = [VariantTimed(strategy="ddp", number=0, ns=tuple(steps))]
    for share, cell in ((between, "22 (21-22)"), (None, "22")):
        (event,) = tried(1, without_sync_ns=8_000_000, exposed_between=share)
        found = tuning.of([event], timed)
        assert found is not None
        assert next(iter(tuning.rows(found)))[3] == cell


def test_a_setting_with_other_losses_is_an_error() -> None:
    asked, other = tried(2)
    wrong = VariantTried(
        strategy="ddp", number=1, name="s1", setting="x=1", is_exact=True, reason="loss 5 in step 2", wrong=True
    )
    found = tuning.of([asked, wrong], [])
    assert found is not None
    assert found.settings[1].status == "fail"
    (finding,) = tuning.wrong("ddp", found)
    assert (finding.code, finding.is_error) == ("setting-wrong", True)
    assert finding.message == "ddp with s1 differs from the reference: loss 5 in step 2"
    assert other.name == "s1"
