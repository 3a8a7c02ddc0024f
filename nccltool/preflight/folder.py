"""The folder of a preflight: what is kept of it, where `nccltool runs` finds it."""

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from nccltool.core import run_directory, written_files
from nccltool.core.errors import NccltoolError, RunDirError
from nccltool.core.written_files import PRIVATE
from nccltool.hosts import facts
from nccltool.launch.job import Job, kept
from nccltool.preflight import document, host_verdicts
from nccltool.preflight.options import PreflightOrder
from nccltool.preflight.result import CheckOutcome, Preflight
from nccltool.preflight.stages.base import StageContext
from nccltool.triage import jobs as triage_jobs
from nccltool.triage.incident import report_to_json

_MOST_EVIDENCE = 32
"""Hosts whose facts are kept for one check, and checks that get a folder."""


def make(ask: PreflightOrder, base: Path) -> Path:
    """A folder as runs have one. Raises RunDirError before anything is started."""
    job = Job(run_id=run_directory.new_id(), kind="preflight", nodes=ask.where.nodes, fault=ask.fault)
    folder = base / job.run_id
    if ask.hosts_dir is not None:
        _takes_files(ask.hosts_dir)
    try:
        run_directory.make(folder)
        (folder / "runs").mkdir()
        written_files.replace(folder / "job.json", kept(job), PRIVATE)
        run_directory.hold(folder)
    except OSError as error:
        message = f"{folder} cannot be created: {error.strerror}"
        raise RunDirError(message, "name another folder: --run-dir") from error
    return folder


def _takes_files(place: Path) -> None:
    """Find out before the run that the lists of hosts can be written. Raises RunDirError."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return
    except OSError as error:
        message = f"--hosts-dir {place} cannot be written: {error.strerror}"
        raise RunDirError(message, "name another folder") from error


def with_evidence(context: StageContext, folder: Path) -> tuple[CheckOutcome, ...]:
    """The outcomes, each failure with the folder of what speaks for it."""
    failed = list(dict.fromkeys(one.code for one in context.outcomes if one.status == "fail"))
    places = {}
    for code in failed[:_MOST_EVIDENCE]:
        mine = [one for one in context.outcomes if one.code == code and one.status == "fail"]
        place = folder / "evidence" / code.replace("/", "-")
        with suppress(OSError):  # a full disk costs the evidence, not the verdict
            place.mkdir(parents=True, exist_ok=True)
            _gather(mine, context, place)
            places[code] = str(place)
    return tuple(
        replace(one, evidence=places.get(one.code, one.evidence)) if one.status == "fail" else one
        for one in context.outcomes
    )


def _gather(outcomes: Sequence[CheckOutcome], context: StageContext, place: Path) -> None:
    written_files.replace(place / "outcomes.json", document.outcomes_to_json(outcomes).encode(), PRIVATE)
    if outcomes[0].evidence:
        run = Path(outcomes[0].evidence)
        for name in ("run.json", "log.txt", "events.jsonl"):
            with suppress(OSError):
                shutil.copyfile(run / name, place / name)
        with suppress(NccltoolError, OSError):
            found = triage_jobs.report([str(run / "log.txt")], ("nccltool", "triage"))
            written_files.replace(place / "triage.json", report_to_json(found).encode(), PRIVATE)
    if context.surveyed:
        wanted = {host for one in outcomes for host in (one.host, *one.hosts) if host}
        snapshots = context.survey().snapshots
        first = {host: node for node, host in sorted(context.hosts.items(), reverse=True)}
        kept = sorted(node for host, node in first.items() if host in wanted and node in snapshots)
        for node in kept[:_MOST_EVIDENCE]:
            written_files.replace(place / f"facts-{node}.json", facts.to_json(snapshots[node]).encode(), PRIVATE)


def keep(found: Preflight, folder: Path, hosts_dir: Path | None) -> None:
    """Its document and the lists of hosts. Raises RunDirError."""
    texts = host_verdicts.lists(found.hosts)
    try:
        written_files.replace(folder / "run.json", document.to_json(found).encode() + b"\n", PRIVATE)
        for place in filter(None, (folder, hosts_dir)):
            place.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                written_files.replace(place / name, text.encode())  # a scheduler may read it at any time
    except OSError as error:
        message = f"{error.filename} cannot be written: {error.strerror}"
        raise RunDirError(message, "name folders with free space: --run-dir, --hosts-dir") from error
