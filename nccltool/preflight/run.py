"""From the words of `nccltool preflight` to a verdict: run the stages of a suite, judge, keep what was seen."""

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from nccltool import __version__
from nccltool.compare import baselines, effects, judge
from nccltool.compare.result import Against
from nccltool.core import signals
from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding
from nccltool.preflight import (
    folder,
    host_verdicts,
    platforms,
    probe_run,
    second_test,
    stages,
    suite_folder,
)
from nccltool.preflight.check import Check
from nccltool.preflight.options import PreflightOrder
from nccltool.preflight.result import CheckOutcome, Preflight
from nccltool.preflight.stages import Stage
from nccltool.preflight.stages.base import StageContext, StageResult
from nccltool.preflight.suite import with_platform
from nccltool.probe.result import Measurement, Run
from nccltool.train.result import TrainingResult

Tell = Callable[[str], None]


def plan(ask: PreflightOrder) -> str:
    """What would run, and how long it takes on healthy nodes."""
    context = _context(ask, Path(), lambda: False)
    lines = [f"suite {ask.suite.name}: {ask.suite.title} ({ask.suite.path})"]
    total = 0.0
    for stage in stages.every():
        why = _not_wanted(stage.name, ask)
        if why:
            lines.append(f"{stage.name}: skip: {why}")
            continue
        seconds = stage.about_s(context)
        total += seconds
        lines.append(f"{stage.name}: about {seconds:.0f} s" if seconds >= 1 else f"{stage.name}:")
        lines += [f"    {line}" for line in stage.plan(context)]
    return "\n".join([*lines, f"about {total:.0f} s in all, on healthy nodes"]) + "\n"


def _not_wanted(name: str, ask: PreflightOrder) -> str:
    if ask.only and name not in ask.only:
        return f"--only {','.join(ask.only)}"
    if name in ask.skip:
        return f"--skip {name}"
    return "" if name in ask.suite.stages or name == "pairs" else f"the suite {ask.suite.name} has none"


def _context(ask: PreflightOrder, place: Path, stop: Callable[[], bool]) -> StageContext:
    where = ask.where
    here = dict.fromkeys(range(where.nodes or 1), socket.gethostname())
    return StageContext(
        suite=ask.suite,
        where=where,
        hosts=where.launch.shown_names() if where.launch.remote else here,
        targets=dict(enumerate(where.targets)),
        words=ask.words,
        folder=place,
        fault=ask.fault,
        keep_going=ask.keep_going,
        end=time.monotonic() + ask.budget_s if ask.budget_s else None,
        stop=stop,
    )


def preflight(ask: PreflightOrder, base: Path, command: tuple[str, ...], tell: Tell) -> Preflight:
    """Run, judge, keep. Raises RunDirError before anything is started."""
    begin, started = time.monotonic(), datetime.now(UTC)
    baseline = _baseline(ask.baseline, ask.store) if ask.baseline else None
    kept_in = folder.make(ask, base)
    with signals.held() as came:  # none ends us before what was seen is kept
        context = _context(ask, kept_in, lambda: bool(came))
        context.baseline = baseline
        results = [_run_stage(stage, ask, context, tell) for stage in stages.every()]
        context.outcomes += _baseline_not_asked(context)
        interrupted = bool(came)
        outcomes = folder.with_evidence(context, kept_in)
    verdict = host_verdicts.verdict(outcomes, interrupted)
    found = Preflight(
        info=_info(ask, command, context, results, started),
        verdict=replace(verdict, exit_code=0) if ask.observe else verdict,
        would_exit=verdict.exit_code if ask.observe else None,
        suite=context.suite.name,
        outcomes=outcomes,
        hosts=host_verdicts.of_hosts(outcomes, dict.fromkeys(context.hosts.values())),
        findings=_findings(outcomes),
        runs=tuple(run for one in results for run in one.runs),
        duration_s=time.monotonic() - begin,
        measurements=_rows(results),
        trainings=_trainings(results),
        folder=str(kept_in),
    )
    folder.keep(found, kept_in, ask.hosts_dir)
    return found


def _run_stage(stage: Stage, ask: PreflightOrder, context: StageContext, tell: Tell) -> StageResult:
    _take_platform(ask, context)
    results = _kept_back(stage, ask, context)
    if results is None:
        tell(f"{stage.name} ...")
        begin = time.monotonic()
        results = stage.run(context)
        if results.runs:
            hosts = {context.hosts[node] for node in context.nodes_left()}
            results = replace(results, outcomes=second_test.shared(results.outcomes, hosts))
        tell(f"{stage.name}: {_word(results.outcomes)}, {time.monotonic() - begin:.1f} s")
    context.outcomes += results.outcomes
    return results


