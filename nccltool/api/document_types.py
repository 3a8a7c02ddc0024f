"""The documents that nccltool writes, by their kind, as types: their JSON Schemas are made of these."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from nccltool.attach.document import AttachDocument
from nccltool.compare.result import (
    Baseline,
    BaselineRow,
    Circumstances,
    Comparable,
    ComparedRow,
    Difference,
    Effect,
    RowKey,
)
from nccltool.compare.scaling import ScalingCurve
from nccltool.compare.scaling_series import SeriesMember
from nccltool.core.documents import RunDocument
from nccltool.core.findings import Finding
from nccltool.core.installation import Installation
from nccltool.core.plugin_list import ListedPlugin
from nccltool.core.verdicts import Status
from nccltool.doctor.diagnosis import Assignment, RuleOutcome
from nccltool.history.result import Drift, HostRecord, Question, RepeatOffence, Trend
from nccltool.hosts.facts import HostFacts
from nccltool.localize.document import LocalizeDocument
from nccltool.monitor.run_list import Entry
from nccltool.plan.document import PlanDocument
from nccltool.preflight.document import PreflightDocument
from nccltool.preflight.suite import Platform, Suite
from nccltool.probe.document import ProbeDocument
from nccltool.trace.document import TraceDocument
from nccltool.train.result import Oracle, OverlapRow, Restart, TrainingResult, TrainStep
from nccltool.train.series import LeftOut
from nccltool.triage.incident import Candidate, LogLine, Offender, Overview


class TrainDocument(ProbeDocument, kw_only=True):
    """Of nccltool train; the keys of the only training are at the top too."""

    strategy: str
    steps: tuple[TrainStep, ...]
    oracle: Oracle | None
    throughput_samples_per_s: float | None
    exposed_communication_ratio: float | None
    scaling_efficiency: float | None
    peak_memory_bytes: tuple[int | None, ...]
    trainings: tuple[TrainingResult, ...]
    restarts: tuple[Restart, ...]
    overlap: tuple[OverlapRow, ...] = ()


class DoctorDocument(RunDocument, kw_only=True):
    """Of nccltool doctor."""

    outcomes: tuple[RuleOutcome, ...]
    settings: tuple[Assignment, ...]
    nccl: str | None


class TriagedJob(msgspec.Struct, kw_only=True):
    """A job in the logs, and what triage found of it."""

    name: str
    files: tuple[str, ...]
    status: Status
    exit_code: int
    findings: tuple[Finding, ...]
    root_cause: str
    confidence: float
    settled_by: Literal["lines", "words"] = "lines"
    unknown: float | None = None
    offender: Offender | None
    suspects: tuple[Offender, ...] = ()
    first_failure: LogLine | None
    candidates: tuple[Candidate, ...]
    evidence: tuple[LogLine, ...]
    decides: str
    lines_read: int
    ends_early: tuple[str, ...]
    unread: tuple[str, ...] = ()


class TriageDocument(RunDocument, kw_only=True):
    """Of nccltool triage: the job that is worst, and each job."""

    root_cause: str
    confidence: float
    settled_by: Literal["lines", "words"] = "lines"
    unknown: float | None = None
    offender: Offender | None
    suspects: tuple[Offender, ...] = ()
    first_failure: LogLine | None
    candidates: tuple[Candidate, ...]
    evidence: tuple[LogLine, ...]
    decides: str
    lines_read: int
    ends_early: tuple[str, ...]
    unread: tuple[str, ...] = ()
    picture: Overview
    jobs: tuple[TriagedJob, ...]


class ComparedRun(msgspec.Struct, kw_only=True):
    """A run that was compared."""

    id: str
    started: str
    hosts: tuple[str, ...]
    circumstances: Circumstances


class ComparedSide(msgspec.Struct, kw_only=True):
    """One side of a comparison."""

    name: str
    runs: tuple[ComparedRun, ...]


class CompareDocument(RunDocument, kw_only=True):
    """Of nccltool compare."""

    outcome: Comparable
    a: ComparedSide
    b: ComparedSide
    overall: Effect | None
    rows: tuple[ComparedRow, ...]
    only_a: tuple[RowKey, ...]
    only_b: tuple[RowKey, ...]
    ignored: tuple[Difference, ...]
    statistic: str
    margin: float
    alpha: float
    notes: tuple[str, ...]


class HeadedDocument(msgspec.Struct, kw_only=True):
    """The head of a document that no run is behind."""

    schema: int
    kind: str


class ScalingDocument(HeadedDocument, kw_only=True):
    """Of a series of runs (--scaling)."""

    status: Status
    exit_code: int
    command: str
    asked: int
    runs: tuple[SeriesMember, ...]
    curves: tuple[ScalingCurve, ...]
    left_out: tuple[LeftOut, ...] = ()


class BaselineDocument(HeadedDocument, kw_only=True):
    """Of nccltool baseline show and export."""

    baseline: Baseline
    expected: tuple[BaselineRow, ...]


class ListedBaseline(msgspec.Struct, kw_only=True):
    """A baseline in the list of them."""

    name: str
    created: str
    changed: str
    note: str
    runs: int
    circumstances: Circumstances


class BaselinesDocument(HeadedDocument, kw_only=True):
    """Of nccltool baseline list."""

    baselines: tuple[ListedBaseline, ...]


class SavedBaselineDocument(HeadedDocument, kw_only=True):
    """Of nccltool baseline save and import."""

    name: str
    runs: int


class RemovedBaselineDocument(HeadedDocument, kw_only=True):
    """Of nccltool baseline remove."""

    name: str


class RunsDocument(HeadedDocument, kw_only=True):
    """Of nccltool runs."""

    runs: tuple[Entry, ...]


class HistoryDocument(HeadedDocument, kw_only=True):
    """Of nccltool history."""

    file: str
    question: Question
    word: str
    since: str
    runs: int
    first: str
    last: str
    series: int
    hosts: tuple[HostRecord, ...]
    offences: tuple[RepeatOffence, ...]
    drifts: tuple[Drift, ...]
    trends: tuple[Trend, ...]


class RunNotImported(msgspec.Struct, kw_only=True):
    """A saved run that could not be added to the history."""

    folder: str
    reason: str


class ImportedHistoryDocument(HeadedDocument, kw_only=True):
    """Of nccltool history import."""

    file: str
    added: int
    known: int
    skipped: tuple[RunNotImported, ...]


class PrunedHistoryDocument(HeadedDocument, kw_only=True):
    """Of nccltool history prune."""

    file: str
    removed: int
    dry_run: bool


class RunThatStays(msgspec.Struct, kw_only=True):
    """A run that was not removed."""

    id: str
    reason: str


class RemovedRunsDocument(HeadedDocument, kw_only=True):
    """Of nccltool runs rm."""

    status: Status
    exit_code: int
    dry_run: bool
    removed: tuple[str, ...]
    left: tuple[RunThatStays, ...]


class VersionDocument(HeadedDocument, kw_only=True):
    """Of nccltool version."""

    installation: Installation


class ExplainedPage(msgspec.Struct, kw_only=True):
    """The page of a word."""

    kind: str
    name: str
    text: str


class ExplainedKind(msgspec.Struct, kw_only=True):
    """A kind of words that have pages."""

    kind: str
    about: str
    names: tuple[str, ...]


class ExplainDocument(HeadedDocument, kw_only=True):
    """Of nccltool explain."""

    word: str | None
    pages: tuple[ExplainedPage, ...]
    kinds: tuple[ExplainedKind, ...]


class ListedSuite(msgspec.Struct, kw_only=True):
    """A suite in the list of them."""

    name: str
    title: str
    about_s: float
    path: str


class ListedPlatform(msgspec.Struct, kw_only=True):
    """A platform in the list of them."""

    name: str
    title: str
    numbers: int
    path: str


class ChecksDocument(HeadedDocument, kw_only=True):
    """Of nccltool checks list."""

    folder: str
    suites: tuple[ListedSuite, ...]
    platforms: tuple[ListedPlatform, ...]


class SuiteDocument(HeadedDocument, kw_only=True):
    """Of nccltool checks show, for a suite."""

    suite: Suite


class PlatformDocument(HeadedDocument, kw_only=True):
    """Of nccltool checks show, for a platform."""

    platform: Platform


class ValidatedChecksDocument(HeadedDocument, kw_only=True):
    """Of nccltool checks validate."""

    status: Status
    exit_code: int
    files: tuple[str, ...]
    problems: tuple[str, ...]


class CopiedChecksDocument(HeadedDocument, kw_only=True):
    """Of nccltool checks copy."""

    file: str


class BundleGap(msgspec.Struct, kw_only=True):
    """What is not in a bundle."""

    name: str
    reason: str


class BundleDocument(HeadedDocument, kw_only=True):
    """Of nccltool bundle."""

    file: str
    secrets_removed: int
    missing: tuple[BundleGap, ...]


class PluginsDocument(HeadedDocument, kw_only=True):
    """Of nccltool plugins."""

    interface: int
    plugins: tuple[ListedPlugin, ...]


DOCUMENTS: Mapping[str, type[msgspec.Struct]] = {
    "baseline": BaselineDocument,
    "baselines": BaselinesDocument,
    "bundle": BundleDocument,
    "checks": ChecksDocument,
    "compare": CompareDocument,
    "copied-checks": CopiedChecksDocument,
    "doctor": DoctorDocument,
    "explain": ExplainDocument,
    "facts": HostFacts,
    "history": HistoryDocument,
    "imported-history": ImportedHistoryDocument,
    "localize": LocalizeDocument,
    "pairs": LocalizeDocument,
    "plan": PlanDocument,
    "platform": PlatformDocument,
    "plugins": PluginsDocument,
    "preflight": PreflightDocument,
    "probe": ProbeDocument,
    "pruned-history": PrunedHistoryDocument,
    "scaling": ScalingDocument,
    "removed-baseline": RemovedBaselineDocument,
    "removed-runs": RemovedRunsDocument,
    "runs": RunsDocument,
    "saved-baseline": SavedBaselineDocument,
    "suite": SuiteDocument,
    "train": TrainDocument,
    "attach": AttachDocument,
    "trace": TraceDocument,
    "triage": TriageDocument,
    "validated-checks": ValidatedChecksDocument,
    "version": VersionDocument,
}
"""Kind of a document to its type."""
