"""What commands do, from their options to their results: the command line calls these, and so do other programs.

Nothing here prints, and nothing ends the program. All raise NccltoolError (nccltool.core.errors).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nccltool.core import run_directory, signals
from nccltool.core.documents import begun_now
from nccltool.core.units import parse_since

if TYPE_CHECKING:  # each command imports what it needs itself: the doctor starts in a third of a second
    from nccltool.attach.options import AttachOptions
    from nccltool.attach.report import AttachReport
    from nccltool.compare.result import Comparison
    from nccltool.doctor.diagnosis import Diagnosis
    from nccltool.doctor.options import DoctorOptions
    from nccltool.history.result import HistoryAnswer
    from nccltool.launch.options import StartOptions
    from nccltool.launch.runner import Progress
    from nccltool.localize.localized import LocalizedRun
    from nccltool.localize.pairs.run import Pairs
    from nccltool.preflight.result import Preflight
    from nccltool.probe.result import Run
    from nccltool.probe.run import Probe
    from nccltool.trace.report import TraceReport
    from nccltool.triage.incident import TriageReport

Command = tuple[str, ...]
"""What documents say was called: the words of a command line, or the name of a function."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompareOptions:
    """The options of `nccltool compare`; numbers in percent, as they are typed."""

    margin: float = 3.0
    alpha: float = 0.025
    keys: tuple[str, ...] = ()
    run_dir: str | None = None
    store: str | None = None


def measured(probe: "Probe", name: str, progress: "Progress") -> "tuple[Run, Path]":
    """Carry out a run of probe or train: (the run, its folder)."""
    from nccltool.launch import torch_needed

    torch_needed.require(probe.order.launch, name)
    with signals.held():
        return probe.run(progress)


def paired(pairs: "Pairs") -> "LocalizedRun":
    from nccltool.localize.localized import LocalizedRun

    run, _ = measured(pairs, "pairs", lambda _: None)
    assert isinstance(run, LocalizedRun)
    return run


def diagnosed(words: "DoctorOptions", start: "StartOptions", command: Command) -> "Diagnosis":
    from nccltool.doctor import options as doctor_options
    from nccltool.doctor import run as doctor_run

    return doctor_run.diagnose(doctor_options.order(words, start), command)


def attached(options: "AttachOptions", command: Command) -> "AttachReport":
    from nccltool.attach import run as attach_run

    return attach_run.attach(options, command)


def triaged(paths: Sequence[str], trust_pickle: bool, command: Command) -> "TriageReport":
    # what the findings of a run stand for
    import nccltool.launch.finding_kinds
    import nccltool.probe.finding_kinds
    import nccltool.train.finding_kinds  # noqa: F401
    from nccltool.triage import jobs

    return jobs.report(paths, command, trust_pickle)


def traced(paths: Sequence[str], command: Command) -> "TraceReport":
    from nccltool.trace import run as trace_run

    return trace_run.trace(paths, command)


def compared(a: str, b: str, options: CompareOptions, command: Command) -> "Comparison":
    from nccltool.compare import baselines, inputs, judge, run_samples
    from nccltool.compare.effects import CompareSettings

    base = run_directory.base_folder(options.run_dir)
    store = Path(options.store) if options.store else baselines.default_file()
    ignore = run_samples.ignored(options.keys)
    settings = CompareSettings(margin=options.margin / 100, alpha=options.alpha, ignore=ignore)
    return judge.compare(begun_now(command), inputs.side(a, base, store), inputs.side(b, base, store), settings)


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalizeOptions:
    """The options of `nccltool localize`, as they are typed."""

    expect: str | None = None
    """A bandwidth with its unit, or a run."""
    topology: str | None = None
    run_dir: str | None = None


def localized(paths: Sequence[str], options: LocalizeOptions, command: Command) -> "LocalizedRun":
    """Name what is slow in measurements of others: the judge needs numpy, so that it is imported here."""
    from nccltool.interop import pair_inputs
    from nccltool.localize import accusations, expectation, numeric, topologies, within

    numeric.require("localize")
    from nccltool.localize.judge import judge as who_is_slow
    from nccltool.localize.topology import Topology

    runs = run_directory.base_folder(options.run_dir)
    expected = None if options.expect is None else expectation.of(options.expect, runs)
    topology = topologies.read(options.topology) if options.topology else Topology()
    found = pair_inputs.read(paths, runs)
    nodes = tuple(dict.fromkeys(name for one in found.encounters for name in one.members))
    topology = within.topology_of(nodes) if found.is_within else topology.of(nodes)
    localization = who_is_slow(
        found.encounters, nodes=nodes, expected_busbw_bytes_per_s=expected, topology=topology
    )
    return accusations.localized(
        begun_now(command, hosts=nodes, nodes=len(nodes)),
        found.encounters,
        localization,
        expected_busbw_bytes_per_s=expected,
        sources=found.sources,
        others=(
            *map(accusations.missing, found.missing),
            *accusations.disturbed(found.encounters, topology),
            *accusations.topology_used(topology, () if found.is_within else nodes),
            *map(accusations.left_out, found.notes),
        ),
        is_within=found.is_within,
    )


def remembered(word: str, since: str, history: str | None) -> "HistoryAnswer":
    from nccltool.history import ask, keeping

    return ask.ask(keeping.file_to_read(history), word, parse_since(since, "--since"))


def loaded(run: str, run_dir: str | None) -> "Run | Preflight":
    from nccltool.monitor import run_list

    return run_list.load(run_directory.find(run_directory.base_folder(run_dir), run))
