"""From a plan to a smoke training of the same kind that the ranks here can hold, and how it differs.

The strategy stays, and its degrees as far as there are ranks. Width, layers, vocabulary, and sequences are halved
until the whole model, which every rank also trains as the reference, needs little memory and little time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from nccltool.core import documents, user_files
from nccltool.core.errors import BadInput
from nccltool.core.text import listed
from nccltool.hosts import free_memory
from nccltool.hosts.facts import or_none
from nccltool.hosts.sources.base import Tree
from nccltool.launch import order
from nccltool.launch.options import StartOptions
from nccltool.plan.document import PlanDocument, StrategyDocument
from nccltool.plan.words import STRATEGY_WORDS
from nccltool.train import reference_cost
from nccltool.train.job import TrainSpec
from nccltool.train.pipeline_schedules import SCHEDULES
from nccltool.train.reference_cost import ModelNumbers
from nccltool.train.strategies import tp_moe
from nccltool.train.strategies.base import EXPERTS, ExpertOptions, OptionValue

_MOST_BYTES = 2**30
"""On a rank: as much as a GPU and a host of a cluster always have."""
_MOST_FLOP_OF_CPUS, _MOST_FLOP_OF_GPUS = 2e9, 2e13
"""Of the reference in a step, which every rank computes for all of them: a fraction of a second for a core (up to
50 GFLOP/s in float32), and about as long for a GPU (50 TFLOP/s)."""
_LEAST = {"layers": 4, "width": 64, "context": 32, "vocabulary": 256}
_MOST_MICRO_BATCHES, _MOST_SEQUENCES = 4, 2
_HALVINGS = 64
FIELDS = ("layers", "width", "heads", "context", "vocabulary", "batch", "dtype", "momentum", "recompute")
"""Of a training, which a plan sets; those that were asked for on the command line stay."""
_LARGEST = 2**20
"""Of any size in a plan, as in the options of `nccltool plan`: the halvings above are enough for it."""
_WITH_EXPERTS = ("moe", "tp_moe")
_RANKS_ELSEWHERE = 8
"""Of a job whose nodes are not known yet."""
_AGAIN = "run nccltool plan again"
_REMEDY = "save one: nccltool plan MODEL --gpus N --format json --output plan.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class RanksHere:
    """Where it is to run."""

    ranks: int
    on_gpus: bool
    free_bytes: int | None
    """Of this host, for each rank; None: not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LikePlan:
    """A training like a plan."""

    spec: TrainSpec
    notes: tuple[str, ...]
    """How it was scaled, and what differs."""


