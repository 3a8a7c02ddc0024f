"""The batch script of `nccltool sbatch`: directives for Slurm, and the command that they are for."""

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nccltool.core.errors import BadInput
from nccltool.launch.launchers import slurm
from nccltool.launch.order import LaunchOrder
from nccltool.probe import options as probe_options
from nccltool.probe.job import ProbeJob
from nccltool.probe.options import ProbeOptions

ROOM_S = 600
"""What --time has above --deadline where it is not said: to start, and to import from a slow file system."""
ENDS_BEFORE_S = 60
"""How long before --time a run should end in order, with its result."""
_DIRECTIVES = (
    *("partition", "account", "qos", "reservation", "constraint", "nodelist", "exclude"),
    *("gpus_per_node", "cpus_per_task"),
)
_OURS = ("nodes", "ntasks", "ntasks-per-node", "time", "job-name", "output", "mem", "exclusive")
_TIME = re.compile(r"(?:(\d{1,4})-)?(\d{1,6})(?::(\d{1,6}))?(?::(\d{1,6}))?", re.ASCII)
_TIMES = "30 (minutes), 1:30:00, or 2-12 (days-hours)"
_SAFE = re.compile(r"[\w.,:=/@%+\[\]|&*!~-]+", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchOptions:
    """The options of `nccltool sbatch` as they were given; a field has the name of its option."""

    partition: str | None
    account: str | None
    qos: str | None
    reservation: str | None
    constraint: str | None
    nodelist: str | None
    exclude: str | None
    gpus_per_node: str | None
    cpus_per_task: int | None
    mem: str | None
    shared: bool
    time: str | None
    job_name: str
    log: str
    sbatch_option: tuple[str, ...]
    setup: tuple[str, ...]
    command: tuple[str, ...]
    """How nccltool is started there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchWork:
    """What a script needs to know of the command in it."""

    nodes: int
    needs_s: float
    """How long it may take, as far as that is known."""
    ends_s: float
    """When it ends by itself; infinite where only its option makes it."""
    option: str
    """The one that makes it end by itself, and shows what it has."""
    unit: str = ""
    """Of that option's value."""
    is_given: bool
    """Whether that option was given."""


def of_probe(asked: ProbeOptions, given: frozenset[str]) -> BatchWork:
    """Reads the options of `nccltool probe` as the script will. Raises BadInput."""
    job = _order(asked).job
    return BatchWork(
        nodes=job.nodes or 1,
        needs_s=job.deadline_s,
        ends_s=job.deadline_s,
        option="--deadline",
        is_given="deadline" in given,
    )


def script(words: Sequence[str], work: BatchWork, options: BatchOptions) -> str:
    """The script for a command: its words, and what is known of it. Raises BadInput."""
    time_s = _seconds(options.time) if options.time else work.needs_s + ROOM_S
    extra = _end_by_itself(time_s, work)
    directives = [
        ("job-name", options.job_name),
        ("nodes", str(work.nodes)),
        ("ntasks-per-node", "1"),  # one process a node, which starts the ranks
        ("time", options.time or _clock(time_s)),
        ("output", options.log),
        *(
            (name.replace("_", "-"), str(value))
            for name in _DIRECTIVES
            if (value := getattr(options, name)) is not None
        ),
        *_whole_nodes(options),
        *_others(options.sbatch_option),
    ]
    lines = ["#!/bin/bash", *(_directive(name, value) for name, value in directives), "", "set -e"]
    for line in options.setup:
        if not line.isprintable():
            raise BadInput(f"--setup {line[:60]!r} is more than one line", "use --setup once per line")
        lines.append(line)
    # exec: what Slurm sends to the script then reaches nccltool
    lines.append(f"exec {shlex.join((*options.command, *words, *extra))}")
    return "\n".join(lines) + "\n"


def _order(asked: ProbeOptions) -> LaunchOrder[ProbeJob]:
    """Reads the command's words as the script will, in an allocation of so many nodes."""
    start, allocation = slurm.stand_in(asked.start)
    return probe_options.from_options(replace(asked, start=start), allocation)


def _end_by_itself(time_s: float, work: BatchWork) -> tuple[str, ...]:
    """A run that ends by itself shows what it has; one that Slurm ends may not come to it."""
    latest = math.floor(max(time_s - ENDS_BEFORE_S, time_s / 2))
    if work.ends_s <= latest:
        return ()
    if work.is_given:
        raise BadInput(
            f"{work.option} {work.ends_s:g}{work.unit} is too long for a run to end by itself within"
            f" --time {_clock(time_s)}",
            f"use {work.option} {latest}{work.unit} or a longer --time",
        )
    return (work.option, f"{latest}{work.unit}")


def _seconds(text: str) -> float:
    """Slurm's minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes[:seconds]."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise BadInput(f"--time {text[:40]!r} is not a Slurm time", _TIMES)
    days, hours, minutes, seconds = (int(part) if part else 0 for part in match.groups())
    if match[1] is None and match[4] is None:  # without hours
        hours, minutes, seconds = 0, hours, minutes
    seconds += ((days * 24 + hours) * 60 + minutes) * 60
    if not seconds:
        raise BadInput(f"--time {text}: expected more than 0", _TIMES)
    return float(seconds)


def _clock(seconds: float) -> str:
    """As sbatch reads it; Slurm counts in whole minutes."""
    minutes = math.ceil(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02}:00"


def _whole_nodes(options: BatchOptions) -> list[tuple[str, str]]:
    """Ranks that share cores or memory with another job measure that job too."""
    if options.shared:
        return [("mem", options.mem)] if options.mem else []
    return [("exclusive", ""), ("mem", options.mem or "0")]  # 0 = all that the node has


def _others(texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    for text in texts:
        name, _, value = text.partition("=")
        if name in _OURS or name.replace("-", "_") in _DIRECTIVES:
            raise BadInput(
                f"--sbatch-option {text[:60]!r}: nccltool sbatch has an option for this", f"see --help: {name}"
            )
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", name):
            problem = f"--sbatch-option {text[:60]!r} is not NAME or NAME=VALUE"
            raise BadInput(problem, "for example --sbatch-option comment=nightly")
        yield name, value


def _directive(name: str, value: str) -> str:
    """An empty value is a directive without one."""
    if not value and name.replace("-", "_") in (*_DIRECTIVES, "job_name", "output"):
        raise BadInput(f"--{'log' if name == 'output' else name} is empty", "set a value or omit it")
    if not value.isprintable() or '"' in value or "\\" in value or value.startswith("-"):
        problem = f"--{name} {value[:60]!r} cannot be written into a script"
        raise BadInput(problem, "remove quotes, backslashes, and line breaks")
    quoted = value if _SAFE.fullmatch(value) else f'"{value}"'
    return f"#SBATCH --{name}={quoted}" if value else f"#SBATCH --{name}"
