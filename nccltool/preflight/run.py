"""From the words of `nccltool preflight` to a verdict: run the stages of a suite, judge, keep what was seen."""

import socket
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nccltool.compare import baselines, judge
from nccltool.core import signals, verdicts
from nccltool.core.documents import RunInfo, begun_now
from nccltool.core.findings import Finding
from nccltool.launch import fault_injection, start_costs, torch_needed
from nccltool.preflight import folder, host_verdicts, probe_run, seen_before, stages, suite_reader
from nccltool.preflight.activity import Activity, StageEnd
from nccltool.preflight.options import PreflightOrder
from nccltool.preflight.result import Check, CheckOutcome, HostVerdict, Preflight, StageDuration, worst
from nccltool.preflight.stages import Stage
from nccltool.preflight.stages.base import StageContext, StageResult
from nccltool.preflight.suite import fitting, with_platform
from nccltool.probe.result import Run
from nccltool.train.result import TrainRun

Watch = Callable[[Activity], None]
"""Called whenever something was done, and often while a stage waits."""
_GPUS_OF_MOST = 8
"""Of hosts that have GPUs; for estimates only."""


def plan(ask: PreflightOrder) -> str:
    """What would run, and how long it takes on healthy nodes."""
    context = _context(ask, Path(), lambda: False)
    if not context.where.launch.remote:
        context.survey()  # which GPUs are here; other hosts are not bothered
    lines, total = _planned(ask, context)
    lines += [f"about {total:.0f} s in total on healthy nodes", _start(context)]
    if not context.surveyed:
        context.assumed_gpus = _GPUS_OF_MOST
        _, total = _planned(ask, context)
        lines += [
            f"about {total:.0f} s with {_GPUS_OF_MOST} GPUs per host; --dry-run does not contact hosts",
            _start(context),
        ]
    return "\n".join(lines) + "\n"


def _start(context: StageContext) -> str:
    """How long a run over all nodes takes to start, and why."""
    ranks = context.started()
    parts = ", ".join(f"{part.what} {part.seconds:.1f} s" for part in start_costs.costs(ranks))
    each = "1 rank per host starts" if ranks.per_host == 1 else f"{ranks.per_host} ranks per host start"
    return f"    {each} in about {start_costs.start_s(ranks):.0f} s: {parts}"


def _planned(ask: PreflightOrder, context: StageContext) -> tuple[list[str], float]:
    """(a line or more for each stage, seconds in all)."""
    lines = [f"suite {ask.suite.name}: {ask.suite.title} ({ask.suite.path})"]
    total = 0.0
    for stage in stages.every():
        if why := _not_wanted(stage, ask):
            lines.append(f"{stage.name}: skip: {why}")
            continue
        part = ask.suite.parts.get(stage.name)
        seconds = stage.about_s(context, part)
        total += seconds
        lines.append(f"{stage.name}: about {seconds:.0f} s" if seconds >= 1 else f"{stage.name}:")
        lines += [f"    {line}" for line in stage.plan(context, part)]
    return lines, total


def _require_torch(ask: PreflightOrder) -> None:
    every = stages.every()
    if any(stage.starts_ranks and not _not_wanted(stage, ask) for stage in every):
        without = ",".join(stage.name for stage in every if not stage.starts_ranks)
        torch_needed.require(ask.where.launch, "preflight", f"run the stages that need no torch: --only {without}")


def _not_wanted(stage: Stage, ask: PreflightOrder) -> str:
    if ask.only and stage.name not in ask.only:
        return f"--only {','.join(ask.only)}"
    if stage.name in ask.skip:
        return f"--skip {stage.name}"
    there = stage.part.of is None or stage.name in ask.suite.parts
    return "" if there else f"the suite {ask.suite.name} does not have this stage"