def place(start: StartOptions, env: Mapping[str, str]) -> RanksHere:
    """As far as this host tells: with --node-rank, all hosts must come to the same. Raises BadInput."""
    where = order.plan_launch(order.joined(start, env), env)
    ranks = where.ranks or _RANKS_ELSEWHERE
    free = None if where.launch.remote or start.node_rank is not None else or_none(free_memory.of_host(Tree()))
    return RanksHere(ranks=ranks, on_gpus=bool(where.on_gpus), free_bytes=None if free is None else free // ranks)


def read(file: str) -> PlanDocument:
    """Raises BadInput."""
    text = user_files.contents(file, "--like", remedy=_REMEDY)
    if documents.kind_of(text, file) != "plan":
        raise BadInput(f"--like {file} is not a plan", _REMEDY)
    return documents.decoded(text, file, PlanDocument, "a plan", _REMEDY)


def of(plan: PlanDocument, where: str, here: RanksHere) -> LikePlan:
    """`where`: the file. Raises BadInput if the plan has no choice, or no training is like it."""
    chosen = next((one for one in plan.strategies if one.name == plan.choice), None)
    if chosen is None:
        raise BadInput(f"--like {where}: nothing fits in this plan", "plan for more GPUs, then use that plan")
    if plan.model.vocabulary is None:
        raise BadInput(f"--like {where}: an older nccltool saved this plan", _AGAIN)
    _see_that_it_is_sound(plan, chosen, where)
    strategy, own = _strategy(plan, chosen, where)
    differs = list(_differences(plan, chosen, strategy))
    spec = TrainSpec(
        strategies=(strategy,),
        options=own,
        momentum=0.0 if plan.optimizer == "sgd" else 0.9,
        dtype=_dtype(plan, strategy),
        recompute=chosen.recompute != "none",
    )
    if strategy == "fsdp" and plan.precision == "mixed":
        own |= {"param_dtype": "bfloat16", "reduce_dtype": "float32"}
    sized = _shrunk(spec, plan, chosen, here)
    return LikePlan(spec=sized, notes=(_scaled(plan, sized), *differs))


def _see_that_it_is_sound(plan: PlanDocument, one: StrategyDocument, where: str) -> None:
    """Raises BadInput for a file that was edited or damaged: it would be a training of nothing."""
    sizes = {
        **{name: getattr(plan.model, name) for name in ("layers", "width", "vocabulary")},
        "sequence": plan.sequence,
        **{name: getattr(one, name) for name in ("micro_batch", "micro_batches", "stages_per_rank")},
        **{name: getattr(one.degrees, name) for name in one.degrees.__struct_fields__},
    }
    for name, size in sizes.items():
        if not 1 <= size <= _LARGEST:
            raise BadInput(f"--like {where}: {name} {size} is not from 1 to {_LARGEST}", _AGAIN)
    for name, word, known in (
        ("strategy", one.strategy, ("none", *STRATEGY_WORDS)),
        ("schedule", one.schedule or "1f1b", tuple(SCHEDULES)),
    ):
        if word not in known:
            raise BadInput(f"--like {where}: {name} {word[:40]!r} is none of {', '.join(known)}", _AGAIN)


def _strategy(plan: PlanDocument, one: StrategyDocument, where: str) -> tuple[str, dict[str, OptionValue]]:
    """The strategy of train, and its own options. Raises BadInput."""
    degrees, count = one.degrees, min(one.micro_batches, _MOST_MICRO_BATCHES)
    accumulate: dict[str, OptionValue] = {"accumulate": count} if count > 1 else {}
    is_plain = one.strategy == "ddp" and degrees.context == degrees.pipeline == 1
    if degrees.expert > 1 and is_plain and degrees.tensor <= tp_moe.RANKS:
        return ("tp_moe" if degrees.tensor > 1 else "moe"), accumulate
    if degrees.expert > 1 or (degrees.context > 1 and max(degrees.tensor, degrees.pipeline) > 1):
        raise BadInput(
            f"--like {where}: nccltool train has no strategy like {one.name}",
            f"use a plan without --cp beside --tp or --pp, and --ep only with ddp and --tp up to {tp_moe.RANKS}",
        )
    if degrees.context > 1:
        return "ring", {}
    if degrees.pipeline > 1:
        each = max(1, min(one.micro_batches // degrees.pipeline, _MOST_MICRO_BATCHES))
        own: dict[str, OptionValue] = {"micro_batches": each, "schedule": one.schedule or "1f1b"}
        if one.schedule == "interleaved":
            own["stages"] = min(one.stages_per_rank, 2)
        return ("three_d" if degrees.tensor > 1 else "pipeline"), own
    if degrees.tensor > 1:
        is_split = one.strategy in ("fsdp", "hsdp")
        return ("tp_fsdp", accumulate) if is_split else ("tensor", {"sequence_parallel": True})
    if one.strategy == "zero2":
        return "deepspeed", {**accumulate, "zero": 2}
    if one.strategy == "hsdp":
        return "fsdp", {**accumulate, "shard": "hybrid"}
    return {"none": "ddp"}.get(one.strategy, one.strategy), accumulate


def _dtype(plan: PlanDocument, strategy: str) -> str:
    """Of the arithmetic: FSDP casts what it gathers instead."""
    is_short = plan.precision != "fp32" and not (strategy == "fsdp" and plan.precision == "mixed")
    return "bfloat16" if is_short else "float32"


def _differences(plan: PlanDocument, one: StrategyDocument, strategy: str) -> Iterator[str]:
    """What this training does in another way than the plan."""
    if plan.optimizer not in ("sgd", "sgd-momentum"):
        yield f"optimizer: SGD with momentum instead of {plan.optimizer}, because Adam hides wrong gradients"
    if plan.precision in ("amp", "megatron", "bf16"):
        yield f"precision: float32 parameters and bfloat16 arithmetic instead of {plan.precision}"
    if strategy == "ring":
        yield "context parallelism with whole parameters on each rank"
    if one.degrees.pipeline > 1 and one.strategy not in ("none", "ddp"):
        yield f"replicas of the pipeline average their gradients as ddp does, not as {one.strategy}"
    if strategy == "tensor" and one.strategy == "zero1":
        yield "the optimizer is not split"
    if one.recompute == "selective":
        yield "full recomputation instead of selective"
    if strategy == "tp_moe":
        yield "experts split within pairs of ranks"
    if strategy in _WITH_EXPERTS:
        yield f"{EXPERTS} experts in each block, of which each token has {ExpertOptions().top_k}"
    elif plan.model.active_parameters != plan.model.parameters:
        yield "an ordinary MLP instead of experts"


def _shrunk(spec: TrainSpec, plan: PlanDocument, one: StrategyDocument, here: RanksHere) -> TrainSpec:
    """The largest model that is small enough. Halves in turns what has most left to lose."""
    model = plan.model
    assert model.vocabulary is not None
    batch = min(one.micro_batch, _MOST_SEQUENCES) * int(
        spec.options.get("accumulate") or spec.options.get("micro_batches") or 1
    )
    sizes = {
        "layers": model.layers,
        "width": model.width,
        "context": plan.sequence,
        "vocabulary": model.vocabulary,
    }
    for _ in range(_HALVINGS):
        sized = _sized(spec, sizes, batch)
        if _is_small(sized, here):
            break
        name = max(sizes, key=lambda name: sizes[name] / _LEAST[name])
        sizes[name] = max(_LEAST[name], sizes[name] // 2)
    return sized


def _sized(spec: TrainSpec, sizes: dict[str, int], batch: int) -> TrainSpec:
    """With 8 heads, or a multiple, which a group of any usual size can share."""
    width = sizes["width"] // 64 * 64 if sizes["width"] < 1024 else sizes["width"] // 1024 * 1024
    heads = 4 if width < 128 else max(8, width // 128)
    return replace(
        spec,
        layers=sizes["layers"],
        width=max(_LEAST["width"], width),
        heads=heads,
        context=max(_LEAST["context"], sizes["context"] // 8 * 8),
        vocabulary=max(_LEAST["vocabulary"], sizes["vocabulary"] // 64 * 64),
        batch=batch,
    )


def _is_small(spec: TrainSpec, here: RanksHere) -> bool:
    largest = spec.vocabulary * spec.width
    experts = EXPERTS if spec.strategies[0] in _WITH_EXPERTS else 1
    numbers = (4 + 8 * experts) * spec.layers * spec.width**2 + 2 * largest + spec.context * spec.width
    micro_batches = int(spec.options.get("accumulate") or spec.options.get("micro_batches") or 1) * here.ranks
    needed = reference_cost.needs(
        spec,
        ModelNumbers(all=numbers, largest=largest, mine=numbers),
        spec.batch * here.ranks,
        micro_batches,
    )
    most = _MOST_BYTES if here.free_bytes is None else min(_MOST_BYTES, here.free_bytes // 2)
    flop = 6 * numbers * spec.batch * spec.context * here.ranks
    return needed.total <= most and flop <= (_MOST_FLOP_OF_GPUS if here.on_gpus else _MOST_FLOP_OF_CPUS)


def _scaled(plan: PlanDocument, spec: TrainSpec) -> str:
    model = plan.model
    sizes = (
        ("layers", spec.layers, model.layers),
        ("width", spec.width, model.width),
        ("vocabulary", spec.vocabulary, model.vocabulary),
        ("tokens per sequence", spec.context, plan.sequence),
    )
    smaller = listed([f"{name} {now:,} instead of {then:,}" for name, now, then in sizes if now != then])
    return f"{model.name} with {plan.choice} on {plan.gpus} GPUs, scaled down: {smaller or 'nothing smaller'}"
