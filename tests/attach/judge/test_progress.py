"""Steps of a log as the speed of a job."""

from dataclasses import replace

import pytest

from nccltool.attach.judge.judge import judge
from nccltool.attach.judge.progress import progress_of
from nccltool.attach.judge.views import views
from nccltool.attach.seen.job import JobLook, RankSample
from nccltool.attach.seen.sources import StepLine, StepLog
from tests.attach.judge.looks import COMPUTES, SLEEPS, R, look

MOVES = R(switches=3000, idle_s=0.01)


def _with_log(seen: JobLook, *logs: list[StepLine], age_s: float = 0) -> JobLook:
    """One log for each sample, of the first host."""
    host = seen.hosts[0]
    samples = tuple(
        replace(
            sample,
            step_logs=(StepLog(file="/j/out.log", changed_at_s=sample.wall_s - age_s, lines=tuple(lines)),),
        )
        for sample, lines in zip(host.samples, logs, strict=True)
    )
    return replace(seen, hosts=(replace(host, samples=samples), *seen.hosts[1:]))


def _stated(*seconds: float, first: int = 100) -> list[StepLine]:
    return [StepLine(step=first + number, step_s=one) for number, one in enumerate(seconds)]


def _stamped(*at: tuple[int, float]) -> list[StepLine]:
    return [StepLine(step=step, at_s=when) for step, when in at]


STEADY = [10.0, 11.0, 9.0, 10.0, 10.5, 10.0, 9.5, 10.0]
SPIKES = [10.0, 10.0, 90.0, 10.0, 10.0, 10.0, 90.0, 10.0, 10.0, 90.0, 10.0]
SHORT = [0.05] * 200 + [0.1] * 100


@pytest.mark.parametrize(
    ("lines", "step_s", "usual", "since"),
    [
        (_stated(*STEADY), 10.0, None, None),
        (_stated(*STEADY, 20.0, 22.0, 21.0), 21.0, 10.0, 63.0),
        (_stated(*STEADY, 14.0, 14.0, 14.0), 12.0, None, None),  # less than 1.5 times
        (_stated(*SPIKES), 10.0, None, None),
        (_stated(*SHORT), 0.1, None, None),
        (_stated(*[0.24] * 210, *[0.4] * 125), 0.4, None, None),  # for 50 s: batches differ
        (_stated(*[0.24] * 210, *[0.4] * 160), 0.4, 0.24, 64.0),
        (_stated(*STEADY, 300.0), 10.0, None, None),  # one step is no change
        (_stamped(*((n, 10.0 * n) for n in range(10)), (11, 130.0), (12, 150.0), (13, 170.0)), 20.0, 10.0, 60.0),
        (_stamped((10, 0.0), (10, 0.1), (20, 20.0)), 1.99, None, None),  # two ranks print one step
        ([StepLine(step=7)], None, None, None),
        ([StepLine(step_s=0.5)], 0.5, None, None),
    ],
)
def test_times_of_steps(
    lines: list[StepLine], step_s: float | None, usual: float | None, since: float | None
) -> None:
    seen = _with_log(look(MOVES, MOVES), lines, lines)
    found = progress_of(seen, views(seen))
    assert found.step_s == pytest.approx(step_s)
    assert found.usual_step_s == pytest.approx(usual)
    assert found.slower_since_s == pytest.approx(since)
    assert found.source == "/j/out.log"


def test_steps_between_the_samples() -> None:
    seen = _with_log(look(MOVES, MOVES), _stamped((7, 0.0))[:1], [StepLine(step=11)])
    found = progress_of(seen, views(seen))
    assert (found.step, found.advanced, found.step_s) == (11, True, 0.5)


def test_steps_that_go_on_are_no_hang() -> None:
    """Long waits, no busy rank: only the log shows that it moves."""
    waits = look(R(idle_s=40), R(idle_s=40))
    assert judge(waits).state == "hung"
    assert judge(_with_log(waits, [StepLine(step=7)], [StepLine(step=8)])).state == "healthy"
    assert judge(_with_log(waits, [StepLine(step=8)], [StepLine(step=8)])).state == "hung"


@pytest.mark.parametrize(("step_s", "state"), [(1.0, "hung"), (30.0, "unknown"), (15.0, "hung")])
def test_long_steps_have_long_waits(step_s: float, state: str) -> None:
    waits = look(R(idle_s=40), R(stack=SLEEPS, idle_s=40))
    lines = _stated(step_s, step_s, step_s)
    verdict = judge(_with_log(waits, lines, lines))
    assert verdict.state == state
    if state == "unknown":
        assert verdict.message.endswith("too short to tell, a step takes 30 s; look again with --interval 60")


def test_slower_steps_are_slow_and_say_since_when_and_in_what() -> None:
    lines = _stated(*STEADY, 30.0, 30.0, 30.0)
    starved = R(stack=COMPUTES, state="R", cpu=0.1, switches=3000, throttled=0.9, idle_s=0.1)
    verdict = judge(_with_log(look(MOVES, starved, MOVES), lines, lines, age_s=1.0))
    assert verdict.state == "slow"
    assert verdict.message == ("slow for 91 s, 30 s a step instead of 10 s: rank 1 gets too little CPU time")
    assert verdict.slow is not None
    assert (verdict.slow.rank, verdict.slow.since_s, verdict.slow.step_s) == (1, 91.0, 30.0)
    assert "comput" in verdict.slow.phase


def test_slow_without_a_rank_that_stands_out() -> None:
    lines = _stated(*STEADY, 30.0, 30.0, 30.0)
    verdict = judge(_with_log(look(MOVES, MOVES), lines, lines))
    assert verdict.slow is not None
    assert (verdict.state, verdict.culprits, verdict.slow.rank) == ("slow", (), None)
    assert verdict.slow.phase == "waits for gradients in the backward pass"


def test_data_between_ranks() -> None:
    seen = look(MOVES, MOVES)
    assert progress_of(seen, views(seen)).data_bytes_per_s is None
    host = seen.hosts[0]

    def sent(place: int) -> tuple[RankSample, ...]:
        return tuple(
            replace(one, sockets=tuple(replace(end, bytes_sent=1000 + 4000 * place) for end in one.sockets or ()))
            for one in host.samples[place].ranks
        )

    samples = tuple(replace(one, ranks=sent(place)) for place, one in enumerate(host.samples))
    grown = replace(seen, hosts=(replace(host, samples=samples),))
    assert progress_of(grown, views(grown)).data_bytes_per_s == 4000.0