def _context(
    ask: PreflightOrder, place: Path, stop: Callable[[], bool], activity: Activity | None = None
) -> StageContext:
    where = ask.where
    here = dict.fromkeys(range(where.nodes or 1), socket.gethostname())
    context = StageContext(
        suite=ask.suite,
        where=where,
        hosts=where.launch.shown_names() if where.launch.remote else here,
        words=ask.words,
        folder=place,
        backend=ask.backend,
        fault=fault_injection.parse(ask.fault),
        keep_going=ask.keep_going,
        end=time.monotonic() + ask.budget_s if ask.budget_s else None,
        stop=stop,
        activity=activity or Activity(),
    )
    context.reserve.note_start(ask.start_s)
    return context


def _found(outcomes: Sequence[CheckOutcome]) -> Iterable[Finding]:
    """Each finding once."""
    return dict.fromkeys(f for one in outcomes if one.status in ("fail", "warn") for f in one.findings)


def preflight(ask: PreflightOrder, base: Path, command: tuple[str, ...], watch: Watch) -> Preflight:
    """Run, judge, keep. Raises BadInput and RunDirError before anything is started."""
    _require_torch(ask)
    begin, begun = time.monotonic(), begun_now(command)
    baseline = baselines.named(ask.baseline, ask.store) if ask.baseline else None
    kept_in = folder.make(ask, base)
    activity = Activity(planned=sum(not _not_wanted(stage, ask) for stage in stages.every()))
    with signals.held() as came:  # none ends us before what was seen is kept

        def stop() -> bool:
            watch(activity)
            return bool(came)

        context = _context(ask, kept_in, stop, activity)
        context.baseline = partial(judge.against, baseline) if baseline else None
        results = [_run_stage(stage, ask, context, watch) for stage in stages.every()]
        context.outcomes += _baseline_not_asked(context)
        interrupted = bool(came)
        outcomes = folder.with_evidence(context, kept_in)
    verdict = host_verdicts.verdict(outcomes, interrupted)
    found = Preflight(
        info=_info(begun, context, told := [one.run for one in results if one.run is not None]),
        verdict=replace(verdict, exit_code=0) if ask.observe else verdict,
        would_exit=verdict.exit_code if ask.observe else None,
        suite=context.suite.name,
        outcomes=outcomes,
        hosts=_with_drivers(host_verdicts.of_hosts(outcomes, context.hosts_once), context),
        findings=(*_found(outcomes), *fault_injection.findings(ask.fault)),
        runs=tuple(run for one in results for run in one.runs),
        duration_s=time.monotonic() - begin,
        stopped_s=round(context.stopped_s, 1),
        # those over all nodes, where there are any
        measurements=next((run.measurements for run in reversed(told) if run.measurements), ()),
        trainings=next((run.trainings for run in reversed(told) if isinstance(run, TrainRun)), ()),
        folder=str(kept_in),
        stage_times=tuple(
            StageDuration(stage=one.stage, duration_s=round(one.seconds, 3))
            for one in activity.ends
            if one.result != "skip"
        ),
    )
    folder.keep(found, kept_in, ask.hosts_dir)
    return found


def _run_stage(stage: Stage, ask: PreflightOrder, context: StageContext, watch: Watch) -> StageResult:
    _take_platform(ask, context)
    begin = time.monotonic()
    part = context.suite.parts.get(stage.name)
    if kept_back := _kept_back(stage, part, ask, context):
        results = StageResult(outcomes=(kept_back,))
    else:
        context.activity.begin(stage.name, stage.about_s(context, part), _later_s(stage, ask, context))
        watch(context.activity)
        results = stage.run(context, part)
        if results.runs:
            hosts = {context.hosts[node] for node in context.nodes_left()}
            results = replace(results, outcomes=host_verdicts.shared(results.outcomes, hosts))
    if not _not_wanted(stage, ask):
        context.activity.end(_ended(stage, results.outcomes, time.monotonic() - begin))
        watch(context.activity)
    context.outcomes += results.outcomes
    return results


def _later_s(stage: Stage, ask: PreflightOrder, context: StageContext) -> float:
    """How long the stages after this one take on healthy nodes."""
    later = stages.every()[stages.NAMES.index(stage.name) + 1 :]
    parts = context.suite.parts
    return sum(one.about_s(context, parts.get(one.name)) for one in later if not _not_wanted(one, ask))


