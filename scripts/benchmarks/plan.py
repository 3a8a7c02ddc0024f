"""Are planned memory and speed those that others published? Every figure is of a public repository, by its place
there.

    scripts/bench plan [--write]

--write puts the tables of published runs into docs/plan.md, between their marks. Memory is what torch reserved on
a GPU, or had in use where a row says so. Where a source does not say how something was set, the row says what is
assumed.
"""

import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import plan_counts
from nccltool.core.units import format_seconds
from nccltool.plan import choice, machines, memory, models, search, step_time
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.plan.recipe import OPTIMIZERS, PRECISIONS, Recipe, Recompute

_TITAN = "pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan.md"
_AO = "pytorch/ao README tables of float8, MI300X, and B200"
_FOUNDRY = "mosaicml/llm-foundry scripts/train/benchmarking, H100 80 GB"
_PAGE = Path(__file__).resolve().parents[2] / "docs" / "plan.md"
_MEMORY_TARGET, _SPEED_TARGET = 0.10, 0.25


@dataclass(frozen=True, kw_only=True)
class Published:
    """A run that somebody published."""

    name: str
    model: str
    layout: ParallelLayout
    batch: int
    """Sequences of a step on each data-parallel rank."""
    sequence: int = 8192
    is_loss_compiled: bool = False
    gib: float | None = None
    tokens_per_s: float | None = None
    """Of a GPU."""
    machine: str = "h100-sxm-8"
    source: str
    note: str = ""
    speed_note: str = ""
    precision: str = "mixed"
    is_in_use: bool = False
    """The memory is what was in use at the peak, without what the allocator reserved."""

    @property
    def recipe(self) -> Recipe:
        return Recipe(
            precision=PRECISIONS[self.precision],
            optimizer=OPTIMIZERS["adamw-fused"],
            sequence=self.sequence,
            global_batch=self.batch * self.layout.data,
            is_loss_compiled=self.is_loss_compiled,
        )


def _fsdp(shard: int, micro_batch: int, recompute: Recompute, context: int = 1) -> ParallelLayout:
    return ParallelLayout(
        shard=shard, sharding="parameters", micro_batch=micro_batch, recompute=recompute, context=context
    )


def _llama(
    name: str,
    layout: ParallelLayout,
    gib: float,
    speed: float | None = None,
    *,
    source: str = _TITAN,
    sequence: int = 8192,
    machine: str = "h100-sxm-8",
    is_loss_compiled: bool = False,
    note: str = "",
    speed_note: str = "",
) -> Published:
    """Of Llama 3 8B, a micro-batch per step."""
    return Published(
        name=name,
        model="llama-3-8b",
        layout=layout,
        batch=layout.micro_batch,
        gib=gib,
        tokens_per_s=speed,
        source=source,
        sequence=sequence,
        machine=machine,
        is_loss_compiled=is_loss_compiled,
        note=note,
        speed_note=speed_note,
    )