def _kept_back(stage: Stage, ask: PreflightOrder, context: StageContext) -> StageResult | None:
    """Why a stage is not run; None = it is."""

    def said(status: str, reason: str) -> StageResult:
        hosts = tuple(dict.fromkeys(context.hosts.values())) if status == "unknown" else ()
        outcome = CheckOutcome(check=Check(stage=stage.name), host=None, status=status, reason=reason, hosts=hosts)  # type: ignore[arg-type]
        return StageResult(outcomes=(outcome,))

    if why := _not_wanted(stage.name, ask):
        return said("skip", why)
    if context.stop() and stage.about_s(context):  # those that have nothing to do say so
        return said("unknown", "interrupted")
    broken = next((name for name in stage.needs if _stops(name, context)), None)
    if broken:
        return said("skip", f"{broken} failed")
    needs, left = stage.about_s(context), context.left_s()
    if context.end is not None and needs > left:
        return said("unknown", f"it takes about {needs:.0f} s, and {left:.0f} s of the budget are left")
    return None


def _stops(name: str, context: StageContext) -> bool:
    failed = [one for one in context.outcomes if one.stage == name and one.status == "fail"]
    return any(not (context.keep_going and one.host) for one in failed)


def _take_platform(ask: PreflightOrder, context: StageContext) -> None:
    if ask.find_platform and context.surveyed and not context.suite.platform:
        found = platforms.fitting(suite_folder.platforms(), tuple(context.survey().snapshots.values()))
        if found is not None:
            context.suite = with_platform(context.suite, found)


def _word(outcomes: Sequence[CheckOutcome]) -> str:
    statuses = {one.status for one in outcomes if one.required or one.status != "unknown"}
    return next((word for word in ("fail", "unknown", "warn", "pass") if word in statuses), "skip")


def _baseline(word: str, store: Path | None) -> Callable[[Run], Sequence[Against]]:
    """Holds a run against a baseline, that of a name or of a file. Raises BadInput when there is none."""
    baseline = baselines.named(word, store)
    return lambda run: judge.against(baseline, run.info, run.measurements, effects.CompareSettings())


def _baseline_not_asked(context: StageContext) -> tuple[CheckOutcome, ...]:
    """That no number was held against a baseline that was named must not pass for its consent."""
    if context.baseline is None or any(one.check.kind == "baseline" for one in context.outcomes):
        return ()
    hosts = tuple(dict.fromkeys(context.hosts.values()))
    stage = "across" if len(context.hosts) > 1 else "within"
    why = "nothing was measured over all nodes that could be held against the baseline"
    check = replace(probe_run.BASELINE, stage=stage)
    return (CheckOutcome(check=check, host=None, status="unknown", reason=why, hosts=hosts),)


def with_findings(found: Preflight, more: Sequence[Finding]) -> Preflight:
    """With warnings that came after its end, in its document too. Raises RunDirError."""
    passed = found.verdict.status == "pass"
    verdict = replace(found.verdict, status="warn") if passed else found.verdict
    found = replace(found, verdict=verdict, findings=(*found.findings, *more))
    folder.keep(found, Path(found.folder), None)
    return found


def _findings(outcomes: Sequence[CheckOutcome]) -> tuple[Finding, ...]:
    return tuple(dict.fromkeys(f for one in outcomes if one.status in ("fail", "warn") for f in one.findings))


def _rows(results: Sequence[StageResult]) -> tuple[Measurement, ...]:
    """Those over all nodes, where there are any."""
    return next((one.measurements for one in reversed(results) if one.measurements), ())


def _trainings(results: Sequence[StageResult]) -> tuple[TrainingResult, ...]:
    return next((one.trainings for one in reversed(results) if one.trainings), ())


def _info(
    ask: PreflightOrder,
    command: tuple[str, ...],
    context: StageContext,
    results: Sequence[StageResult],
    started: datetime,
) -> RunInfo:
    """The circumstances: of the run over all nodes as far as there was one."""
    told = [one.info.info for one in results if one.info is not None]
    nodes, nproc = len(context.hosts), context.nproc
    mine = RunInfo(
        id=context.folder.name,
        started=f"{started:%Y-%m-%dT%H:%M:%SZ}",
        command=command,
        nccltool=__version__,
        torch=None,
        backend=None,
        backend_version=None,
        backend_reason=None,
        nodes=nodes,
        emulated=ask.where.emulated,
        world_size=nodes * nproc if nproc else None,
        hosts=tuple(dict.fromkeys(context.hosts.values())),
    )
    if not told:
        return mine
    most = max(told, key=lambda info: (info.backend is not None, info.world_size or 0))
    return replace(
        most,
        id=mine.id,
        started=mine.started,
        command=mine.command,
        nodes=nodes,
        hosts=mine.hosts,
        world_size=mine.world_size,
        emulated=mine.emulated,
    )
