"""What is made of what ranks say of smoke trainings."""

from typing import Any

import msgspec
import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.launch import events
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from nccltool.probe.events import Samples
from nccltool.probe.late_rank import RankLateness
from nccltool.probe.run import ProbeBegun
from nccltool.train import document as train_document
from nccltool.train import judge
from nccltool.train.events import (
    Built,
    Compared,
    Diverged,
    Flowed,
    NotCompared,
    NotTrained,
    OfRanks,
    Passed,
    TimedSteps,
    TrainedStep,
)
from nccltool.train.job import TrainJob, TrainSpec
from nccltool.train.result import ModelShape, PipelinePass, TrainRun
from nccltool.train.views import table
from tests.samples import finding

RANKS = 2
TOLERANCE = 1e-5
WORLD = events.World(
    world_size=RANKS, emulated=True, backend="gloo", backend_version="2.13.0", backend_reason="no GPU", steps=9
)


def state_of() -> RunState:
    job = TrainJob(run_id="20250102T030405Z-beef", nodes=2, nproc_per_node=1, train=TrainSpec(strategies=("ddp",)))
    return RunState(job, RANKS, now=0.0)


def judged(
    *said: events.Event, findings: tuple[Finding, ...] = (), interrupted: bool = False, **spec: Any
) -> TrainRun:
    asked = TrainJob(
        run_id="20250102T030405Z-beef",
        nodes=2,
        nproc_per_node=1,
        emulated=True,
        train=TrainSpec(**{"strategies": ("ddp",), "steps": 2, "timed_steps": 2, **spec}),
    )
    state = RunState(asked, RANKS, now=0.0)
    for event in (WORLD, *said):
        state.apply(event, 1.0)
    begun = ProbeBegun(
        job=asked,
        leads=True,
        part=0,
        parts=1,
        ranks_seen=RANKS,
        command=("nccltool", "train", "ddp"),
        started="2025-01-02T03:04:05Z",
        nccltool="0.1.0",
        torch="2.13.0",
    )
    return judge.judged(LaunchOutcome(state, findings, interrupted=interrupted), begun)


def step(number: int, loss: str = "5.5", reference: str = "5.5") -> TrainedStep:
    return TrainedStep(
        step=number - 1,
        strategy="ddp",
        number=number,
        loss=loss,
        reference_loss=reference,
        gradient_norm="0.5",
        reference_gradient_norm="0.5",
        ns=20_000_000,
    )


def compared(rank: int, error: str = "1e-07", strategy: str = "ddp", micro_batches: int = RANKS) -> Compared:
    errors = tuple((what, error, 2 * TOLERANCE) for what in ("parameters", "loss", "gradient", "update"))
    return Compared(rank=rank, strategy=strategy, micro_batches=micro_batches, errors=errors, rule="step x 1e-05")


def diverged(rank: int, what: str, number: int = 2, **changes: Any) -> Diverged:
    fields: dict[str, Any] = {
        "got": "1.5",
        "expected": "0.5",
        "error": "2.0",
        "tolerance": TOLERANCE,
    }
    return Diverged(rank=rank, step=number - 1, strategy="ddp", number=number, what=what, **{**fields, **changes})


SHAPE = ModelShape(
    layers=4,
    width=64,
    heads=4,
    context=32,
    vocabulary=256,
    batch=4,
    grown=(),
    ranks=1,
    replicas=RANKS,
)
BUILT = Built(strategy="ddp", shape=SHAPE)
TIMED = TimedSteps(
    step=2,
    strategy="ddp",
    sequences=8,
    tokens=256,
    without_sync_ns=15_000_000,
    alone_ns=10_000_000,
)
ON_RANKS = tuple(
    OfRanks(strategy="ddp", step=2, first=rank, ns=(ns,), peak_bytes=(peak,))
    for rank, (ns, peak) in enumerate([(20_000_000, 2**28), (30_000_000, None)])
)
SAMPLES = Samples(step=2, ns=(20_000_000, 20_000_000))
BOTH = (compared(0), compared(1))
RIGHT = (BUILT, step(1), step(2, loss="5.50001"), *BOTH, SAMPLES, *ON_RANKS, TIMED)