_SAC: Recompute = "selective"
_LOGITS = "its loss may store no logits at all"
_ASSUMED = "1 sequence is assumed"
_TITANS = (
    _llama("8B, 8 GPUs, 2 sequences, eager", _fsdp(8, 2, _SAC), 82.4, 5762, note="fitted"),
    _llama("8B, 8 GPUs, 2 sequences, compiled", _fsdp(8, 2, _SAC), 77.0, 6667, note="fitted"),
    _llama("8B, 128 GPUs, 2 sequences, eager", _fsdp(128, 2, _SAC), 67.0, 5605),
    _llama("8B, 128 GPUs, 2 sequences, compiled", _fsdp(128, 2, _SAC), 62.0, 6514, note="fitted"),
    _llama("8B, 32 Ki tokens, full recomputation", _fsdp(8, 1, "full"), 83.9, sequence=2**15),
    _llama("8B, 64 Ki tokens, cp 2", _fsdp(4, 1, "full", 2), 84.2, sequence=2**16),
    _llama("8B, 128 Ki tokens, cp 4", _fsdp(2, 1, "full", 4), 84.0, sequence=2**17),
    _llama("8B, 256 Ki tokens, cp 8", _fsdp(1, 1, "full", 8), 84.5, sequence=2**18),
    _llama("8B on 32 H200", _fsdp(32, 2, _SAC), 47.96, is_loss_compiled=True, machine="h200-sxm-8"),
    _llama("8B on 64 H200", _fsdp(64, 2, _SAC), 46.97, is_loss_compiled=True, machine="h200-sxm-8"),
    _llama("8B, 8 GPUs, 1 sequence", _fsdp(8, 1, _SAC), 47.65, 6150, source=_AO, note="fitted"),
    _llama(
        "8B on 8 MI300X", _fsdp(8, 1, _SAC), 39.09, 5376, source=_AO, is_loss_compiled=True, machine="mi300x-8"
    ),
    _llama(
        "8B on 8 B200 with less power",
        _fsdp(8, 1, _SAC),
        33.71,
        8307,
        source=_AO,
        is_loss_compiled=True,
        machine="b200-sxm-8",
        note=_LOGITS,
        speed_note="less power, early software: see below",
    ),
    _llama("8B, 4 Ki tokens, eager", _fsdp(8, 1, "none"), 53.12, 5339, source=_AO, sequence=4096, note=_ASSUMED),
    _llama(
        "8B, 4 Ki tokens, eager, full recomputation",
        _fsdp(8, 1, "full"),
        28.07,
        4502,
        source=_AO,
        sequence=4096,
        note=_ASSUMED,
    ),
    Published(
        name="70B, 256 GPUs, tp 8",
        model="llama-3-70b",
        batch=16,
        gib=71.9,
        source=_TITAN,
        layout=ParallelLayout(shard=32, sharding="parameters", micro_batch=16, recompute="full", tensor=8),
        note="float8, whose copies are not modeled",
    ),
    Published(
        name="405B, 512 GPUs, tp 8, pp 8",
        model="llama-3-405b",
        batch=32,
        gib=82.5,
        source=_TITAN,
        layout=ParallelLayout(shard=8, sharding="parameters", recompute="full", tensor=8, pipeline=8),
        note="float8; recomputation and micro-batch are assumed",
    ),
)

_TUNE = "pytorch/torchtune README, Llama 3.2 3B on an A100"


def _tuned(name: str, gib: float, recompute: Recompute, is_loss_compiled: bool) -> Published:
    """Of Llama 3.2 3B in bfloat16 on one GPU, two packed sequences of 4 Ki tokens."""
    return Published(
        name=f"3B, 1 GPU, {name}",
        model="llama-3.2-3b",
        layout=ParallelLayout(micro_batch=2, recompute=recompute),
        batch=2,
        sequence=4096,
        gib=gib,
        source=_TUNE,
        machine="a100-80-8",
        precision="bf16",
        is_loss_compiled=is_loss_compiled,
        is_in_use=True,
        note="in use",
    )


MEMORY = (
    *_TITANS,
    _tuned("eager", 60.0, "none", False),
    _tuned("compiled", 51.0, "none", True),
    _tuned("compiled, chunked loss, full recomputation", 24.9, "full", True),
)

_MPT = {
    "MPT 1B": (24, 2048, 16),
    "MPT 3B": (32, 2560, 32),
    "MPT 7B": (32, 4096, 32),
    "MPT 13B": (40, 5120, 40),
    "MPT 30B": (48, 7168, 56),
    "MPT 70B": (80, 8192, 64),
}
"""Layers, width, heads."""


def _mpt(name: str, gpus: int, micro_batch: int, recompute: Recompute, speed: float) -> Published:
    return Published(
        name=f"{name}, {gpus} GPUs",
        model=name,
        layout=_fsdp(gpus, micro_batch, recompute),
        batch=micro_batch,
        sequence=2048,
        tokens_per_s=speed,
        source=_FOUNDRY,
    )


SPEED = (
    *(row for row in MEMORY if row.tokens_per_s and "eager" not in row.name),
    _mpt("MPT 7B", 8, 6, "none", 10643),
    _mpt("MPT 7B", 128, 6, "none", 10475),
    _mpt("MPT 7B", 512, 6, "none", 9670),
    _mpt("MPT 13B", 8, 2, "none", 4792),
    _mpt("MPT 13B", 64, 2, "none", 4800),
    _mpt("MPT 13B", 128, 16, "full", 5080),
    _mpt("MPT 30B", 8, 3, "full", 2002),
    _mpt("MPT 30B", 128, 10, "full", 2199),
    _mpt("MPT 70B", 64, 8, "full", 1039),
    _mpt("MPT 70B", 512, 8, "full", 1007),
    _mpt("MPT 1B", 128, 12, "none", 44123),
    _mpt("MPT 3B", 128, 12, "none", 23422),
)


