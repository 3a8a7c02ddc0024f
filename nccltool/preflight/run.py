"""From the words of `nccltool preflight` to a verdict: climb the rungs of a suite, judge, keep what was seen."""

import difflib
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nccltool import __version__
from nccltool.compare import baselines, effects, judge
from nccltool.compare.result import Against
from nccltool.core import signals
from nccltool.core.errors import BadInput, NccltoolError, RunDirError
from nccltool.core.findings import Finding
from nccltool.core.run_directory import new_id
from nccltool.core.run_info import RunInfo
from nccltool.hosts import facts
from nccltool.launch import selection
from nccltool.launch.job import Job, kept
from nccltool.launch.options import StartOptions
from nccltool.launch.selection import Where
from nccltool.preflight import document as preflight_document
from nccltool.preflight import host_verdicts, platforms, stages, suites
from nccltool.preflight import judge as preflight_judge
from nccltool.preflight.result import Judged, Preflight
from nccltool.preflight.stages import Rung
from nccltool.preflight.stages.base import Climbed, Ladder
from nccltool.preflight.suites import RUNGS, Platform, Suite
from nccltool.probe.result import Measurement, Run
from nccltool.train.result import Training
from nccltool.triage import document
from nccltool.triage import run as triage_run

Tell = Callable[[str], None]
_MOST_EVIDENCE = 32
"""Hosts whose facts are kept for one check, and checks that get a folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the user wants."""

    suite: Suite
    platform: Platform | None
    find_platform: bool
    """Take the one that fits the hosts."""
    where: Where
    words: tuple[str, ...]
    only: tuple[str, ...]
    skip: tuple[str, ...]
    budget_s: float | None
    observe: bool
    keep_going: bool
    base: Path
    hosts_dir: Path | None
    baseline: str | None
    store: Path | None
    fault: str
    command: tuple[str, ...]


def asked(
    options: Mapping[str, Any], start: StartOptions, base: Path, command: tuple[str, ...], env: Mapping[str, str]
) -> Asked:
    """The options of the command line, checked. Raises BadInput."""
    where = selection.choose(start, env)
    if not where.node_ranks:
        raise BadInput(
            f"preflight starts ranks itself, and {where.launch.why}",
            "start it once: with --hosts, in an allocation of Slurm, or on one host",
        )
    suite = suites.read(suites.find(options["suite"]))
    word = options["platform"]
    named = None if word in ("auto", "none") else suites.read_platform(suites.find(word, "platform"))
    budget = options["total_budget"]
    return Asked(
        suite=suites.with_platform(suite, named) if named else suite,
        platform=named,
        find_platform=word == "auto",
        where=where,
        words=_words(options),
        only=_rungs("--only", options["only"]),
        skip=_rungs("--skip", options["skip"]),
        budget_s=suites.parse_duration(budget, "--budget") if budget else None,
        observe=bool(options["observe"]),
        keep_going=start.keep_going,
        base=base,
        hosts_dir=Path(options["hosts_dir"]) if options["hosts_dir"] else None,
        baseline=options["baseline"],
        store=Path(options["store"]) if options["store"] else None,
        fault=start.fault,
        command=command,
    )


