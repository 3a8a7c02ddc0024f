"""From run directories to monitoring: which runs, as which samples, handed over to which destinations."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nccltool.compare import baselines, effects, judge
from nccltool.compare.result import Against
from nccltool.core import run_directory
from nccltool.core.errors import BadInput, NccltoolError
from nccltool.core.findings import Finding, Subject, define
from nccltool.monitor import exported_run, metrics, run_list
from nccltool.monitor.exporters import pushgateway
from nccltool.monitor.exporters import textfile as exporters_textfile
from nccltool.monitor.exporters.pushgateway import Gateway
from nccltool.monitor.metrics import Sample
from nccltool.preflight.result import Preflight
from nccltool.probe.result import Run

METRICS_NOT_HANDED_OVER = define("metrics-not-handed-over", "note", "warning")
PUSH_S = 10.0
"""How long a command that has its verdict goes on trying to push."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Destinations:
    """Where to hand samples over; None = not there."""

    textfile: str | None
    gateway: Gateway | None


def destinations(texts: Sequence[str]) -> tuple[Destinations, ...]:
    """What --metrics names: textfile:FILE, pushgateway:URL. Raises BadInput."""
    return tuple(_destination(text) for text in texts)


def _destination(text: str) -> Destinations:
    kind, _, where = text.partition(":")
    if kind not in ("textfile", "pushgateway") or not where:
        raise BadInput(
            f"--metrics {text[:80]!r} cannot be used", "write textfile:FILE.prom or pushgateway:http://host:9091"
        )
    try:
        if kind == "textfile":
            exporters_textfile.check(where)
            return Destinations(textfile=where, gateway=None)
        made = gateway(where, (), user=None, password_file=None)
        return Destinations(textfile=None, gateway=replace(made, timeout_s=PUSH_S))
    except BadInput as error:
        message = error.message.replace(f"--{kind}", f"--metrics {kind}", 1)
        has_password = isinstance(error, pushgateway.PasswordInAddress)
        remedy = "use `nccltool export latest` with its options" if has_password else error.remedy
        raise BadInput(message, remedy) from error


def handed_over(
    found: Preflight, every: Sequence[Destinations], baseline: str | None, store: str | None
) -> tuple[Finding, ...]:
    """Hand over to all of these; a finding on each that did not work: it does not hide what was found."""
    findings = []
    for one in every:
        try:
            hand_over((found,), one, against(baseline, store))
        except NccltoolError as error:
            place = one.textfile or (one.gateway.url if one.gateway else "")
            subject = Subject(kind="file" if one.textfile else "link", name=place)
            message = f"the metrics were not handed over: {error.message}"
            findings.append(
                METRICS_NOT_HANDED_OVER.finding(
                    subject=subject,
                    message=message,
                    remedy=error.remedy,
                )
            )
    return tuple(findings)


def read(names: Sequence[str], base: Path) -> tuple[Run | Preflight, ...]:
    """The runs of these names, the newest first. Raises BadInput."""
    found = [run_list.load(run_directory.find(base, name)) for name in names]
    return tuple(sorted(found, key=lambda run: exported_run.unix_time(run.info.started), reverse=True))


HeldAgainst = Callable[[Run | Preflight], Iterable[Against]]
"""The rows of a run, held against a baseline."""


def without_baseline(run: Run | Preflight) -> Iterable[Against]:
    """Nothing to hold it against."""
    return ()


def against(name: str | None, store: str | None) -> HeldAgainst:
    """What holds runs against a baseline. Raises BadInput when there is none."""
    if name is None:
        return without_baseline
    baseline = baselines.named(name, store)

    return lambda run: judge.against(baseline, run.info, run.measurements, effects.CompareSettings())


def samples(found: Iterable[Run | Preflight], against: HeldAgainst = without_baseline) -> tuple[Sample, ...]:
    """What monitoring sees of runs, the newest first. What a suite says of hosts is that of the newest one."""
    sets, suite_seen = [], False
    for run in found:
        if isinstance(run, Run) or not suite_seen:
            sets.append(metrics.samples(exported_run.exported(run, against(run))))
        suite_seen = suite_seen or isinstance(run, Preflight)
    return metrics.merged(sets)


def gateway(url: str, groups: Sequence[str], *, user: str | None, password_file: str | None) -> Gateway:
    """A gateway as the options name it. Raises BadInput."""
    grouping = dict(_pair(group) for group in groups)
    if password_file is not None and user is None:
        raise BadInput("--push-password-file is the password of nobody", "add --push-user NAME")
    made = Gateway(url=url, grouping=grouping, user=user, password=_password(password_file))
    pushgateway.check(made)
    return made


def hand_over(found: Sequence[Run | Preflight], to: Destinations, against: HeldAgainst) -> tuple[str, ...]:
    """Write and push; a sentence on each. Raises BadInput, PushFailed."""
    said = []
    if to.textfile is not None:
        exporters_textfile.write(samples(found, against), to.textfile)
        said.append(f"written to {to.textfile}")
    if to.gateway is not None:
        for kind in dict.fromkeys(exported_run.command_of(run) for run in found):
            of_kind = samples((run for run in found if exported_run.command_of(run) == kind), against)
            pushgateway.push(of_kind, kind, to.gateway)
        said.append(f"pushed to {to.gateway.url}")
    return tuple(said)


def _pair(group: str) -> tuple[str, str]:
    name, equals, value = group.partition("=")
    if not equals or not value:
        raise BadInput(f"--group {group}: a value is missing", "write --group instance=HOST")
    return name, value


def _password(file: str | None) -> str:
    if file is None:
        return ""
    try:
        return Path(file).read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadInput(f"--push-password-file {file} cannot be read: {reason}", "check the name") from error