def model_of(name: str) -> Model:
    if name not in _MPT:
        return models.of_word(name)
    layers, width, heads = _MPT[name]
    return Model(
        name=name,
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=heads,
        head_width=width // heads,
        hidden=4 * width,
        vocabulary=50368,
        is_tied=True,
        block="gpt",
        is_gated=False,
    )


def planned_gib(row: Published) -> float:
    """What torch reserves or has in use, as planned."""
    needed = memory.of(model_of(row.model), row.layout, row.recipe)
    return (needed.allocated if row.is_in_use else needed.reserved) / 2**30


def planned_speed(row: Published) -> float:
    """Tokens per second and GPU, as planned."""
    machine = machines.of_word(row.machine)
    time = step_time.of(model_of(row.model), row.layout, row.recipe, machine, step_time.EFFICIENCY[1])
    return row.recipe.tokens / time.total / row.layout.gpus


def main(options: Sequence[str] = ()) -> bool:
    """Print each row; whether most are within the targets."""
    is_written = list(options) == ["--write"]
    if options and not is_written:
        sys.exit(__doc__)
    good = True
    for mark, table, is_good in tables():
        print("\n".join(table))
        good &= is_good
        if is_written:
            _write(mark, table)
    if is_written:
        return good
    _search()
    return plan_counts.table() and good


def tables() -> Iterator[tuple[str, list[str], bool]]:
    """Of memory and of speed: the name of its marks in docs/plan.md, its lines, and whether most are right."""
    memory_rows = [(row, row.gib, planned_gib(row)) for row in MEMORY if row.gib]
    speed_rows = [(row, row.tokens_per_s, planned_speed(row)) for row in SPEED if row.tokens_per_s]
    yield "memory", *_table("GiB reserved", memory_rows, _MEMORY_TARGET)
    yield "speed", *_table("tokens/s/GPU", speed_rows, _SPEED_TARGET)


def _table(what: str, rows: Sequence[tuple[Published, float, float]], target: float) -> tuple[list[str], bool]:
    lines = [f"| {what} | published | planned | error | |", "|---|---|---|---|---|"]
    errors = []
    for row, published, planned in rows:
        errors.append(planned / published - 1)
        note = row.note if what.startswith("GiB") else row.speed_note
        lines.append(
            f"| {row.name} | {_figure(published)} | {_figure(planned)} | {100 * errors[-1]:+.0f} % | {note} |"
        )
    sizes = sorted(map(abs, errors))
    within = sum(size <= target for size in sizes)
    lines += [
        "",
        f"{within} of {len(sizes)} are within {100 * target:.0f} %, with a median error of "
        f"{100 * statistics.median(sizes):.1f} % and a largest one of {100 * sizes[-1]:.0f} %.",
    ]
    return lines, within >= 0.75 * len(sizes)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.4g}"


def _write(mark: str, lines: Sequence[str]) -> None:
    """Between two comments of the page."""
    first, last = f"<!-- {mark}: written by scripts/bench plan --write -->", f"<!-- end of {mark} -->"
    text = _PAGE.read_text()
    before, _, rest = text.partition(first)
    _, found, after = rest.partition(last)
    assert found, f"{_PAGE} has no {first} ... {last}"
    _PAGE.write_text("\n".join((before + first, "", *lines, "", last)) + after)


def _search() -> None:
    """How long plans take that look at most layouts."""
    import time

    for word, gpus in (("llama-3-8b", 64), ("llama-3-405b", 16384), ("deepseek-v3", 2048)):
        recipe = Recipe(
            precision=PRECISIONS["mixed"], optimizer=OPTIMIZERS["adamw"], sequence=8192, global_batch=4 * gpus
        )
        began = time.perf_counter()
        wanted = search.Wanted(gpus=gpus)
        _, searched = choice.planned(models.of_word(word), recipe, machines.of_word(machines.USUAL), None, wanted)
        print(f"{word} on {gpus} GPUs: {searched} layouts in {format_seconds(time.perf_counter() - began)}")