def _rungs(option: str, texts: Sequence[str]) -> tuple[str, ...]:
    words = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    for word in words:
        if word not in RUNGS:
            near = difflib.get_close_matches(word, RUNGS, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise BadInput(f"{option}: {word[:40]!r} is not a rung", f"{hint}choose from {', '.join(RUNGS)}")
    return tuple(words)


def _words(options: Mapping[str, Any]) -> tuple[str, ...]:
    """What every run is told, besides where it runs."""
    words: list[str] = []
    for name in ("ssh", "remote_python", "remote_env"):
        plain = name == "ssh" and options[name] == "ssh"
        if options[name] and not plain and (options["hosts"] or options["hostfile"]):
            words += [f"--{name.replace('_', '-')}", str(options[name])]
    if options["backend"] != "auto":
        words += ["--backend", options["backend"]]
    for name, default in (("timeout", 30.0), ("join_timeout", 120.0)):
        if options[name] != default:
            words += [f"--{name.replace('_', '-')}", f"{options[name]:g}"]
    return tuple(words)


def would(ask: Asked) -> str:
    """What would run, and how long it takes on healthy nodes."""
    ladder = _ladder(ask, Path(), lambda: False)
    lines = [f"suite {ask.suite.name}: {ask.suite.title} ({ask.suite.path})"]
    total = 0.0
    for rung in stages.every():
        why = _not_wanted(rung.name, ask)
        if why:
            lines.append(f"{rung.name}: skip: {why}")
            continue
        seconds = rung.about_s(ladder)
        total += seconds
        lines.append(f"{rung.name}: about {seconds:.0f} s" if seconds >= 1 else f"{rung.name}:")
        lines += [f"    {line}" for line in rung.would(ladder)]
    return "\n".join([*lines, f"about {total:.0f} s in all, on healthy nodes"]) + "\n"


def _not_wanted(name: str, ask: Asked) -> str:
    if ask.only and name not in ask.only:
        return f"--only {','.join(ask.only)}"
    if name in ask.skip:
        return f"--skip {name}"
    return "" if name in ask.suite.rungs or name == "pairs" else f"the suite {ask.suite.name} has none"


def _ladder(ask: Asked, folder: Path, stop: Callable[[], bool]) -> Ladder:
    where = ask.where
    here = dict.fromkeys(range(where.nodes or 1), socket.gethostname())
    return Ladder(
        suite=ask.suite,
        where=where,
        hosts=where.launch.shown_names() if where.launch.remote else here,
        targets=dict(enumerate(where.targets)),
        words=ask.words,
        folder=folder,
        fault=ask.fault,
        keep_going=ask.keep_going,
        end=time.monotonic() + ask.budget_s if ask.budget_s else None,
        stop=stop,
    )


def preflight(ask: Asked, tell: Tell) -> Preflight:
    """Climb, judge, keep. Raises RunDirError before anything is started."""
    begin, started = time.monotonic(), datetime.now(UTC)
    baseline = _baseline(ask.baseline, ask.store) if ask.baseline else None
    folder = _folder(ask)
    with signals.held() as came:  # none ends us before what was seen is kept
        ladder = _ladder(ask, folder, lambda: bool(came))
        ladder.baseline = baseline
        climbed = [_climbed(rung, ask, ladder, tell) for rung in stages.every()]
        ladder.outcomes += _baseline_not_asked(ladder)
        interrupted = bool(came)
        outcomes = _with_evidence(ladder, folder)
    verdict = host_verdicts.verdict(outcomes, interrupted)
    found = Preflight(
        info=_info(ask, ladder, climbed, started),
        verdict=replace(verdict, exit_code=0) if ask.observe else verdict,
        would_exit=verdict.exit_code if ask.observe else None,
        suite=ladder.suite.name,
        outcomes=outcomes,
        hosts=host_verdicts.of_hosts(outcomes, dict.fromkeys(ladder.hosts.values())),
        findings=_findings(outcomes),
        runs=tuple(run for one in climbed for run in one.runs),
        duration_s=time.monotonic() - begin,
        measurements=_rows(climbed),
        trainings=_trainings(climbed),
        folder=str(folder),
    )
    _keep(found, folder, ask.hosts_dir)
    return found


def _climbed(rung: Rung, ask: Asked, ladder: Ladder, tell: Tell) -> Climbed:
    _take_platform(ask, ladder)
    climbed = _kept_back(rung, ask, ladder)
    if climbed is None:
        tell(f"{rung.name} ...")
        begin = time.monotonic()
        climbed = rung.climb(ladder)
        if climbed.runs:
            hosts = {ladder.hosts[node] for node in ladder.nodes_left()}
            climbed = replace(climbed, outcomes=preflight_judge.shared(climbed.outcomes, hosts))
        tell(f"{rung.name}: {_word(climbed.outcomes)}, {time.monotonic() - begin:.1f} s")
    ladder.outcomes += climbed.outcomes
    return climbed


def _kept_back(rung: Rung, ask: Asked, ladder: Ladder) -> Climbed | None:
    """Why a rung is not climbed; None = it is."""

    def said(status: str, reason: str) -> Climbed:
        code = rung.name
        hosts = tuple(dict.fromkeys(ladder.hosts.values())) if status == "unknown" else ()
        outcome = Judged(code=code, rung=code, host=None, status=status, reason=reason, hosts=hosts)  # type: ignore[arg-type]
        return Climbed(outcomes=(outcome,))

    if why := _not_wanted(rung.name, ask):
        return said("skip", why)
    if ladder.stop() and rung.about_s(ladder):  # those that have nothing to do say so
        return said("unknown", "interrupted")
    broken = next((name for name in rung.needs if _stops(name, ladder)), None)
    if broken:
        return said("skip", f"{broken} failed")
    needs, left = rung.about_s(ladder), ladder.left_s()
    if ladder.end is not None and needs > left:
        return said("unknown", f"it takes about {needs:.0f} s, and {left:.0f} s of the budget are left")
    return None


def _stops(name: str, ladder: Ladder) -> bool:
    failed = [one for one in ladder.outcomes if one.rung == name and one.status == "fail"]
    return any(not (ladder.keep_going and one.host) for one in failed)


def _take_platform(ask: Asked, ladder: Ladder) -> None:
    if ask.find_platform and ladder.surveyed and not ladder.suite.platform:
        found = platforms.fitting(suites.platforms(), tuple(ladder.survey().snapshots.values()))
        if found is not None:
            ladder.suite = suites.with_platform(ladder.suite, found)


def _word(outcomes: Sequence[Judged]) -> str:
    statuses = {one.status for one in outcomes if one.required or one.status != "unknown"}
    return next((word for word in ("fail", "unknown", "warn", "pass") if word in statuses), "skip")


def _baseline(word: str, store: Path | None) -> Callable[[Run], Sequence[Against]]:
    """Holds a run against a baseline, that of a name or of a file. Raises BadInput when there is none."""
    baseline = baselines.named(word, store)
    return lambda run: judge.against(baseline, run.info, run.measurements, effects.CompareSettings())


def _baseline_not_asked(ladder: Ladder) -> tuple[Judged, ...]:
    """That no number was held against a baseline that was named must not pass for its consent."""
    if ladder.baseline is None or any("-baseline-" in one.code for one in ladder.outcomes):
        return ()
    hosts = tuple(dict.fromkeys(ladder.hosts.values()))
    rung = "across" if len(ladder.hosts) > 1 else "within"
    why = "nothing was measured over all nodes that could be held against the baseline"
    return (Judged(code=f"{rung}/baseline", rung=rung, host=None, status="unknown", reason=why, hosts=hosts),)


# ---- what is kept


def _folder(ask: Asked) -> Path:
    """A folder as runs have one, so that `nccltool runs` and what watches the folder of runs find it."""
    job = Job(run_id=new_id(), kind="preflight", nodes=ask.where.nodes, fault=ask.fault)
    folder = ask.base / job.run_id
    if ask.hosts_dir is not None:
        _takes_files(ask.hosts_dir)
    try:
        (folder / "runs").mkdir(parents=True)
        (folder / "job.json").write_bytes(kept(job))
    except OSError as error:
        raise RunDirError(
            f"{folder} cannot be made: {error.strerror}", "name another folder: --run-dir"
        ) from error
    return folder


def _takes_files(place: Path) -> None:
    """Find out before the run that the lists of hosts can be written. Raises RunDirError."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return
    except OSError as error:
        raise RunDirError(
            f"--hosts-dir {place} cannot be written: {error.strerror}", "name another folder"
        ) from error


def _with_evidence(ladder: Ladder, folder: Path) -> tuple[Judged, ...]:
    """The outcomes, each failure with the folder of what speaks for it."""
    failed = list(dict.fromkeys(one.code for one in ladder.outcomes if one.status == "fail"))
    places = {}
    for code in failed[:_MOST_EVIDENCE]:
        mine = [one for one in ladder.outcomes if one.code == code and one.status == "fail"]
        place = folder / "evidence" / code.replace("/", "-")
        with suppress(OSError):  # a full disk costs the evidence, not the verdict
            place.mkdir(parents=True, exist_ok=True)
            _gather(mine, ladder, place)
            places[code] = str(place)
    return tuple(
        replace(one, evidence=places.get(one.code, one.evidence)) if one.status == "fail" else one
        for one in ladder.outcomes
    )


def _gather(outcomes: Sequence[Judged], ladder: Ladder, place: Path) -> None:
    (place / "outcomes.json").write_text(preflight_document.outcomes_to_json(outcomes))
    run = Path(outcomes[0].evidence) if outcomes[0].evidence else None
    if run is not None:
        for name in ("run.json", "log.txt", "events.jsonl"):
            with suppress(OSError):
                shutil.copyfile(run / name, place / name)
        with suppress(NccltoolError, OSError):
            incident = triage_run.triage([str(run / "log.txt")], ("nccltool", "triage"))
            (place / "triage.json").write_text(document.incident_to_json(incident))
    if ladder.surveyed:
        wanted = {host for one in outcomes for host in (one.host, *one.hosts) if host}
        snapshots = ladder.survey().snapshots
        first = {host: node for node, host in sorted(ladder.hosts.items(), reverse=True)}
        kept = sorted(node for host, node in first.items() if host in wanted and node in snapshots)
        for node in kept[:_MOST_EVIDENCE]:
            (place / f"facts-{node}.json").write_text(facts.to_json(snapshots[node]))


def _keep(found: Preflight, folder: Path, hosts_dir: Path | None) -> None:
    texts = host_verdicts.lists(found.hosts)
    try:
        (folder / "run.json").write_text(preflight_document.to_json(found) + "\n")
        for place in (folder, hosts_dir):
            for name, text in texts.items() if place else ():
                assert place is not None
                place.mkdir(parents=True, exist_ok=True)
                beside = place / f".{name}.{os.getpid()}.tmp"  # a scheduler may read it at any moment
                beside.write_text(text)
                os.replace(beside, place / name)  # noqa: PTH105 - says that it replaces
    except OSError as error:
        raise RunDirError(
            f"{error.filename} cannot be written: {error.strerror}",
            "name folders with room: --run-dir, --hosts-dir",
        ) from error


def with_findings(found: Preflight, more: Sequence[Finding]) -> Preflight:
    """With warnings that came after its end, in its document too. Raises RunDirError."""
    passed = found.verdict.status == "pass"
    verdict = replace(found.verdict, status="warn") if passed else found.verdict
    found = replace(found, verdict=verdict, findings=(*found.findings, *more))
    _keep(found, Path(found.folder), None)
    return found


def _findings(outcomes: Sequence[Judged]) -> tuple[Finding, ...]:
    return tuple(dict.fromkeys(f for one in outcomes if one.status in ("fail", "warn") for f in one.findings))


def _rows(climbed: Sequence[Climbed]) -> tuple[Measurement, ...]:
    """Those over all nodes, where there are any."""
    return next((one.measurements for one in reversed(climbed) if one.measurements), ())


def _trainings(climbed: Sequence[Climbed]) -> tuple[Training, ...]:
    return next((one.trainings for one in reversed(climbed) if one.trainings), ())


def _info(ask: Asked, ladder: Ladder, climbed: Sequence[Climbed], started: datetime) -> RunInfo:
    """The circumstances: of the run over all nodes as far as there was one."""
    told = [one.info.info for one in climbed if one.info is not None]
    nodes, nproc = len(ladder.hosts), ladder.nproc
    mine = RunInfo(
        id=ladder.folder.name,
        started=f"{started:%Y-%m-%dT%H:%M:%SZ}",
        command=ask.command,
        nccltool=__version__,
        torch=None,
        backend=None,
        backend_version=None,
        backend_reason=None,
        nodes=nodes,
        emulated=ask.where.emulated,
        world_size=nodes * nproc if nproc else None,
        hosts=tuple(dict.fromkeys(ladder.hosts.values())),
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
