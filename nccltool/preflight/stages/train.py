"""Small trainings over all nodes, each step held against a single process."""

from collections.abc import Sequence

from nccltool.preflight import judge
from nccltool.preflight.judge import Ran
from nccltool.preflight.result import Judged
from nccltool.preflight.stages.base import START_S, Climbed, Ladder, skipped
from nccltool.preflight.suites import TrainPart
from nccltool.train.result import TrainRun
from nccltool.train.strategies import NAMES

NEEDS = ("inventory", "doctor", "reach", "within", "across")
_STEP_S = 0.1
"""Of a tiny model over two ranks here; the first ones of a strategy take longer."""
_STRATEGY_S = 1.5


def about_s(ladder: Ladder) -> float:
    """How long it takes."""
    part = ladder.suite.train
    if part is None:
        return 0.0
    count = len(NAMES) if part.strategies == ("all",) else len(part.strategies)
    return START_S + count * (_STRATEGY_S + _STEP_S * (part.steps + part.timed_steps))


def would(ladder: Ladder) -> tuple[str, ...]:
    """What it would do."""
    part = ladder.suite.train
    assert part is not None
    return (ladder.call("train", _command(part), ladder.nodes_left(), ladder.nproc).line,)


def climb(ladder: Ladder) -> Climbed:
    """Train, and judge."""
    part, nodes = ladder.suite.train, ladder.nodes_left()
    assert part is not None
    if not nodes:
        return skipped("train", "no host is left")
    command = _command(part)

    def judged(ran: Ran) -> Sequence[Judged]:
        return tuple(judge.of_train(ran, part, ladder.names, differences_known=True))

    (ran,) = ladder.start("train", [(ladder.call("train", command, nodes, ladder.nproc), nodes)])
    outcomes, more = ladder.with_second_tests("train", command, nodes, judged(ran), judged)
    return Climbed(
        outcomes=outcomes,
        runs=tuple(one.folder for one in (ran, *more) if one.folder),
        trainings=ran.run.trainings if isinstance(ran.run, TrainRun) else (),
        info=ran.run,
    )


def _command(part: TrainPart) -> tuple[str, ...]:
    steps = ("--size", part.size, "--steps", str(part.steps), "--time-steps", str(part.timed_steps))
    return ("train", ",".join(part.strategies), *steps)
