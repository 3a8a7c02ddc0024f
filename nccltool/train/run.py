"""From an order of smoke training runs to a finished run; its ranks are all started anew when one has failed.

Nothing of an attempt is used again but the checkpoints: other processes, another store, other ports, another
scratch folder. (torch's elastic agent keeps its store over restarts, and ranks then read there where dead ranks
listened.)
"""

import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from nccltool.core import signals
from nccltool.core.errors import RunDirError
from nccltool.core.findings import Finding, Subject, define
from nccltool.core.run_directory import RunDir
from nccltool.core.units import format_seconds
from nccltool.launch import fault_injection, runner
from nccltool.launch.events import Anew
from nccltool.launch.order import LaunchOrder
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome, Progress
from nccltool.probe.result import Run
from nccltool.probe.run import Probe
from nccltool.train import document, judge
from nccltool.train.events import Compared, Diverged, NotCompared, NotTrained, OfTraining, Resumed, TimedSteps
from nccltool.train.job import TrainJob, TrainSpec
from nccltool.train.result import Restart, TrainRun
from nccltool.train.state import TrainState, heard

RESTARTED = define("restarted", "note", "warning", "info", page="findings-training.md")


@dataclass(frozen=True, kw_only=True, slots=True)
class SmokeTrainings(Probe):
    """What to train, and where to keep what came of it."""

    order: LaunchOrder[TrainJob]

    def launched(self, run_dir: RunDir, progress: Progress) -> LaunchOutcome:
        """Start the ranks, anew where one fails if that was asked for, and watch them to their end."""
        start = run_with_restarts if self.order.max_restarts else runner.run
        return start(self.order, run_dir, progress)

    judged = staticmethod(judge.judged)

    def document(self, run: Run) -> str:
        assert isinstance(run, TrainRun)
        return document.to_json(run)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Attempt:
    """One that failed."""

    state: RunState
    findings: tuple[Finding, ...]
    culprit: Finding
    ended_at: float


def run_with_restarts(order: LaunchOrder[TrainJob], run_dir: RunDir, progress: Progress) -> LaunchOutcome:
    """Run a job of training runs, starting all ranks anew up to `order.max_restarts` times."""
    failed: list[_Attempt] = []

    with signals.held() as came:  # between two attempts, when nothing runs that they could end
        outcome = runner.run(order, run_dir, progress)
        while len(failed) < order.max_restarts and not came and (culprit := _worth_another(outcome)):
            state, now = outcome.state, time.monotonic()
            spec, said = _spec(state), heard(state)
            failed.append(_Attempt(state=state, findings=outcome.findings, culprit=culprit, ended_at=now))
            done = _done(spec, said, state.world_size)
            order = replace(
                order, job=replace(order.job, attempt=order.job.attempt + 1, train=replace(spec, done=done))
            )
            _note(run_dir, order.job.attempt, culprit)
            said = said.for_another_attempt(done)
            anew = state.for_another_attempt(order.job, order.ranks_seen, said, now)
            outcome = runner.run(order, run_dir, progress, anew)
    cut = bool(came) and not outcome.state.everybody_left
    return _together(order, failed, replace(outcome, interrupted=outcome.interrupted or cut))


def _worth_another(outcome: LaunchOutcome) -> Finding | None:
    """What ended an attempt, when another one may do better."""
    errors = [finding for finding in outcome.findings if finding.is_error]
    worth = bool(errors) and all(finding.kind.retry for finding in errors) and not outcome.interrupted
    return errors[-1] if worth else None


def _spec(state: RunState) -> TrainSpec:
    assert isinstance(state.job, TrainJob)
    return state.job.train


def _done(spec: TrainSpec, heard: TrainState, ranks: int) -> tuple[str, ...]:
    """The strategies of which nothing is left to do."""
    return tuple(name for name in spec.strategies if name in spec.done or _is_done(name, spec, heard, ranks))


