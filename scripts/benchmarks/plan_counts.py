"""Are calls, bytes, and memory those that torch counts, where it trains small models in the same layouts?

    scripts/bench plan

Calls, bytes, and the memory of parameters, gradients, and the optimizer must be equal; activations within 10 %.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks import extent
from nccltool.plan import counting_process
from nccltool.plan.checked import CheckedStrategy, checked
from nccltool.plan.counted import CountOrder
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.plan.recipe import OPTIMIZERS, PRECISIONS, Recipe

_TOKENS = 128
LLAMA = Model(
    name="small llama", layers=8, width=256, heads=8, kv_heads=8, head_width=32, hidden=768, vocabulary=512
)
GROUPED = Model(
    name="small llama with grouped heads",
    layers=8,
    width=256,
    heads=8,
    kv_heads=2,
    head_width=32,
    hidden=768,
    vocabulary=512,
)
GPT = Model(
    name="small gpt",
    layers=8,
    width=256,
    heads=8,
    kv_heads=8,
    head_width=32,
    hidden=1024,
    vocabulary=512,
    positions=_TOKENS,
    block="gpt",
    is_gated=False,
    is_tied=True,
)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What is counted."""

    model: Model
    layout: ParallelLayout
    precision: str
    micro_batches: int = 1
    optimizer: str = "adamw"

    @property
    def name(self) -> str:
        schedule = f" {self.layout.schedule}" if self.layout.pipeline > 1 else ""
        recompute = "" if self.layout.recompute == "none" else f", {self.layout.recompute} recomputation"
        count = f", {self.micro_batches} micro-batches" if self.micro_batches > 1 else ""
        return f"{self.layout.name}{schedule}, {self.precision}{recompute}{count}, {self.model.name}"

    @property
    def recipe(self) -> Recipe:
        return Recipe(
            precision=PRECISIONS[self.precision],
            optimizer=OPTIMIZERS[self.optimizer],
            sequence=_TOKENS,
            global_batch=self.layout.data * self.micro_batches,
        )

    def orders(self) -> list[CountOrder]:
        ranks = sorted({0, min(1, self.layout.pipeline - 1), self.layout.pipeline - 1})
        return [CountOrder(model=self.model, layout=self.layout, recipe=self.recipe, rank=rank) for rank in ranks]


def _of_ranks(ranks: int) -> Iterator[Configuration]:
    """Each kind, on so many ranks."""
    fsdp = ParallelLayout(shard=ranks, sharding="parameters")
    yield Configuration(model=LLAMA, layout=ParallelLayout(replicate=ranks), precision="mixed")
    zero = ParallelLayout(shard=ranks, sharding="optimizer")
    yield Configuration(model=GROUPED, layout=zero, precision="fp32", optimizer="sgd-momentum")
    yield Configuration(model=GROUPED, layout=fsdp, precision="mixed", micro_batches=2)
    if ranks > 2:
        hybrid = ParallelLayout(replicate=2, shard=ranks // 2, sharding="parameters")
        yield Configuration(model=GPT, layout=hybrid, precision="mixed")
    yield Configuration(model=LLAMA, layout=ParallelLayout(tensor=ranks), precision="bf16")
    context = ParallelLayout(context=ranks, sharding="parameters")
    yield Configuration(model=LLAMA, layout=context, precision="mixed")
    for schedule in ("gpipe", "1f1b", "interleaved" if ranks < 8 else "zero-bubble"):
        layout = ParallelLayout(pipeline=ranks, schedule=schedule)
        yield Configuration(model=LLAMA, layout=layout, precision="bf16", micro_batches=2 * ranks)


CONFIGURATIONS = (
    *(one for ranks in (2, 4, 8) for one in _of_ranks(ranks)),
    Configuration(model=GPT, layout=ParallelLayout(replicate=2), precision="bf16", micro_batches=2),
    Configuration(
        model=LLAMA, layout=ParallelLayout(replicate=2, shard=2, sharding="parameters"), precision="mixed"
    ),
    Configuration(
        model=LLAMA, layout=ParallelLayout(shard=2, sharding="parameters", recompute="full"), precision="mixed"
    ),
    Configuration(
        model=LLAMA,
        layout=ParallelLayout(shard=2, sharding="parameters", recompute="selective"),
        precision="mixed",
    ),
    Configuration(model=LLAMA, layout=ParallelLayout(shard=2, sharding="parameters", tensor=2), precision="mixed"),
    Configuration(
        model=LLAMA,
        layout=ParallelLayout(shard=2, sharding="parameters", pipeline=2),
        precision="mixed",
        micro_batches=4,
    ),
    Configuration(
        model=LLAMA, layout=ParallelLayout(pipeline=4, schedule="zbv"), precision="bf16", micro_batches=8
    ),
)


QUICK = ("ddp2", "zero1-2", "fsdp2", "hsdp2x2", "tp2", "fsdp+cp2", "pp2")
"""Layouts of two ranks, or four."""


def counted(kinds: Sequence[str] = ()) -> list[CheckedStrategy]:
    """Those whose layout has one of these names; (): all."""
    chosen = [one for one in CONFIGURATIONS if not kinds or one.layout.name in kinds]
    orders = [one.orders() for one in chosen]
    results = iter(counting_process.counted([order for some in orders for order in some]))
    return [
        checked(one.name, some, [next(results) for _ in some]) for one, some in zip(chosen, orders, strict=True)
    ]


def table() -> bool:
    """Print each configuration; whether all are right."""
    found = counted(QUICK if extent.IS_SMALLEST else ())
    print("| counted | exact figures | activations | |\n|---|---|---|---|")
    for one in found:
        figures = [row for row in one.rows if row.what != "activations"]
        errors = [row.predicted / row.counted - 1 for row in one.rows if row.what == "activations"]
        exact = sum(row.is_right for row in figures)
        wrong = "; ".join(f"{row.what} {row.predicted}, not {row.counted}" for row in one.wrong)
        worst = f"{100 * max(errors, key=abs):+.0f} %" if errors else ""
        print(f"| {one.name} | {exact} of {len(figures)} | {worst} | {one.reason or wrong} |")
    right = sum(not one.reason and not one.wrong for one in found)
    print(f"{right} of {len(found)} right")
    return right == len(found)
