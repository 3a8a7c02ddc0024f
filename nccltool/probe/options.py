"""From the words of the command line to an order; every word that cannot be used is one clear sentence."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nccltool.core import run_directory
from nccltool.core.errors import BadInput
from nccltool.core.text import counted, named
from nccltool.core.units import parse_bytes
from nccltool.core.unknown_names import unknown
from nccltool.launch import fault_injection
from nccltool.launch.launchers.base import LaunchPlan
from nccltool.launch.options import StartOptions
from nccltool.launch.order import LaunchOrder, joined, likely_backend, ordered, plan_launch
from nccltool.probe import collectives, dtypes, plan, skews
from nccltool.probe.job import ProbeJob, Sizes
from nccltool.probe.result import Cadence
from nccltool.probe.split import LEAST_RANKS, Split
from nccltool.probe.split_reader import Leaves, split_of

MOST_SIZES = 10_000
"""More is a slip of the keyboard: -b 8 -e 1G -i 8 would be 134 million."""
_MOST_SKEWS = 8
"""The limits of all operations fit an event."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeOptions:
    """The options of `nccltool probe` as they were given; a field has the name of its option."""

    start: StartOptions
    ops: str
    min_bytes: str | None
    max_bytes: str | None
    step_factor: int | None
    step_bytes: str | None
    sizes: str | None
    dtype: str
    reduce_op: str
    iterations: int | None
    warmup: int | None
    precision: float
    """In %."""
    budget: float
    cadence: Cadence
    placement: Literal["natural", "in-place", "out-of-place", "both"]
    cuda_graph: bool
    checks: int
    skew: str | None = None
    split: str | None = None
    also_alone: bool = False
    leaves: Callable[[], Leaves | None] | None = None
    """Reads --topology, and finds None where racks in names are meant; None = the option is not there."""


def from_options(options: ProbeOptions, env: Mapping[str, str] = os.environ) -> LaunchOrder[ProbeJob]:
    """The order that the options of `nccltool probe` describe. Raises BadInput."""
    start = joined(options.start, env)
    where = plan_launch(start, env)
    return ordered(_job(options, where), start, where)


def _job(options: ProbeOptions, where: LaunchPlan) -> ProbeJob:
    dtype, reduce_op, ops = _what(options, where)
    return ProbeJob(
        run_id=run_directory.new_id(),
        ops=ops,
        sizes=_whole_elements(_sizes(options), dtype),
        dtype=dtype,
        reduce_op=reduce_op,
        iterations=options.iterations,
        warmup=options.warmup,
        precision=options.precision / 100,
        budget_s=options.budget,
        cadence=options.cadence,
        placement=options.placement,
        cuda_graph=_cuda_graph(options, where),
        checks=options.checks,
        fault=_fault(options.start.fault, where),
        split=_split(options, where, ops),
    )


def _split(options: ProbeOptions, where: LaunchPlan, ops: Sequence[str]) -> Split | None:
    split = split_of(options.split, also_alone=options.also_alone, leaves=options.leaves)
    if split is not None and (foreign := [op for op in ops if collectives.origin(op) is not None]):
        raise BadInput(f"--split cannot run {foreign[0]}, an operation of a plug-in", "leave it out of --op")
    if split is not None and split.by in ("node", "nodes") and where.nodes is not None:
        if max(split.nodes, 1) >= where.nodes:
            problem = f"--split {split.word}: with {counted(where.nodes, 'node')}, there is one group"
            raise BadInput(problem, "start more nodes (--nodes), or omit --split")
        if split.nodes <= 1 and where.nproc == 1:
            problem = f"--split {split.word}: with one rank per node, no group has two ranks"
            raise BadInput(problem, "start more ranks (--nproc-per-node), or make larger groups: --split 2")
    if split is not None and split.by == "file" and where.ranks is not None:
        _ranks_there(split, where.ranks)
    if split is not None and split.by == "rail" and where.nodes == 1:
        raise BadInput("--split rail: with one node, each rail has one rank", "start more nodes: --nodes, --hosts")
    if split is not None and split.by == "rail" and where.nproc == 1:
        raise BadInput("--split rail: with one rank per node, there is one rail", "start more: --nproc-per-node")
    return split


def _ranks_there(split: Split, ranks: int) -> None:
    for group in split.members:
        if too_high := [rank for rank in group.ranks if rank >= ranks]:
            problem = f"{group.where}: there is no rank {too_high[0]}; ranks are 0 to {ranks - 1}"
            raise BadInput(problem, "correct the number, or start more ranks")
    usable = [group for group in split.members if group.hosts or len(group.ranks) >= LEAST_RANKS]
    if len(usable) < 2:
        problem = f"--split {split.word}: at least two groups of two or more ranks are needed"
        raise BadInput(problem, "write larger groups, or more of them")


def _fault(text: str, where: LaunchPlan) -> str:
    fault = fault_injection.parse(text)
    if fault is not None and fault.action in fault_injection.OF_TRAININGS:
        problem = f"{fault_injection.VARIABLE}: {fault.action} is for nccltool train"
        raise BadInput(problem, "in probe, use corrupt")
    return fault_injection.checked(text, where.ranks)