def _ended(stage: Stage, outcomes: Sequence[CheckOutcome], seconds: float) -> StageEnd:
    as_whole = len(outcomes) == 1 and outcomes[0].check.is_stage
    reason = outcomes[0].reason if as_whole else ""
    return StageEnd(stage=stage.name, result=worst(outcomes), seconds=seconds, reason=reason)


def _kept_back(stage: Stage, part: Any, ask: PreflightOrder, context: StageContext) -> CheckOutcome | None:
    """Why a stage is not run; None = it is."""
    skip = CheckOutcome(check=Check(stage=stage.name), host=None, status="skip")
    unknown = replace(skip, status="unknown", hosts=context.hosts_once)
    if why := _not_wanted(stage, ask):
        return replace(skip, reason=why)
    needs, left = stage.about_s(context, part), context.left_s()
    if context.stop() and needs:  # those that have nothing to do say so
        return replace(unknown, reason="interrupted")
    if broken := next((name for name in stage.needs if _stops(name, context)), None):
        return replace(skip, reason=f"{broken} failed")
    if context.end is not None and needs > left:
        reason = f"it needs about {needs:.0f} s, but the remaining budget is {left:.0f} s"
        lost = f"; nccltool itself was stopped for {context.stopped_s:.0f} s" if context.stopped_s else ""
        return replace(unknown, reason=reason + lost)
    return None


def _stops(name: str, context: StageContext) -> bool:
    failed = [one for one in context.outcomes if one.stage == name and one.status == "fail"]
    return any(not (context.keep_going and one.host) for one in failed)


def _take_platform(ask: PreflightOrder, context: StageContext) -> None:
    if ask.find_platform and context.surveyed and not context.suite.platform:
        found = fitting(suite_reader.platforms(), tuple(context.survey().snapshots.values()))
        if found is not None:
            context.suite = with_platform(context.suite, found)


def _baseline_not_asked(context: StageContext) -> tuple[CheckOutcome, ...]:
    """That no number was held against a baseline that was named must not pass for its consent."""
    if context.baseline is None or any(one.check.kind == "baseline" for one in context.outcomes):
        return ()
    why = "nothing measured across all nodes can be compared with the baseline"
    check = replace(probe_run.BASELINE, stage="across" if len(context.hosts) > 1 else "within")
    return (CheckOutcome(check=check, host=None, status="unknown", reason=why, hosts=context.hosts_once),)


def _with_drivers(hosts: Iterable[HostVerdict], context: StageContext) -> tuple[HostVerdict, ...]:
    """Each with its driver, where hosts were looked at."""
    seen = context.survey().snapshots if context.surveyed else {}
    drivers: dict[str, str] = {}
    for node, facts in seen.items():
        known = next((one for one in (facts.nvidia.driver, facts.amd.driver) if one and isinstance(one, str)), "")
        drivers[context.hosts[node]] = known
    return tuple(replace(one, driver=drivers.get(one.host, "")) for one in hosts)


def with_history(found: Preflight, file: Path) -> Preflight:
    """With what a history says of checks that did not pass, in its document too. Raises BadInput, RunDirError."""
    told = seen_before.told(found, file, time.time())
    if told != found:
        folder.keep(told, Path(told.folder), None)
    return told


def with_findings(found: Preflight, more: Sequence[Finding]) -> Preflight:
    """With warnings that came after its end, in its document too. Raises RunDirError."""
    found = replace(found, verdict=verdicts.warned(found.verdict), findings=(*found.findings, *more))
    folder.keep(found, Path(found.folder), None)
    return found


def _info(begun: RunInfo, context: StageContext, told: Iterable[Run]) -> RunInfo:
    """The circumstances: of the run over all nodes as far as there was one."""
    infos = [run.info for run in told]
    most = max(infos, key=lambda info: (info.backend is not None, info.world_size or 0), default=begun)
    nodes, nproc = len(context.hosts), context.nproc
    return replace(
        most,
        id=context.folder.name,
        started=begun.started,
        command=begun.command,
        nodes=nodes,
        emulated=context.where.emulated,
        world_size=nodes * nproc if nproc else None,
        hosts=context.hosts_once,
    )
