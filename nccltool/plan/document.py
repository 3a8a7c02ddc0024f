"""The document of a plan (docs/json-plan.md)."""

import msgspec

from nccltool.core import documents
from nccltool.core.documents import RunDocument
from nccltool.plan.checked import CheckedStrategy
from nccltool.plan.memory import Memory
from nccltool.plan.result import Plan, PlannedStrategy
from nccltool.plan.scaling import PredictedCurve
from nccltool.plan.step_time import CallTime


class PlannedModel(msgspec.Struct, kw_only=True):
    """The model that was planned for."""

    name: str
    parameters: int
    active_parameters: int
    layers: int
    width: int
    heads: int | None = None
    vocabulary: int | None = None
    """None: of a release that did not say them."""
    flop_per_token: float
    source: str


class PlannedMachine(msgspec.Struct, kw_only=True):
    """The nodes that were planned for."""

    name: str
    gpu: str
    memory_bytes: int
    gpus: int
    source: str
    assumed: bool


class PlannedDegrees(msgspec.Struct, kw_only=True):
    """Of each kind of parallelism; their product, without experts, is the number of GPUs."""

    replicate: int
    shard: int
    tensor: int
    context: int
    pipeline: int
    expert: int


class PlannedMemory(msgspec.Struct, kw_only=True):
    """Bytes of the rank that needs most, at its peak."""

    parameters: int
    gradients: int
    optimizer: int
    activations: int
    logits: int
    unsharded: int
    temporaries: int
    allocator: int
    context: int
    communication: int
    host: int = 0
    total: int
    instant: str


class PlannedCalls(msgspec.Struct, kw_only=True):
    """Calls of a step on one rank."""

    operation: str
    axis: str
    ranks: int
    count: int
    bytes: int
    time_s: float
    why: str


class PlannedStepTime(msgspec.Struct, kw_only=True):
    """Seconds of a step."""

    mean: float
    ci: tuple[float, float]
    compute: float
    bubble: float
    exposed_communication: float
    hidden_communication: float
    optimizer: float
    host_transfer: float = 0.0


class StrategyDocument(msgspec.Struct, kw_only=True):
    """A layout at its best."""

    name: str
    strategy: str
    degrees: PlannedDegrees
    micro_batch: int
    micro_batches: int
    schedule: str | None
    stages_per_rank: int
    recompute: str
    fits: bool
    memory_bytes: PlannedMemory
    calls: tuple[PlannedCalls, ...]
    step_time_s: PlannedStepTime
    tokens_per_s: float
    mfu: float
    reasons: tuple[str, ...]


class CheckedFigure(msgspec.Struct, kw_only=True):
    """Predicted and counted."""

    rank: int
    what: str
    predicted: int
    counted: int
    ok: bool


class CheckDocument(msgspec.Struct, kw_only=True):
    """What torch does for a strategy, in a small model."""

    strategy: str
    counted_layout: str
    figures: tuple[CheckedFigure, ...]
    reason: str


class ScalingPointDocument(msgspec.Struct, kw_only=True):
    """A number of ranks: measured, and predicted from the links that a probe measured."""

    ranks: int
    step_s: float
    efficiency: float
    predicted_step_s: float | None
    predicted_efficiency: float | None


class ScalingCurveDocument(msgspec.Struct, kw_only=True):
    """Of a training with several numbers of ranks."""

    strategy: str
    scaling: str
    detail: str
    points: tuple[ScalingPointDocument, ...]
    bend: str
    reason: str


class PlanDocument(RunDocument, kw_only=True):
    """Of nccltool plan."""

    model: PlannedModel
    machine: PlannedMachine
    gpus: int
    sequence: int
    global_batch: int
    precision: str
    optimizer: str
    strategies: tuple[StrategyDocument, ...]
    choice: str | None
    searched: int
    training_s: float | None = None
    checks: tuple[CheckDocument, ...] | None = None
    scaling: tuple[ScalingCurveDocument, ...] = ()


