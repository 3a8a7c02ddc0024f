"""From the words of `nccltool preflight` to an order; every word that cannot be used is one clear sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.text import comma_separated
from nccltool.core.units import parse_duration
from nccltool.core.unknown_names import unknown
from nccltool.launch.launchers.base import LaunchPlan
from nccltool.launch.options import StartOptions
from nccltool.launch.order import plan_launch
from nccltool.preflight import stages, suite_reader
from nccltool.preflight.suite import Suite, with_platform


@dataclass(frozen=True, kw_only=True, slots=True)
class PreflightOptions:
    """The options of `nccltool preflight` as they were given; a field has the name of its option."""

    start: StartOptions
    suite: str
    platform: str
    only: tuple[str, ...]
    skip: tuple[str, ...]
    total_budget: str | None
    observe: bool
    hosts_dir: str | None
    baseline: str | None
    store: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PreflightOrder:
    """What is to be checked, where, and what is to be kept."""

    suite: Suite
    find_platform: bool
    """Take the one that fits the hosts."""
    where: LaunchPlan
    words: tuple[str, ...]
    """What every run is told, besides where it runs."""
    backend: str
    only: tuple[str, ...]
    skip: tuple[str, ...]
    budget_s: float | None
    observe: bool
    keep_going: bool
    hosts_dir: Path | None
    baseline: str | None
    store: Path | None
    fault: str
    start_s: float = 0.0
    """What this command took to start: those that it starts take as long."""


def from_options(options: PreflightOptions, env: Mapping[str, str]) -> PreflightOrder:
    """The options, checked. Raises BadInput."""
    start = options.start
    where = plan_launch(start, env)
    if not where.node_ranks:
        raise BadInput(
            f"preflight starts ranks itself and cannot run here: {where.launch.why}",
            "start it once: with --hosts, in a Slurm allocation, or on one host",
        )
    suite = suite_reader.read(suite_reader.find(options.suite))
    word = options.platform
    named = None if word in ("auto", "none") else suite_reader.read_platform(suite_reader.find(word, "platform"))
    return PreflightOrder(
        suite=with_platform(suite, named) if named else suite,
        find_platform=word == "auto",
        where=where,
        words=_words(start),
        backend=start.backend,
        only=_stages("--only", options.only),
        skip=_stages("--skip", options.skip),
        budget_s=parse_duration(options.total_budget, "--budget") if options.total_budget else None,
        observe=options.observe,
        keep_going=start.keep_going,
        hosts_dir=Path(options.hosts_dir) if options.hosts_dir else None,
        baseline=options.baseline,
        store=Path(options.store) if options.store else None,
        fault=start.fault,
    )


def _stages(option: str, texts: Sequence[str]) -> tuple[str, ...]:
    words = comma_separated(texts)
    for word in words:
        if word not in stages.NAMES:
            raise unknown("stage", word, stages.NAMES, option=option)
    return words


def _words(start: StartOptions) -> tuple[str, ...]:
    plain = {field.name: field.default for field in fields(StartOptions)}
    words: list[str] = []
    for name in ("ssh", "remote_python", "remote_env", "backend", "timeout", "join_timeout"):
        value = getattr(start, name)
        of_hosts = name in ("ssh", "remote_python", "remote_env")
        if value == plain[name] or (of_hosts and not (value and (start.hosts or start.hostfile))):
            continue
        words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else value]
    return tuple(words)