def test_data_that_lack_a_core_are_no_communication() -> None:
    """20 ms a step, 15 ms of it without communication."""
    run = judged(*RIGHT)
    assert [(one.cause, one.share) for one in run.trainings[0].losses] == [("communication", 0.25)]
    run = judged(*RIGHT[:-1], msgspec.structs.replace(TIMED, moving_ns=4_000_000))
    assert run.trainings[0].losses == ()


def test_gpus_that_wait_for_launches() -> None:
    run = judged(*RIGHT[:-1], msgspec.structs.replace(TIMED, launch_ns=10_000_000))
    found = [(one.cause, one.share) for one in run.trainings[0].losses]
    assert found == [("launch", 0.5), ("communication", 0.25)]


def test_calls_that_are_launched_late_are_no_communication() -> None:
    run = judged(*RIGHT[:-1], msgspec.structs.replace(TIMED, launch_ns=4_000_000, late_calls_ns=4_000_000))
    assert [(one.cause, one.share) for one in run.trainings[0].losses] == [("launch", 0.4)]


def test_a_rank_that_costs_little_on_cpus_is_not_named() -> None:
    little = msgspec.structs.replace(TIMED, late_ranks=((1, 0.0015),))
    run = judged(*RIGHT[:-1], little)
    assert (run.findings, run.trainings[0].late_ranks) == ((), ())
    on_gpus = [msgspec.structs.replace(one, utilization=(900,)) for one in ON_RANKS]
    run = judged(*RIGHT[: -1 - len(ON_RANKS)], *on_gpus, little)
    assert [one.code for one in run.findings] == ["late-rank"]


def test_a_rank_that_comes_late() -> None:
    run = judged(*RIGHT[:-1], msgspec.structs.replace(TIMED, late_ranks=((1, 0.05),)))
    (finding,) = run.findings
    assert (finding.code, finding.severity) == ("late-rank", "error")
    assert finding.subject == Subject(kind="rank", name="1")
    assert "arrived late in ddp, by a median of 50 ms" in finding.message
    assert (run.verdict.status, run.verdict.exit_code) == ("fail", 1)
    assert [one.status for one in run.trainings] == ["pass"]
    assert run.trainings[0].late_ranks == (RankLateness(rank=1, late_s=0.05),)
    in_time = judged(*RIGHT[:-1], msgspec.structs.replace(TIMED, late_ranks=()))
    assert (in_time.findings, in_time.trainings[0].late_ranks) == ((), ())


def test_a_right_training() -> None:
    run = judged(*RIGHT)
    assert (run.verdict.status, run.verdict.exit_code, run.findings) == ("pass", 0, ())
    (done,) = run.trainings
    assert (done.status, done.throughput_samples_per_s, done.throughput_tokens_per_s) == ("pass", 400, 12800)
    assert done.exposed_communication_ratio == pytest.approx(0.25)
    assert done.scaling_efficiency == pytest.approx(0.5)
    assert done.model == SHAPE
    assert (done.slowest_rank, done.peak_memory_bytes) == (1, (2**28, None))
    assert done.oracle is not None
    assert (done.oracle.ok, done.oracle.first_step, done.oracle.ranks) == (True, None, ())
    assert done.oracle.max_abs_error == pytest.approx(1e-5)
    assert done.oracle.tolerance == pytest.approx(2 * TOLERANCE * 5.5)
    assert (done.oracle.loss_error, done.oracle.relative_tolerance) == (1e-7, 2 * TOLERANCE)


def test_what_compression_lost_is_told_beside_what_it_may_lose() -> None:
    lossy = [msgspec.structs.replace(one, errors=(*one.errors, ("compression", "0.5", 0.9))) for one in BOTH]
    (done,) = judged(step(1), step(2), *lossy).trainings
    assert done.oracle is not None
    assert (done.oracle.compression_error, done.oracle.compression_bound) == (0.5, 0.9)
    assert done.oracle.relative_tolerance == 2 * TOLERANCE


