"""From run directories to monitoring: which runs, as which samples, to which destinations."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nccltool.compare import baselines, judge
from nccltool.compare.result import Against
from nccltool.core import run_directory
from nccltool.core.documents import RunInfo
from nccltool.core.errors import BadInput, NccltoolError
from nccltool.core.findings import Finding, define
from nccltool.monitor import metrics, run_list
from nccltool.monitor.exporters import AnyDestination, AnyRun, otlp, pushgateway, textfile
from nccltool.monitor.metrics import Sample
from nccltool.preflight.result import Preflight
from nccltool.probe.result import Measurement

METRICS_NOT_HANDED_OVER = define("metrics-not-handed-over", "note", "warning", page="findings-results.md")
HeldAgainst = Callable[[RunInfo, Sequence[Measurement]], Iterable[Against]]
"""The rows of a run, held against a baseline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportOptions:
    """The options of `nccltool export` as they were given; a field has the name of its option."""

    run: tuple[str, ...]
    exposition: str
    output: str | None
    run_dir: str | None
    baseline: str | None
    store: str | None
    textfile: str | None
    pushgateway: str | None
    group: tuple[str, ...]
    push_user: str | None
    push_password_file: str | None
    push_ca: str | None
    push_cert: str | None
    push_key: str | None
    push_timeout: float
    otlp: str | None
    cluster: str | None


def destinations(options: ExportOptions) -> tuple[AnyDestination, ...]:
    """Where to hand over to; () = it is printed. Raises BadInput, also for what would be read and not used."""
    if options.pushgateway is None:
        for name in ("group", "push_user", "push_password_file", "push_ca", "push_cert", "push_key"):
            if getattr(options, name):
                option = "--" + name.replace("_", "-")
                raise BadInput(f"{option} needs --pushgateway", f"add --pushgateway URL or remove {option}")
    if any(way is not None for way in (options.textfile, options.pushgateway, options.otlp)):
        for option, given in (("--output", options.output), ("--format", options.exposition != "prometheus")):
            if given:
                raise BadInput(
                    f"{option} has no effect with --textfile, --pushgateway or --otlp",
                    f"remove {option}, or the destinations",
                )
    cluster = metrics.cluster_name(options.cluster)
    files = [] if options.textfile is None else [textfile.Destination(options.textfile, cluster)]
    gateways = [] if options.pushgateway is None else [_gateway(options, options.pushgateway)]
    return (*files, *gateways, *_collectors(options, cluster))


def _collectors(options: ExportOptions, cluster: str) -> Iterable[AnyDestination]:
    if options.otlp is not None:
        made = otlp.Destination(url=options.otlp, timeout_s=options.push_timeout, cluster=cluster)
        made.check()
        yield made


def _gateway(options: ExportOptions, url: str) -> pushgateway.Destination:
    grouping = pushgateway.groups(options.group)
    file = options.push_password_file
    if file is not None and options.push_user is None:
        raise BadInput("--push-password-file needs --push-user", "add --push-user NAME")
    made = pushgateway.Destination(
        url=url,
        grouping=grouping,
        user=options.push_user,
        password="" if file is None else pushgateway.password(file),
        ca_file=options.push_ca,
        cert_file=options.push_cert,
        key_file=options.push_key,
        timeout_s=options.push_timeout,
        cluster=metrics.cluster_name(options.cluster),
    )
    made.check()
    return made


def handed_over(
    found: AnyRun, every: Sequence[AnyDestination], baseline: str | None, store: str | None
) -> tuple[Finding, ...]:
    """Hand over to all of these; a finding on each that did not work: it does not hide what was found."""
    findings = []
    for one in every:
        try:
            one.hand_over((found,), partial(samples, against=against(baseline, store)))
        except NccltoolError as error:
            message = f"the metrics were not exported: {error.message}"
            findings.append(
                METRICS_NOT_HANDED_OVER.finding(subject=one.subject, message=message, remedy=error.remedy)
            )
    return tuple(findings)


def read(names: Sequence[str], base: Path) -> tuple[AnyRun, ...]:
    """The runs of these names, the newest first. Raises BadInput."""
    found = [run_list.load(run_directory.find(base, name)) for name in names]
    try:
        return tuple(sorted(found, key=lambda run: metrics.unix_time(run.info.started), reverse=True))
    except ValueError as error:
        raise BadInput(f"the start of a run is not a time: {error}", "remove the damaged run") from error


def without_baseline(info: RunInfo, measurements: Sequence[Measurement]) -> Iterable[Against]:
    return ()


def against(name: str | None, store: str | None) -> HeldAgainst:
    """What holds runs against a baseline. Raises BadInput when there is none."""
    return without_baseline if name is None else partial(judge.against, baselines.named(name, store))


def samples(found: Iterable[AnyRun], against: HeldAgainst = without_baseline) -> tuple[Sample, ...]:
    """What monitoring sees of runs, the newest first. What a suite says of hosts is that of the newest one."""
    sets, suite_seen = [], False
    for run in found:
        is_suite = isinstance(run, Preflight)
        if not (is_suite and suite_seen):
            sets.append(metrics.samples(metrics.exported(run, against(run.info, run.measurements))))
        suite_seen = suite_seen or is_suite
    return metrics.merged(sets)
