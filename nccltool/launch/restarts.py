"""Runs whose ranks are all started anew when one of them has failed.

Nothing of an attempt is used again but the checkpoints: other processes, another store, other ports, another
scratch folder. (torch's elastic agent keeps its store over restarts, and ranks then read there where dead ranks
listened.)
"""

import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import FrameType

import msgspec

from nccltool.core.errors import RunDirError
from nccltool.core.findings import Finding, Subject
from nccltool.core.run_directory import RunDir
from nccltool.core.units import format_seconds
from nccltool.launch import events, fault_injection, runner
from nccltool.launch.job import Job
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import Outcome, Progress
from nccltool.probe.options import Order
from nccltool.train.result import Restart

WORTH_IT = frozenset(
    {
        "rank-died",
        "rank-error",
        "rank-hung",
        "hang",
        "collective-failed",
        "agent-killed",
        "node-failed",
        "host-lost",
    }
)
"""Codes of findings after which another attempt may do better. Not of what would be the same again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Attempt:
    """One that failed."""

    state: RunState
    findings: tuple[Finding, ...]
    culprit: Finding
    ended_at: float


def run(order: Order, run_dir: RunDir, progress: Progress) -> Outcome:
    """Run a job of trainings, starting all ranks anew up to `order.max_restarts` times."""
    signals: list[int] = []
    failed: list[_Attempt] = []

    def hear(number: int, frame: FrameType | None) -> None:
        signals.append(number)

    with runner.signals_taken(hear):  # between two attempts, when nothing runs that they could end
        outcome = runner.run(order, order.launch, run_dir, progress)
        while len(failed) < order.max_restarts and not signals and (culprit := _worth_another(outcome)):
            state, now = outcome.state, time.monotonic()
            failed.append(_Attempt(state=state, findings=outcome.findings, culprit=culprit, ended_at=now))
            order = replace(order, job=_next(order.job, state))
            _note(run_dir, order.job.attempt, culprit)
            anew = state.anew(order.job, order.ranks_seen, order.job.train.done if order.job.train else (), now)
            outcome = runner.run(order, order.launch, run_dir, progress, anew)
    return _together(order, failed, replace(outcome, interrupted=outcome.interrupted or _cut(signals, outcome)))


def _cut(signals: Sequence[int], outcome: Outcome) -> bool:
    return bool(signals) and not outcome.state.everybody_left


def _worth_another(outcome: Outcome) -> Finding | None:
    """What ended an attempt, when another one may do better."""
    errors = [finding for finding in outcome.findings if finding.severity == "error"]
    worth = bool(errors) and all(finding.code in WORTH_IT for finding in errors) and not outcome.interrupted
    return errors[-1] if worth else None


def _next(job: Job, state: RunState) -> Job:
    assert job.train is not None
    return replace(job, attempt=job.attempt + 1, train=replace(job.train, done=done(state)))


def done(state: RunState) -> tuple[str, ...]:
    """The strategies of which nothing is left to do."""
    spec = state.job.train
    assert spec is not None
    ranks = state.world.world_size if state.world else state.expected_ranks
    return tuple(name for name in spec.strategies if name in spec.done or _is_done(name, state, ranks))


def _is_done(name: str, state: RunState, ranks: int) -> bool:
    said = [event for event in state.trained if event.strategy == name]
    if any(isinstance(event, events.NotTrained) for event in said):
        return True
    compared = {event.rank for event in said if isinstance(event, events.Compared)}
    timed = state.job.train is None or not state.job.train.timed_steps
    ended = timed or any(isinstance(event, events.Diverged | events.TimedSteps) for event in said)
    return len(compared) == ranks and ended


def _note(run_dir: RunDir, attempt: int, culprit: Finding) -> None:
    with contextlib.suppress(RunDirError):  # the next event ends the run for it
        run_dir.log(f"{culprit.message}\nattempt {attempt + 1}: all ranks are started anew\n")
        run_dir.event(msgspec.json.encode(events.Anew(attempt=attempt)) + b"\n")


# ---- what came of all attempts


def _together(order: Order, failed: Sequence[_Attempt], last: Outcome) -> Outcome:
    states = [*(attempt.state for attempt in failed), last.state]
    ends = [*(attempt.ended_at for attempt in failed[1:]), None]  # of the attempt after each that failed
    restarts = tuple(
        _restart(number, attempt, states[number], ends[number - 1])
        for number, attempt in enumerate(failed, start=1)
    )
    notes = [f for attempt in failed for f in attempt.findings if f.severity != "error"]
    said = [_said(restart, attempt, order) for restart, attempt in zip(restarts, failed, strict=True)]
    findings = tuple(dict.fromkeys([*notes, *said, *last.findings]))
    return replace(last, findings=findings, restarts=restarts)


def _restart(number: int, attempt: _Attempt, after: RunState, after_ended_at: float | None) -> Restart:
    before, culprit = attempt.state, attempt.culprit
    struck = max(before.began, default=None)
    strategy, step = _place(before.job, struck)
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


def _place(job: Job, index: int | None) -> tuple[str | None, int | None]:
    """(strategy, number of the step that is held against the reference) of a step of the run."""
    spec = job.train
    if spec is None or index is None:
        return None, None
    strategy, number = divmod(index, spec.steps + 1)
    return spec.strategies[strategy], number + 1 if number < spec.steps else None


def _resumed(strategy: str | None, after: RunState) -> int | None:
    fresh: Iterable[events.OfTraining] = after.trained[after.carried :]
    numbers = [e.number for e in fresh if isinstance(e, events.Resumed) and e.strategy == strategy]
    begun = {_place(after.job, index)[0] for index in after.began}
    return numbers[0] if numbers else 0 if strategy in begun else None


def _said(restart: Restart, attempt: _Attempt, order: Order) -> Finding:
    went_on = f"{restart.strategy or 'the run'} "
    if restart.resumed_from:
        went_on += f"went on after step {restart.resumed_from}"
    else:
        went_on += "began anew" if restart.resumed_from == 0 or restart.strategy is None else "did not get there"
    lost = "" if restart.lost_s is None else f", {format_seconds(restart.lost_s)} lost"
    return Finding(
        code="restarted",
        severity="info" if _is_drill(attempt) else "warning",
        subject=restart.subject,
        message=f"{restart.message}: all ranks were started anew (restart {restart.attempt} of at most "
        f"{order.max_restarts}), {went_on}{lost}",
        evidence=attempt.culprit.evidence,
        remedy="" if _is_drill(attempt) else attempt.culprit.remedy,
    )


def _is_drill(attempt: _Attempt) -> bool:
    """Whether it was asked for."""
    job = attempt.state.job
    fault = fault_injection.parse(job.fault)
    asked = Subject(kind="rank", name=str(fault.rank)) if fault is not None else None
    return fault is not None and fault.attempt in (None, job.attempt) and attempt.culprit.subject == asked