def _what(options: ProbeOptions, where: LaunchPlan) -> tuple[str, str, tuple[str, ...]]:
    """Type, reduction and operations; whether the backend has them, where it can be told from here."""
    word = options.dtype
    dtype = _known("--dtype", "type", dtypes.canonical(word), dtypes.ELEMENT_SIZE)
    reduce_op = _known("--reduce-op", "reduction", dtypes.reduction(options.reduce_op), dtypes.REDUCE_OPS)
    words = collectives.IN_ALL if options.ops.strip() == "all" else options.ops.split(",")
    ops = _skewed(tuple(dict.fromkeys(_operation(word.strip()) for word in words)), options.skew)
    backend = likely_backend(options.start, where)  # where it is not known, rank 0 says so before it measures
    reason = dtypes.why_not(backend, dtype, reduce_op, ops) if backend else ""
    if reason:
        raise BadInput(f"-d {dtype} -o {reduce_op}: {reason}", "choose another -d, -o, or --op")
    return dtype, reduce_op, ops


def _skewed(ops: tuple[str, ...], skew: str | None) -> tuple[str, ...]:
    """Those that can send unevenly, once under each skew."""
    if skew is None:
        return ops
    if not any(collectives.get(op).under for op in ops):
        able = [op for op in collectives.NAMES if collectives.get(op).under]
        raise BadInput(f"--skew does not apply to {named(ops, 3)}", f"use --op {','.join(able)}")
    try:
        words = [skews.parse(word.strip()).word for word in skew.split(",")]
    except BadInput as error:
        raise BadInput(f"--skew: {error.message}", error.remedy) from error
    if len(words) > _MOST_SKEWS:
        raise BadInput(f"--skew: {len(words)} skews are too many", f"use at most {_MOST_SKEWS} at a time")
    suffixes = dict.fromkeys("" if word == skews.UNIFORM else f":{word}" for word in words)
    return tuple(f"{op}{suffix}" for op in ops for suffix in (suffixes if collectives.get(op).under else ("",)))


def _operation(word: str) -> str:
    if dtypes.reduction(word) in dtypes.REDUCE_OPS:  # what --op means in nccl-tests
        raise BadInput(f"--op: {word} is a reduction", f"use -o {word}")
    return _known("--op", "operation", collectives.canonical(word), collectives.NAMES)


def _known(option: str, what: str, word: str, known: Iterable[str]) -> str:
    names = tuple(known)
    if word in names:
        return word
    raise unknown(what, word, names, option=option)


def _sizes(options: ProbeOptions) -> Sizes:
    listed = options.sizes
    first, last = _size("--min-bytes", options.min_bytes), _size("--max-bytes", options.max_bytes)
    step, factor = _size("--step-bytes", options.step_bytes), options.step_factor
    if listed is not None and any(value is not None for value in (first, last, step, factor)):
        raise BadInput("--sizes cannot be combined with -b, -e, -f, or -i", "use one or the other")
    if step is not None and factor is not None:
        raise BadInput("-i and -f cannot be combined", "use -f 2 to multiply or -i 1MiB to add")
    if first is not None and last is not None and first > last:
        raise BadInput(f"-b {options.min_bytes} is above -e {options.max_bytes}", "swap them")
    if step is not None and ((last or min(plan.DEFAULT_LAST.values())) - (first or 0)) // step > MOST_SIZES:
        raise BadInput(f"-i {options.step_bytes} makes more than {MOST_SIZES} sizes", "use a larger -i or -f 2")
    if listed is not None:
        return Sizes(listed=tuple(_required("--sizes", word) for word in listed.split(",")))
    return Sizes(first=first, last=last, factor=factor, step=step)


def _whole_elements(sizes: Sizes, dtype: str) -> Sizes:
    """The sizes, when each is a whole number of elements."""
    element = dtypes.ELEMENT_SIZE[dtype]
    given = (*(("--sizes", size) for size in sizes.listed), ("-b", sizes.first), ("-i", sizes.step))
    for option, size in given:
        if size and size % element:
            problem = f"{option}: {size} B is not a whole number of {dtype} elements of {element} B"
            raise BadInput(problem, f"use a multiple of {element} or another -d")
    return sizes


def _size(option: str, text: str | None) -> int | None:
    return None if text is None else _required(option, text)


def _required(option: str, text: str) -> int:
    try:
        size = parse_bytes(text)
    except BadInput as error:
        raise BadInput(f"{option}: {error.message}", error.remedy) from error
    if size == 0:
        raise BadInput(f"{option}: a size of 0 bytes measures nothing", "start at 8 bytes: -b 8")
    return size


def _cuda_graph(options: ProbeOptions, where: LaunchPlan) -> bool:
    wanted = options.cuda_graph
    if wanted and (where.on_gpus is False or options.start.backend == "gloo"):
        raise BadInput("--cuda-graph needs NCCL or RCCL, and a GPU on every rank", "omit it on CPUs")
    if wanted and options.cadence == "isolated":
        raise BadInput("--cuda-graph cannot be combined with --cadence isolated", "use one or the other")
    return wanted