def document_of(plan: Plan) -> PlanDocument:
    model, machine = plan.model, plan.machine
    return PlanDocument(
        schema=documents.SCHEMA,
        kind="plan",
        status=plan.verdict.status,
        exit_code=plan.verdict.exit_code,
        run=plan.info,
        findings=plan.findings,
        model=PlannedModel(
            name=model.name,
            parameters=model.parameters,
            active_parameters=model.active_parameters,
            layers=model.layers,
            width=model.width,
            heads=model.heads,
            vocabulary=model.vocabulary,
            flop_per_token=model.flop_per_token(plan.recipe.sequence),
            source=model.source,
        ),
        machine=PlannedMachine(
            name=machine.name,
            gpu=machine.gpu,
            memory_bytes=machine.memory_bytes,
            gpus=machine.gpus,
            source=machine.source,
            assumed=plan.is_assumed,
        ),
        gpus=plan.gpus,
        sequence=plan.recipe.sequence,
        global_batch=plan.recipe.global_batch,
        precision=plan.recipe.precision.name,
        optimizer=plan.recipe.optimizer.name,
        strategies=tuple(_strategy(plan, one) for one in plan.strategies),
        choice=plan.choice.layout.name if plan.choice else None,
        searched=plan.searched,
        training_s=plan.training_s,
        scaling=tuple(_curve(one) for one in plan.scaling),
        checks=None if plan.checks is None else tuple(_check(one) for one in plan.checks),
    )


def to_json(plan: Plan) -> str:
    return documents.encoded(document_of(plan))


def _curve(one: PredictedCurve) -> ScalingCurveDocument:
    points = tuple(
        ScalingPointDocument(
            ranks=point.ranks,
            step_s=point.measured_s,
            efficiency=point.measured,
            predicted_step_s=point.predicted_s,
            predicted_efficiency=point.predicted,
        )
        for point in one.points
    )
    return ScalingCurveDocument(
        strategy=one.strategy,
        scaling=one.kind,
        detail=one.detail,
        points=points,
        bend=one.bend,
        reason=one.reason,
    )


def _check(one: CheckedStrategy) -> CheckDocument:
    figures = tuple(
        CheckedFigure(rank=row.rank, what=row.what, predicted=row.predicted, counted=row.counted, ok=row.is_right)
        for row in one.rows
    )
    return CheckDocument(strategy=one.name, counted_layout=one.sample, figures=figures, reason=one.reason)


def _strategy(plan: Plan, one: PlannedStrategy) -> StrategyDocument:
    layout, time = one.layout, one.time
    return StrategyDocument(
        name=layout.name,
        strategy=layout.strategy,
        degrees=PlannedDegrees(
            replicate=layout.replicate,
            shard=layout.shard,
            tensor=layout.tensor,
            context=layout.context,
            pipeline=layout.pipeline,
            expert=layout.expert,
        ),
        micro_batch=layout.micro_batch,
        micro_batches=layout.micro_batches(plan.recipe),
        schedule=layout.schedule if layout.pipeline > 1 else None,
        stages_per_rank=layout.stages,
        recompute=layout.recompute,
        fits=one.fits,
        memory_bytes=_memory(one.memory),
        calls=tuple(_calls(calls) for calls in time.calls),
        step_time_s=PlannedStepTime(
            mean=time.total,
            ci=(one.fastest_s, one.slowest_s),
            compute=time.compute,
            bubble=time.bubble,
            exposed_communication=time.exposed,
            hidden_communication=time.hidden,
            optimizer=time.optimizer,
            host_transfer=time.transfer,
        ),
        tokens_per_s=one.tokens_per_s,
        mfu=one.mfu,
        reasons=one.reasons,
    )


def _memory(memory: Memory) -> PlannedMemory:
    names = [name for name in PlannedMemory.__struct_fields__ if name not in ("total", "instant")]
    return PlannedMemory(
        **{name: getattr(memory, name) for name in names}, total=memory.total, instant=memory.instant
    )


def _calls(timed: CallTime) -> PlannedCalls:
    calls = timed.calls
    return PlannedCalls(
        operation=calls.operation,
        axis=calls.axis,
        ranks=calls.ranks,
        count=calls.count,
        bytes=calls.bytes,
        time_s=timed.seconds,
        why=calls.why,
    )