def test_without_memory_for_the_reference_nothing_is_known() -> None:
    """The steps that were right, and the times, are shown all the same."""
    lacking = NotCompared(strategy="ddp", rank=1, reason="rank 1 ran out of memory in the reference")
    run = judged(step(1), lacking, SAMPLES, *ON_RANKS, TIMED)
    (done,) = run.trainings
    assert (done.status, done.reason) == (
        "unknown",
        "not compared: rank 1 ran out of memory in the reference",
    )
    assert (run.verdict.exit_code, done.throughput_samples_per_s, len(done.steps)) == (4, 400, 1)


def test_memory_hides_no_finding() -> None:
    lacking = NotCompared(strategy="ddp", rank=1, reason="rank 1 ran out of memory in the reference")
    run = judged(step(1), diverged(0, "gradient"), lacking)
    assert (run.trainings[0].status, run.verdict.exit_code) == ("fail", 1)


def test_what_was_not_timed_is_not_known() -> None:
    (done,) = judged(step(1), step(2), *BOTH).trainings
    assert (done.status, done.step_time_s, done.throughput_samples_per_s) == ("pass", None, None)
    assert (done.exposed_communication_ratio, done.scaling_efficiency, done.slowest_rank) == (None, None, None)
    assert done.exposed_communication_method == "unknown: no step was timed"


FLOWED = Flowed(
    strategy="pipeline",
    ranks=2,
    micro_batches=4,
    stages=2,
    computing_ns=150,
    running_ns=200,
)


def test_the_bubble_of_a_pipeline() -> None:
    passed = Passed(strategy="pipeline", rank=1, passes=((3, 2, 5, 1_000_000, 3_000_000),))
    run = judged(FLOWED, passed, strategies=("pipeline",), options={"schedule": "interleaved"})
    (done,) = run.trainings
    assert done.bubble is not None
    assert done.bubble.measured == pytest.approx(0.25)
    assert done.bubble.formula == pytest.approx(1 / 9)
    assert (done.bubble.expression, done.bubble.stages_per_rank) == ("(p - 1) / (v m + p - 1)", 2)
    assert done.bubble.passes == (
        PipelinePass(rank=1, stage=2, micro_batch=5, kind="backward-weight", begin_s=0.001, end_s=0.003),
    )
    assert train_document.from_json(train_document.to_json(run).encode(), "it") == run
    assert [t.bubble for t in judged(*RIGHT).trainings] == [None]


def test_passes_come_in_events_that_the_stream_carries_whole() -> None:
    one = (3, 4095, 4095, 3_599_999_999_999, 3_599_999_999_999)
    made = list(Passed.of("pipeline", 4095, [one] * 100))
    assert [len(event.passes) for event in made] == [48, 48, 4]
    assert len(events.encode(made[0])) <= 4096


def test_the_bubble_of_too_few_micro_batches_is_not_known() -> None:
    few = msgspec.structs.replace(FLOWED, micro_batches=2, running_ns=0)
    (done,) = judged(few, strategies=("pipeline",), options={"schedule": "zbv"}).trainings
    assert done.bubble is not None
    assert (done.bubble.measured, done.bubble.formula) == (None, None)


def test_no_rank_stands_out() -> None:
    even = OfRanks(strategy="ddp", step=2, first=0, ns=(20, 24), peak_bytes=(1, 1))
    (done,) = judged(step(1), *BOTH, SAMPLES, even, TIMED).trainings
    assert done.slowest_rank is None


EVERYWHERE = (diverged(0, "gradient"), diverged(1, "gradient"))


