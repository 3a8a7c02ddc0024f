"""What smoke training runs have come to, from what their ranks say."""

from collections.abc import Collection

from nccltool.core.findings import Finding
from nccltool.launch.events import EVERYWHERE, Event, EventReader
from nccltool.launch.run_state import RunState
from nccltool.probe.events import Samples
from nccltool.train.events import OF_TRAININGS, CheckpointSaved, OfTraining, Resumed, TimedSteps, TrainedStep
from nccltool.train.result import Restart


class TrainState:
    """What ranks said of smoke training runs (a nccltool.launch.job.ProductState)."""

    reader = EventReader(*EVERYWHERE, *OF_TRAININGS)

    def __init__(self, *, tunes: bool = False) -> None:
        self._tunes = tunes
        self.ask_for_less = ("omit --tune, " if tunes else "") + "fewer strategies, --steps, --time-steps"
        self.said: list[OfTraining] = []
        self.carried = 0
        """How much of it was said by ranks of an earlier attempt."""
        self.restarts: tuple[Restart, ...] = ()
        """Of the whole run, when it has ended."""
        self._samples: dict[int, list[int]] = {}
        self.done: set[int] = set()
        """Steps held against the reference, and stretches of timed steps."""

    def take(self, event: Event) -> None:
        if isinstance(event, Samples):
            self._samples.setdefault(event.step, []).extend(event.ns)
        elif isinstance(event, OfTraining):
            self.said.append(event)
            if isinstance(event, TrainedStep | TimedSteps):
                self.done.add(event.step)

    def for_another_attempt(self, done: Collection[str]) -> "TrainState":
        """When all ranks are started anew: what they have said stays, and of strategies that are not done the
        steps, which may be done again."""
        after = TrainState(tunes=self._tunes)
        steps = (TrainedStep, CheckpointSaved, Resumed)
        after.said = [event for event in self.said if event.strategy in done or isinstance(event, steps)]
        after.carried = len(after.said)
        timed = {event.step for event in after.said if isinstance(event, TimedSteps)}
        ended = (TrainedStep, TimedSteps)
        after.done = {e.step for e in after.said if isinstance(e, ended) and e.strategy in done}
        after._samples = {step: samples for step, samples in self._samples.items() if step in timed}
        return after

    def findings(self) -> tuple[Finding, ...]:
        """The judge names what is wrong, at the end."""
        return ()

    def samples(self, step: int) -> tuple[int, ...]:
        """Nanoseconds of the timed steps."""
        return tuple(self._samples.get(step, ()))


def heard(state: RunState) -> TrainState:
    """What was heard of the trainings, in a run of them."""
    assert isinstance(state.product, TrainState)
    return state.product
