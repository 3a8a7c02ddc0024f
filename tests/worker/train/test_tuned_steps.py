"""Settings of overlap in a world of one: a slow one is not recommended, and a wrong one is found and not timed."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from torch import Tensor

from nccltool.core.findings import Finding
from nccltool.launch.events import Event
from nccltool.train import tuning
from nccltool.train.events import VariantTimed, VariantTried
from nccltool.train.job import TrainSpec
from nccltool.train.result import Tuning
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import strategies, tuned_steps
from nccltool.worker.train.comparison import ReferenceComparison
from nccltool.worker.train.strategies.base import Setup, Strategy

pytestmark = pytest.mark.torch

SPEC = TrainSpec(strategies=("ddp",), layers=1, width=16, context=8, vocabulary=32, tune=True)
_SLOW_S = 0.02
Change = Callable[[Strategy], None]


class _Said:
    """What rank 0 says."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, *events: Event) -> None:
        self.events += events

    def report(self, finding: Finding) -> None:
        raise AssertionError(finding.message)


def _tuned(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Change], spec: TrainSpec = SPEC
) -> Tuning:
    """`changes`: of the strategy with a setting, by its option."""
    monkeypatch.setattr(tuned_steps, "_BUDGET_S", 1.0)
    said, make = _Said(), strategies.build
    tools: Any = RankTools(setup.device, setup.slot, said, setup.tools.injector)  # type: ignore[arg-type]
    asked = make(Setup("ddp", spec, tools))
    losses: list[float] = []
    comparison = ReferenceComparison(asked, 0, losses=losses)
    assert comparison.begin(0)
    assert [comparison.step(number) for number in (1, 2, 3)] == ["right"] * 3

    def build(setup: Setup) -> Strategy:
        strategy = make(setup)
        for option, change in changes.items():
            if setup.spec.options.get(option):
                change(strategy)
        return strategy

    monkeypatch.setattr(strategies, "build", build)
    said.events.clear()
    tuned_steps.tune(asked, losses, "exact")
    found = tuning.of(
        [event for event in said.events if isinstance(event, VariantTried)],
        [event for event in said.events if isinstance(event, VariantTimed)],
    )
    assert found is not None
    return found


def _slowed(strategy: Strategy) -> None:
    whole = strategy.forward_backward

    def slow(tokens: Tensor) -> dict[int, Tensor]:
        time.sleep(_SLOW_S)
        return whole(tokens)

    monkeypatched: Any = strategy
    monkeypatched.forward_backward = slow


def _doubled(strategy: Strategy) -> None:
    """Gradients count twice."""
    update = strategy.update

    def wrong() -> None:
        for parameter in strategy.model.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(2)
        update()

    monkeypatched: Any = strategy
    monkeypatched.update = wrong


def test_a_slow_setting_is_not_recommended_and_a_wrong_one_is_named(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _tuned(setup, monkeypatch, {"static_graph": _slowed, "gradient_as_bucket_view": _doubled})
    by_name = {one.name: one for one in found.settings}
    slow, wrong = by_name["static graph"], by_name["gradients as views of buckets"]
    assert (slow.status, wrong.status) == ("pass", "fail")
    assert slow.ratio is not None
    assert found.recommended != slow.name
    assert (wrong.step_time_s, wrong.ratio) == (None, None)
    assert "in step 2, expected" in wrong.reason
    assert {one.status for one in found.settings if one is not wrong} == {"pass"}
    assert by_name[tuning.AS_ASKED].exposed_communication_ratio is not None


def test_a_setting_that_a_rank_cannot_have_is_left_out(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned_steps, "_WARM_UP", 1)
    monkeypatch.setattr(tuning, "variants", lambda *_: _one_impossible())
    found = _tuned(setup, monkeypatch, {})
    assert [one.status for one in found.settings] == ["pass", "skip"]
    assert "--accumulate" in found.settings[1].reason
    assert found.rounds == 0


def _one_impossible() -> tuple[Any, ...]:
    from nccltool.train.strategies.base import Variant
    from nccltool.train.strategies.ddp import Options

    asked = Variant(name=tuning.AS_ASKED, setting="", options=Options())
    return asked, replace(asked, name="three parts", options=Options(accumulate=3))


@pytest.mark.parametrize(
    ("done", "spent_s", "rounds"),
    [
        (0, 0.1, 10),
        (0, 70.0, 10),  # too few for an interval in a minute
        (5, 300.0, 5),
        (0, 300.0, 2),
        (0, 700.0, 1),
        (20, 50.0, 4),
        (20, 59.9, 0),
        (500, 10.0, 0),
    ],
)
def test_rounds_are_as_many_as_there_is_time_for(done: int, spent_s: float, rounds: int) -> None:
    noisy = [
        [100 + 50 * (number % 2) for number in range(done)],
        [100 + 70 * (number % 3) for number in range(done)],
    ]
    assert tuned_steps._rounds_to_go(noisy, spent_s) == rounds


def test_identical_steps_are_enough_at_once() -> None:
    assert tuned_steps._rounds_to_go([[100] * 10, [100] * 10], 1.0) == 0
