"""Commands without processes: what the runner would return is made from events by hand."""

from collections.abc import Callable, Sequence

import pytest

from nccltool.core.findings import Finding
from nccltool.core.run_directory import RunDir
from nccltool.launch import runner
from nccltool.launch.events import Event
from nccltool.launch.job import Job
from nccltool.launch.order import LaunchOrder
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome, Progress

Act = Callable[..., None]


def acting(monkeypatch: pytest.MonkeyPatch) -> Act:
    """Sets what the runner returns; until it is set, a start fails the test."""

    def refuse(*words: object) -> LaunchOutcome:
        raise AssertionError("this command must end before anything is started")

    def play(events: Sequence[Event] = (), findings: Sequence[Finding] = (), interrupted: bool = False) -> None:
        def played(order: LaunchOrder[Job], run_dir: RunDir, progress: Progress) -> LaunchOutcome:
            state = RunState(order.job, order.ranks_seen, now=0.0)
            for number, event in enumerate(events, start=1):
                state.apply(event, float(number))
                progress(state)
            return LaunchOutcome(state, (*state.findings, *findings), interrupted)

        monkeypatch.setattr(runner, "run", played)

    monkeypatch.setattr(runner, "run", refuse)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return play


@pytest.fixture(autouse=True)
def act(monkeypatch: pytest.MonkeyPatch) -> Act:
    return acting(monkeypatch)
