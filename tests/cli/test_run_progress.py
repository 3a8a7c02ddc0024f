"""What is shown of ranks while they run."""

import pytest

from nccltool.cli import run_progress
from nccltool.launch.run_state import RunState
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
