"""What smoke trainings have come to, and what of it stays when restarting all ranks."""

from nccltool.probe.events import Samples
from nccltool.train.events import Compared, TimedSteps, TrainedStep
from nccltool.train.state import TrainState
from tests.train.test_judge import TIMED, compared, step


def test_what_is_done_stays_and_steps_of_the_others_may_come_again() -> None:
    other: dict[str, object] = {name: getattr(step(1), name) for name in TrainedStep.__struct_fields__}
    half = TrainedStep(**{**other, "strategy": "fsdp", "step": 5})  # type: ignore[arg-type]
    state = TrainState()
    said = (step(1), compared(0), TIMED, half, compared(0, strategy="fsdp"))
    for event in (*said, Samples(step=2, ns=(1,)), Samples(step=2, ns=(2,)), Samples(step=6, ns=(3,))):
        state.take(event)
    assert (state.done, state.samples(2), state.samples(6), state.samples(9)) == ({0, 2, 5}, (1, 2), (3,), ())
    after = state.for_another_attempt({"ddp"})
    assert [(type(event), event.strategy) for event in after.said] == [
        (TrainedStep, "ddp"),
        (Compared, "ddp"),
        (TimedSteps, "ddp"),
        (TrainedStep, "fsdp"),
    ]
    assert (after.carried, after.done, after.samples(2), after.samples(6)) == (4, {0, 2}, (1, 2), ())
