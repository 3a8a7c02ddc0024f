"""Materials of reports: healthy and failed runs of each kind, and one full of hostile texts."""

from dataclasses import replace
from typing import Any, cast

from nccltool.compare import judge, run_samples
from nccltool.compare.effects import CompareSettings
from nccltool.compare.result import Side
from nccltool.core.documents import begun_now
from nccltool.core.findings import Finding
from nccltool.core.verdicts import Verdict
from nccltool.localize import document as localize_document
from nccltool.localize.localized import LocalizedRun
from nccltool.preflight import document as preflight_document
from nccltool.preflight.result import HostVerdict, Preflight
from nccltool.probe import document as probe_document
from nccltool.probe.late_rank import RankLateness
from nccltool.probe.result import Run
from nccltool.report import past
from nccltool.report.material import Material, RankStretch, ReportedRun
from nccltool.train import document as train_document
from nccltool.train.result import (
    Bubble,
    ModelShape,
    Oracle,
    PassKind,
    PipelinePass,
    TrainingResult,
    TrainRun,
    TrainStep,
)
from nccltool.triage.incident import Candidate, Incident, LogLine, Offender
from tests import samples
from tests.preflight.samples import outcome
from tests.support.pairs import FOUND_106, OF_106

FAIL = Verdict(status="fail", exit_code=1)
PASS = Verdict(status="pass", exit_code=0)
HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\x00\x9b]]>--></script>{{7*7}}`|_*"
LONG = "n" * 10_000


def swept(name: str = "20250102T030405Z-beef", slow: float = 1.0, **changes: Any) -> Run:
    """Three operations over four sizes, with limits; rank 3 is late in each row."""
    rows = tuple(
        samples.measurement(
            op=op,
            bytes=2**size,
            time_s=samples.stats(2 ** (size - 20) * 1e-3 * slow),
            algbw_bytes_per_s=1e9 / slow,
            busbw_bytes_per_s=factor * 1e9 / slow,
            limit_busbw_bytes_per_s=2e9,
            late_ranks=(RankLateness(rank=3, late_s=0.0042),),
        )
        for op, factor in (("all_reduce", 1.5), ("all_gather", 0.75), ("send_recv", 1.0))
        for size in (10, 14, 18, 22)
    )
    return replace(samples.good_run(), info=samples.info(id=name), measurements=rows, **changes)


def reported(run: Run | Preflight) -> ReportedRun:
    return ReportedRun(run=run, document=_document(run).encode())


def _document(run: Run | Preflight) -> str:
    match run:
        case Preflight():
            return preflight_document.to_json(run)
        case LocalizedRun():
            return localize_document.to_json(run)
        case TrainRun():
            return train_document.to_json(run)
    return probe_document.to_json(run)


def of(*runs: Run | Preflight, **more: Any) -> Material:
    return Material(runs=tuple(map(reported, runs)), **more)


def pairs() -> LocalizedRun:
    """Issue 106 of nccl-tests: node 644 is slow."""
    from nccltool.localize import accusations

    return accusations.localized(samples.info(), OF_106, FOUND_106)


def preflight() -> Preflight:
    """Two hosts, of which n2 is to be excluded."""
    return Preflight(
        info=samples.info(hosts=("n1", "n2"), emulated=False),
        verdict=FAIL,
        suite="preflight",
        outcomes=(
            outcome("inventory/hosts", "pass"),
            outcome("doctor/LIM001", "warn", "n1", reason="a process may open 20000 files"),
            outcome("across/data", "fail", "n2", reason="wrong data", findings=(samples.finding(),)),
        ),
        hosts=(
            HostVerdict(host="n1", status="pass", reason="", exclude=False),
            HostVerdict(host="n2", status="fail", reason="wrong data", exclude=True),
        ),
        findings=(),
        runs=(),
        duration_s=42.0,
    )


def trained(error: float = 0.0) -> TrainRun:
    """Three steps of ddp beside its reference."""
    steps = tuple(
        TrainStep(
            step=number,
            loss=5.0 - number + error,
            reference_loss=5.0 - number,
            gradient_norm=1.0,
            reference_gradient_norm=1.0,
            time_s=0.2,
        )
        for number in (1, 2, 3)
    )
    oracle = Oracle(
        ok=not error,
        max_abs_error=error,
        tolerance=1e-6,
        loss_error=error,
        gradient_error=error,
        parameter_error=error,
        relative_tolerance=1e-6,
        rule="rounding",
    )
    one = TrainingResult(
        strategy="ddp",
        status="fail" if error else "pass",
        reason="",
        steps=steps,
        oracle=oracle,
        step_time_s=samples.stats(0.2),
        throughput_samples_per_s=40.0,
        throughput_tokens_per_s=1280.0,
        exposed_communication_ratio=0.25,
        exposed_communication_method="measured",
        scaling_efficiency=0.6,
        slowest_rank=None,
        peak_memory_bytes=(2**28, 2**27),
        bubble=_bubble(),
    )
    return TrainRun(info=samples.info(), verdict=FAIL if error else PASS, findings=(), trainings=(one,))


def scaled() -> Material:
    """The same training with one, two, and four ranks."""
    shape = ModelShape(
        layers=4,
        width=64,
        heads=4,
        context=32,
        vocabulary=256,
        batch=4,
        grown=(),
        ranks=1,
        replicas=1,
    )
    runs = []
    for ranks, step_s in ((1, 0.1), (2, 0.125), (4, 0.2)):
        one = replace(
            trained().trainings[0],
            model=shape,
            step_time_s=samples.stats(step_s),
            throughput_samples_per_s=4 * ranks / step_s,
        )
        info = samples.info(id=f"20250102T03040{ranks}Z-beef", world_size=ranks)
        runs.append(replace(trained(), info=info, trainings=(one,)))
    return of(*runs)


def planned() -> Material:
    """The same, each rank on a host of its own, and a probe of two of them."""
    alone = [one.run for one in scaled().runs]
    runs = [replace(run, info=replace(run.info, nodes=run.info.world_size)) for run in alone]
    rows = tuple(
        samples.measurement(bytes=2**size, time_s=samples.stats(1e-4 + 2**size * 2e-8))
        for size in (10, 14, 18, 22)
    )
    info = samples.info(id="20250102T030409Z-beef", world_size=2, nodes=2)
    return of(*runs, replace(samples.good_run(), info=info, measurements=rows))


def _bubble() -> Bubble:
    """Two ranks, two micro-batches: the second rank waits for the first, forward, and then the first for it."""
    times = {
        (0, "forward"): (0, 1),
        (1, "forward"): (1, 2),
        (1, "backward"): (3, 5),
        (0, "backward"): (5, 7),
    }
    return Bubble(
        schedule="gpipe",
        ranks=2,
        micro_batches=2,
        stages_per_rank=1,
        measured=0.3333,
        formula=1 / 3,
        expression="(p - 1) / (m + p - 1)",
        source="GPipe",
        passes=tuple(
            PipelinePass(
                rank=rank,
                stage=rank,
                micro_batch=number,
                kind=cast("PassKind", kind),
                begin_s=0.01 * (begin + number * (end - begin)),
                end_s=0.01 * (end + number * (end - begin)),
            )
            for (rank, kind), (begin, end) in times.items()
            for number in (0, 1)
        ),
    )


def failed() -> Material:
    """Rank 1 was killed while rank 0 waited for it; the logs say why."""
    incident = Incident(
        root_cause="out-of-memory",
        confidence=0.9,
        offender=Offender("rank", "1"),
        candidates=(Candidate(root_cause="out-of-memory", confidence=0.9, why=("oom-kill of pid 1001",)),),
        evidence=(LogLine(file="log.txt", line=7, rank=1, host="beta", time=None, text="Killed process 1001"),),
        info=begun_now(("nccltool", "triage")),
        verdict=FAIL,
        findings=(samples.finding(remedy="use less memory"),),
        lines_read=100,
    )
    stretches = (
        RankStretch(rank=0, begin=1, end=9, what="timing in all_reduce at 1 MiB", is_waiting=True),
        RankStretch(rank=1, begin=1, end=4, what="timing in all_reduce at 1 MiB"),
        RankStretch(rank=1, begin=4, end=9, what="killed by signal 9", is_end=True),
    )
    return of(samples.failing_run(), incident=incident, stretches=stretches)


def compared() -> Material:
    """Three operations, before and after they became 20 times slower."""
    a, b = swept(), swept("20250103T030405Z-beef", slow=20.0)
    b = replace(b, info=replace(b.info, started="2025-01-03T03:04:05Z"))
    one, other = (Side(name=run.info.id, runs=(run_samples.of_run(run.info, run.measurements),)) for run in (a, b))
    comparison = judge.compare(begun_now(("nccltool", "report")), one, other, CompareSettings())
    before = {row.key: row.busbw_a_bytes_per_s for row in comparison.rows}
    return of(a, b, comparison=comparison, before=before, before_name=a.info.id)


def nights() -> Material:
    """Twenty: in two of them a rank of beta dies, and from the eleventh on all is slower by a fifth."""
    runs: list[Run] = []
    for night in range(1, 21):
        wobble = 1 + 0.01 * (night % 3 - 1)
        info = samples.info(
            id=f"202501{night:02}T030405Z-beef",
            started=f"2025-01-{night:02}T03:04:05Z",
            hosts=("alpha", "beta"),
            ranks_per_node=1,
            emulated=False,
        )
        bad = samples.failing_run() if night in (6, 13) else None
        run = swept(slow=wobble * (1.25 if night > 10 else 1.0))
        rows = tuple(row for row in run.measurements if row.op == "all_reduce" and row.bytes == 2**22)
        run = replace(run, info=info, measurements=rows)
        runs.append(replace(run, findings=bad.findings, verdict=bad.verdict) if bad else run)
    return replace(of(*runs), history=past.of(tuple(map(reported, runs))))


def hostile() -> Material:
    """Every text that comes from elsewhere is hostile or endless."""
    found: Finding = samples.finding(message=HOSTILE, evidence=(HOSTILE, LONG), remedy=HOSTILE)
    run = swept(findings=(found,), verdict=FAIL)
    info = replace(run.info, hosts=(HOSTILE, LONG), command=("nccltool", HOSTILE), gpu=HOSTILE, nics=LONG)
    stretches = (RankStretch(rank=0, begin=1, end=9, what=HOSTILE, is_end=True),)
    return of(replace(run, info=info), stretches=stretches)


ALL = {
    "probe": lambda: of(swept()),
    "pairs": lambda: of(pairs()),
    "preflight": lambda: of(preflight()),
    "train": lambda: of(trained(0.5)),
    "failed": failed,
    "compared": compared,
    "scaled": scaled,
    "planned": planned,
    "nights": nights,
    "empty": lambda: of(samples.empty_run()),
    "hostile": hostile,
}