def _is_done(name: str, spec: TrainSpec, heard: TrainState, ranks: int) -> bool:
    said = [event for event in heard.said if event.strategy == name]
    if any(isinstance(event, NotTrained | NotCompared) for event in said):
        return True
    compared = {event.rank for event in said if isinstance(event, Compared)}
    ended = not spec.timed_steps or any(isinstance(event, Diverged | TimedSteps) for event in said)
    return len(compared) == ranks and ended


def _note(run_dir: RunDir, attempt: int, culprit: Finding) -> None:
    with contextlib.suppress(RunDirError):  # the next event ends the run for it
        run_dir.log(f"{culprit.message}\nattempt {attempt + 1}: restarting all ranks\n")
        run_dir.event(msgspec.json.encode(Anew(attempt=attempt)) + b"\n")


# ---- what came of all attempts


def _together(order: LaunchOrder[TrainJob], failed: Sequence[_Attempt], last: LaunchOutcome) -> LaunchOutcome:
    states = [*(attempt.state for attempt in failed), last.state]
    ends = [*(attempt.ended_at for attempt in failed[1:]), None]  # of the attempt after each that failed
    restarts = tuple(
        _restart(number, attempt, states[number], ends[number - 1])
        for number, attempt in enumerate(failed, start=1)
    )
    notes = [f for attempt in failed for f in attempt.findings if not f.is_error]
    said = [_said(restart, attempt, order) for restart, attempt in zip(restarts, failed, strict=True)]
    heard(last.state).restarts = restarts
    return replace(last, findings=tuple(dict.fromkeys([*notes, *said, *last.findings])))


def _restart(number: int, attempt: _Attempt, after: RunState, after_ended_at: float | None) -> Restart:
    before, culprit = attempt.state, attempt.culprit
    struck = max(before.began, default=None)
    strategy, step = _place(_spec(before), struck)
    began = attempt.ended_at if struck is None else before.began[struck]
    again = after_ended_at if struck is None else after.began.get(struck, after_ended_at)
    return Restart(
        attempt=number,
        code=culprit.code,
        subject=culprit.subject,
        message=culprit.message,
        strategy=strategy,
        step=step,
        resumed_from=_resumed(strategy, after),
        lost_s=None if again is None else again - began,
    )


def _place(spec: TrainSpec, index: int | None) -> tuple[str | None, int | None]:
    """(strategy, number of the step that is held against the reference) of a step of the run."""
    if index is None:
        return None, None
    strategy, number = divmod(index, spec.steps + 1)
    return spec.strategies[strategy], number + 1 if number < spec.steps else None


def _resumed(strategy: str | None, after: RunState) -> int | None:
    said = heard(after)
    fresh: Iterable[OfTraining] = said.said[said.carried :]
    numbers = [e.number for e in fresh if isinstance(e, Resumed) and e.strategy == strategy]
    begun = {_place(_spec(after), index)[0] for index in after.began}
    return numbers[0] if numbers else 0 if strategy in begun else None


def _said(restart: Restart, attempt: _Attempt, order: LaunchOrder[TrainJob]) -> Finding:
    went_on = f"{restart.strategy or 'the run'} "
    if restart.resumed_from:
        went_on += f"resumed after step {restart.resumed_from}"
    else:
        went_on += (
            "started over" if restart.resumed_from == 0 or restart.strategy is None else "was not reached again"
        )
    lost = "" if restart.lost_s is None else f" ({format_seconds(restart.lost_s)} lost)"
    return RESTARTED.finding(
        severity="info" if _is_drill(attempt) else "warning",
        subject=restart.subject,
        message=f"{restart.message}; all ranks were restarted (restart {restart.attempt} of at most "
        f"{order.max_restarts}), and {went_on}{lost}",
        evidence=attempt.culprit.evidence,
        remedy="" if _is_drill(attempt) else attempt.culprit.remedy,
    )


def _is_drill(attempt: _Attempt) -> bool:
    """Whether it was asked for."""
    job = attempt.state.job
    fault = fault_injection.parse(job.fault)
    asked = Subject(kind="rank", name=str(fault.rank)) if fault is not None else None
    return fault is not None and fault.attempt in (None, job.attempt) and attempt.culprit.subject == asked
