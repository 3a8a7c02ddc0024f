"""The runs of one job that a log holds one behind another, and what differs between a good and a bad one.

Who looks for a cause tries: the same command with another setting, library, or host. Each command, note, or change
of NCCL's version begins a trial; what comes behind it tells how it ended.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline import releases

Outcome: TypeAlias = Literal["failed", "wrong", "slow"]
SLOWER = 1.3
"""Rates of the same size that differ by this factor are not noise."""
_WORKS = 3
"""Steps of a run that no failure follows: it works."""
_MOST_TRIALS = 200
_MOST_SIZES = 200
_STARTS = re.compile(
    r"\b(?:mpirun|mpiexec|srun|torchrun|horovodrun|python\S*|accelerate|deepspeed|\w+_perf\w*|vllm|docker run|"
    r"osu_\w+|bash|sh|\./\S+)\b"
)
_GOOD = re.compile(
    r"(?i)\b(?:pass(?:es|ed)?|works?|worked|fine|without (?:a stop|hang|error)\w*|no (?:hang|error|failure)s?|"
    r"succeed(?:s|ed)?|clean|completes?|-> OK|all ok|serves|boots|trains|(?:is|are) right|"
    r"is gone|goes away|full (?:rate|speed))\b"
)
_BAD = re.compile(
    r"(?i)\b(?:hangs?|hung|stuck|stops|fails?|failed|crash(?:es|ed)?|slow(?:er)?|wrong|segfaults?|no further|"
    r"nothing (?:more|further)|same error|never (?:ends|returns))\b"
)
_SETTING = re.compile(
    r"\b((?:NCCL|RCCL|UCC|UCX|FI|OFI|GLOO|TORCH|PYTORCH|VLLM|SGLANG|CUDA|HIP|HSA|LD)_[A-Z0-9_]+)=([^\s:;,)'\"]\S*?)(?=[:;,.)'\"]*(?:\s|$))"
)
_HOSTS = re.compile(r"(?:-H|--host|-host|-w|--nodelist)[ =](\S+)|\bssh (\S+)")
_VERSION = re.compile(
    r"\b(?:nccl|rccl|NCCL|RCCL)(?:-cu\d\d|(?:_[A-Z]+)?_VERSION)?[ _/=-]*(?:version )?v?(\d+\.\d+(?:\.\d+)?)|"
    r"libnccl\S*?(\d\.\d+\.\d+)"
)


_INSTALLS = re.compile(r"\b(?:pip3?|uv|conda|mamba|apt(?:-get)?|dnf|yum) (?:pip )?install\b")

_LOADS = re.compile(rf"{_INSTALLS.pattern}|\b(?:module|ml|spack) (?:load|swap|switch)\b|\bsource \S+")
"""What puts a release in place for the commands behind it."""

_OPENS = (
    "nccl.version",
    "nccl.env",
    "nccl.network",
    "plugin.loaded",
    "bench.begin",
    "bench.header",
    "bench.row",
    "job.progress",
    "app.nan",
)
"""What a run says of itself where nobody noted how it was started."""


@dataclass(slots=True)
class _Trial:
    """One run, as far as it is told."""

    event: LogEvent
    text: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    version: str = ""
    network: str = ""
    rates: dict[str, float] = field(default_factory=dict)
    releases: dict[str, str] = field(default_factory=dict)
    """Of libraries and the like that its command names, or one that was loaded or installed before it."""
    failed: LogEvent | None = None
    wrong: LogEvent | None = None
    good: bool = False
    steps: int = 0

    @property
    def is_told(self) -> bool:
        """Whether it is known how it ended."""
        return bool(self.rates) or self.good or self.failed is not None or self.wrong is not None

    @property
    def hosts(self) -> str:
        match = _HOSTS.search(self.text)
        return (match[1] or match[2]) if match else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrast:
    """A bad and a good run, and the one thing in which they differ."""

    outcome: Outcome
    """How the bad one ended."""
    what: Literal["version", "release", "setting", "hosts", "network", "unknown"]
    name: str
    """The version, library, variable, hosts, or network of the bad run; `value`: the other network or release."""
    in_bad: bool
    """For a setting: the bad run has it, the good one has not, or another value."""
    value: str = ""
    """For a setting: its value, in the run that has it."""
    bad: LogEvent
    good: LogEvent


class Trials:
    """Follows the runs in one log."""

    def __init__(self) -> None:
        self._trials: list[_Trial] = []
        self._session: dict[str, str] = {}
        self._exported = False
        self._releases: dict[str, str] = {}
        self._installed = ""
        """The version that a command installed, which the runs behind it use."""

    def add(self, event: LogEvent) -> None:
        if event.kind in ("shell.command", "shell.note"):
            self._begin(event)
        elif not self._trials and (event.kind in _OPENS or event.role in ("failure", "echo")):
            self._open(event)
        if self._trials:
            self._take(self._trials[-1], event)

    def _begin(self, event: LogEvent) -> None:
        text = event.get("command") or event.get("note")
        is_note = event.kind == "shell.note" or text.startswith("#")
        if text.startswith("export "):
            self._session |= dict(_SETTING.findall(text))
            return
        if _LOADS.search(text):
            self._releases |= releases.of(text)
        trial = self._open(event)
        trial.text, trial.releases = (
            text,
            self._releases | releases.of(text) | releases.said(text.rpartition("# ")[2]),
        )
        trial.settings = dict(_SETTING.findall(text)) if is_note else self._session | dict(_SETTING.findall(text))
        if version := _VERSION.search(text):
            trial.version = version[1] or version[2]
            if not is_note and _INSTALLS.search(text):
                self._installed = trial.version
        else:
            trial.version = self._installed
        if is_note and _BAD.search(text):
            trial.failed = event
        elif is_note and _GOOD.search(text):
            trial.good = True

    def _open(self, event: LogEvent) -> _Trial:
        if len(self._trials) >= _MOST_TRIALS:
            return self._trials[-1]
        self._trials.append(_Trial(event))
        return self._trials[-1]

    def _take(self, trial: _Trial, event: LogEvent) -> None:
        if event.kind == "nccl.version":
            version = event.get("version").partition("+")[0].partition("-")[0]
            if trial.version and trial.version != version and trial.is_told:
                trial = self._open(event)
            trial.version = version
        elif event.kind == "plugin.loaded":
            trial.releases = releases.said(event.text) | trial.releases
        elif event.kind == "nccl.network":
            trial.network = trial.network or event.get("name")
        elif event.kind == "nccl.env" or event.kind == "shell.env":
            trial.settings.setdefault(event.get("name"), event.get("value"))
        elif event.kind in ("data.wrong", "data.check-failed", "app.nan"):
            trial.wrong = trial.wrong or event
        elif event.kind in ("bench.row", "job.bandwidth"):
            self._rate(trial, event)
        elif event.kind == "job.progress":
            _progress(trial, event)
            trial.steps += 1
            trial.good = trial.good or trial.steps >= _WORKS
        elif event.kind == "bench.average":
            trial.rates.setdefault("average", float(event.get("busbw")))
        elif event.kind in ("job.completed", "torchrun.succeeded", "job.serving", "job.said-ok"):
            trial.good = True
        elif event.role in ("failure", "echo") or event.kind == "job.nothing-more":
            trial.failed = trial.failed or event

    def _rate(self, trial: _Trial, event: LogEvent) -> None:
        if len(trial.rates) < _MOST_SIZES:
            size = f"{event.get('bytes')}{event.get('unit')} {event.get('type')} {event.get('op')}"
            rate = float(event.get("busbw"))
            trial.rates[size] = max(rate, trial.rates.get(size, 0.0))

    def contrasts(self) -> tuple[Contrast, ...]:
        """What the runs tell that differ in one thing only."""
        told = [trial for trial in self._trials if trial.is_told]
        pairs = [*pairwise(told), *((told[0], other) for other in told[2:])] if told else []
        return tuple(found for one, other in pairs for found in _compared(one, other))


def _progress(trial: _Trial, event: LogEvent) -> None:
    """The fastest that a job reported itself: samples in a second, or steps."""
    if rate := event.get("rate").replace(",", "").strip("."):
        name = f"{event.get('of')}/s"
        trial.rates[name] = max(float(rate), trial.rates.get(name, 0.0)) if rate.count(".") < 2 else 0.0
    elif event.get("time") and float(event.get("time")):
        trial.rates["steps/s"] = max(1 / float(event.get("time")), trial.rates.get("steps/s", 0.0))


def _compared(one: _Trial, other: _Trial) -> Iterator[Contrast]:
    for bad, good in ((one, other), (other, one)):
        if (outcome := _worse(bad, good)) and (found := _difference(outcome, bad, good)):
            yield found
            return


def _worse(bad: _Trial, good: _Trial) -> Outcome | None:
    is_good = (good.good or bool(good.rates)) and good.failed is None and good.wrong is None
    if not is_good:
        return None
    if bad.wrong:
        return "wrong"
    if bad.failed:
        return "failed"
    common = bad.rates.keys() & good.rates.keys()
    slower = [size for size in common if good.rates[size] > SLOWER * bad.rates[size] > 0]
    faster = [size for size in common if bad.rates[size] > SLOWER * good.rates[size] > 0]
    return "slow" if slower and not faster else None


def switches_off(name: str, value: str) -> bool:
    """Whether a setting switches off what it is about."""
    return value in ("LOC", "^") or (value == "1" if name.endswith("_DISABLE") else value == "0")


_OF_LOGS = re.compile(r"NCCL_DEBUG|LD_LIBRARY_PATH|_LOG_LEVEL|_FILE$|NCCL_ALGO_INFO|CCL\w*_VERSION$")


_LIBRARY_PATHS = ("LD_PRELOAD", "LD_LIBRARY_PATH")
"""How another version is put in place."""


def _difference(outcome: Outcome, bad: _Trial, good: _Trial) -> Contrast | None:
    """The one thing in which they differ; None where it is several, or none that is told."""
    name: str
    own, its = _relevant(bad.settings), _relevant(good.settings)
    differing = sorted(name for name in own.keys() | its.keys() if own.get(name) != its.get(name))
    if good.event.kind == "shell.note" or good.text.startswith("#"):  # a note tells only what it changed
        differing = [name for name in differing if name in its]
    versions = bool(bad.version and good.version and bad.version != good.version)
    common = {"outcome": outcome, "bad": bad.failed or bad.wrong or bad.event, "good": good.event}
    if versions and not [name for name in differing if name not in _LIBRARY_PATHS]:
        return Contrast(what="version", name=bad.version, in_bad=True, **common)  # type: ignore[arg-type]
    release = releases.differing(bad.releases, good.releases)
    changed = [name for name in differing if name in own and name in its and name not in _LIBRARY_PATHS]
    if release and not versions and not changed:  # a setting may go unsaid
        name, own_release, its_release = release
        about = {"name": f"{name} {own_release}", "value": its_release, "in_bad": True}
        return Contrast(what="release", **about, **common)  # type: ignore[arg-type]
    if len(differing) == 1 and not versions:
        name = differing[0]
        worse = name in own and name in its and switches_off(name, own[name]) > switches_off(name, its[name])
        in_bad = worse or (name in own and (name not in its or name.startswith("PYTORCH_")))
        value = own[name] if in_bad else its.get(name, "")
        return Contrast(what="setting", name=name, in_bad=in_bad, value=value, **common)  # type: ignore[arg-type]
    if outcome == "slow" and bad.network and good.network and bad.network != good.network and not differing:
        return Contrast(what="network", name=bad.network, value=good.network, in_bad=True, **common)  # type: ignore[arg-type]
    jobs = outcome == "slow" or bool(_STARTS.search(bad.text) and _STARTS.search(good.text))
    if jobs and not differing and not versions and bad.hosts and good.hosts and bad.hosts != good.hosts:
        return Contrast(what="hosts", name=_only_in(bad.hosts, good.hosts), in_bad=True, **common)  # type: ignore[arg-type]
    if outcome == "slow" and bad.text and good.text:
        return Contrast(what="unknown", name="", in_bad=True, **common)  # type: ignore[arg-type]
    return None


def _only_in(bad: str, good: str) -> str:
    """The hosts of the bad run that the good one did without; all of the bad one where it had them too."""
    others = {host.partition(":")[0] for host in good.split(",")}
    return ",".join(host for host in bad.split(",") if host.partition(":")[0] not in others) or bad


def _relevant(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if not _OF_LOGS.search(name)}