def test_numbers_that_are_none_are_not_known_and_wrong() -> None:
    run = judged(step(1, loss="nan"), diverged(0, "loss", number=1, got="nan", error="nan"), compared(0, "nan"))
    (done,) = run.trainings
    assert done.oracle is not None
    assert (done.status, done.steps[0].loss, done.oracle.loss_error) == ("fail", None, None)
    assert train_document.to_document(run)["steps"][0]["loss"] is None
    assert run.findings[0].evidence[0] == "rank 0: value nan, expected 0.5; off by nan, tolerance 1e-05 (relative)"


@pytest.mark.parametrize(
    ("said", "findings", "code", "statuses"),
    [
        ((NotTrained(strategy="ddp", reason="so"),), (), 4, ["skip", "unknown"]),
        (
            (NotTrained(strategy="ddp", reason="so"), *(compared(r, strategy="fsdp") for r in (0, 1))),
            (),
            4,
            ["skip", "pass"],
        ),
        ((compared(0), *(compared(r, strategy="fsdp") for r in (0, 1))), (), 4, ["unknown", "pass"]),
        ((*BOTH,), (finding(code="rank-died", severity="error"),), 3, ["pass", "unknown"]),
        ((*BOTH, diverged(1, "loss")), (finding(code="rank-died", severity="error"),), 3, ["fail", "unknown"]),
    ],
)
def test_the_verdict(
    said: tuple[events.Event, ...], findings: tuple[Finding, ...], code: int, statuses: list[str]
) -> None:
    run = judged(*said, findings=findings, strategies=("ddp", "fsdp"))
    assert run.verdict.exit_code == code
    assert [done.status for done in run.trainings] == statuses


@pytest.mark.parametrize(("is_all", "code"), [(False, 4), (True, 0)])
def test_what_was_asked_for_by_its_name_and_left_out_is_no_pass(is_all: bool, code: int) -> None:
    left_out = NotTrained(strategy="dp", reason="it is one process", applies=False)
    run = judged(left_out, *BOTH, strategies=("ddp", "dp"), is_all=is_all)
    assert (run.verdict.exit_code, [done.applies for done in run.trainings]) == (code, [True, False])


def test_a_world_of_one_that_was_asked_for_is_no_warning() -> None:
    run = judged(*RIGHT, findings=(finding(code="world-of-one", severity="warning"),))
    assert (run.verdict.status, run.findings) == ("pass", ())


def overflowed(number: int) -> TrainedStep:
    said = {name: getattr(step(number), name) for name in TrainedStep.__struct_fields__}
    return TrainedStep(**said | {"gradient_norm": "inf", "overflowed": True})


def test_a_step_that_overflowed_is_told() -> None:
    run = judged(step(1), overflowed(2), *BOTH)
    (done,) = run.trainings
    assert (done.status, [s.overflowed for s in done.steps], done.steps[1].gradient_norm) == (
        *("pass", [False, True]),
        None,
    )
    assert "ddp: a gradient overflowed, so the parameters were not updated: step 2\n" in table.render(run)


def test_validation_and_where_the_ranks_stopped() -> None:
    said = [
        msgspec.structs.replace(step(n), validation_loss=loss, reference_validation_loss=loss, stops=n == 3)
        for n, loss in enumerate(("4.5", "4.25", "nan"), start=1)
    ]
    run = judged(*said, *BOTH, steps=9)
    (done,) = run.trainings
    assert (done.status, done.stopped_after) == ("pass", 3)
    assert [(s.validation_loss, s.reference_validation_loss) for s in done.steps] == [
        (4.5, 4.5),
        (4.25, 4.25),
        (None, None),
    ]
    line = "validation loss of ddp: lowest in step 2 (4.250000); all ranks stopped after step 3\n"
    assert line in table.render(run)
    assert "validation" not in table.render(judged(*RIGHT))


def test_a_training_that_was_never_updated_is_not_right() -> None:
    run = judged(overflowed(1), overflowed(2), *BOTH)
    assert (run.verdict.status, run.trainings[0].status) == ("unknown", "unknown")
    assert run.trainings[0].reason == "gradients overflowed in every step, so no update was compared"
