"""What is shown of ranks while they run."""

from typing import Any

import pytest

from nccltool.cli import run_progress
from nccltool.launch.run_state import RunState
from nccltool.train.events import OfTraining, VariantTimed, VariantTried
from nccltool.train.state import TrainState
from tests.cli.commands.test_probe import GOOD
from tests.samples import job


@pytest.mark.parametrize(
    ("steps", "seconds", "left"), [(80, 12.0, "about 48 s left"), (800, 600.0, "about 40 min left"), (16, 4.0, "")]
)
def test_how_long_it_will_take(steps: int, seconds: float, left: str) -> None:
    state = RunState(job(), 2, now=0.0)
    for event in GOOD[:5]:
        state.apply(event, 0.0)
    state.began[0] = 0.0
    assert run_progress._left(state, steps // 5 if left else steps, steps, seconds) == left


def test_settings_that_are_tried_and_timed() -> None:
    def tried(number: int, **more: Any) -> VariantTried:
        return VariantTried(strategy="ddp", number=number, name=f"s{number}", setting="", is_exact=True, **more)

    def timed(number: int, rounds: int) -> VariantTimed:
        return VariantTimed(strategy="ddp", number=number, ns=(2 * 10**6,) * rounds)

    state = TrainState(tunes=True)
    rows = []
    stretches = [timed(number, 10) for _ in range(4) for number in (0, 1)]
    events: list[OfTraining] = [tried(0), tried(1), tried(2, reason="no"), tried(3, reason="5", wrong=True)]
    for event in [*events, *stretches, tried(0, without_sync_ns=1)]:
        state.take(event)
        rows.append(run_progress._trained_row(event, state))
    assert [row for row in rows if row] == [
        "ddp       s0: equals the reference",
        "ddp       s1: equals the reference",
        "ddp       s2: left out",
        "ddp       s3: wrong",
        "ddp       10 rounds of 2 settings, 2 ms as asked for",
        "ddp       20 rounds of 2 settings, 2 ms as asked for",
        "ddp       40 rounds of 2 settings, 2 ms as asked for",
    ]
    assert state.ask_for_less.startswith("omit --tune, ")
