"""From the words of the command line to a Job; every word that cannot be used is one clear sentence."""

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nccltool import collectives, dtypes, faults, plan, runs
from nccltool.errors import BadInput
from nccltool.facts import gpu
from nccltool.launchers import inside
from nccltool.model import Job, Sizes
from nccltool.units import parse_bytes

_COUNT_DIGITS = 4
"""No host has more GPUs or cores than this many digits."""
RANKS_WITHOUT_GPU = 2
"""Ranks on the only node when there is no GPU: one rank has nobody to talk to."""

MOST_SIZES = 10_000
"""More is a slip of the keyboard: -b 8 -e 1G -i 8 would be 134 million."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """A job, and this command's part in it."""

    job: Job
    leads: bool
    """Rank 0 is ours: we judge and show."""
    ranks_seen: int
    """Ranks whose events reach us."""


def from_options(options: Mapping[str, Any], env: Mapping[str, str] = os.environ) -> Order:
    """The order that the options of `nccltool probe` describe. Raises BadInput."""
    place = inside.detect(env, options["rdzv_endpoint"] or "")
    where = _inside(place, options) if place else _here(options, env)
    fault = env.get(faults.VARIABLE, "")
    drill = faults.parse(fault)
    if drill is not None and not place and drill.rank >= (where.nodes or 1) * (where.nproc or 1):
        raise BadInput(f"{faults.VARIABLE}: there is no rank {drill.rank} in this run", "ranks are counted from 0")
    word = options["dtype"]
    dtype = _known("--dtype", dtypes.ALIASES.get(word, word), dtypes.ELEMENT_SIZE)
    reduce_op = _known("--reduce-op", options["reduce_op"], dtypes.REDUCE_OPS)
    ops = _ops(options["ops"])
    auto = "nccl" if gpu.count(env) else "gloo"
    likely = auto if options["backend"] == "auto" else options["backend"]
    reason = dtypes.why_not(likely, dtype, reduce_op, ops)
    if reason:
        raise BadInput(f"-d {dtype} -o {reduce_op}: {reason}", "choose another -d, -o or --op")
    job = Job(
        run_id=runs.new_id(),
        ops=ops,
        sizes=_sizes(options),
        dtype=dtype,
        reduce_op=reduce_op,
        iterations=options["iterations"],
        warmup=options["warmup"],
        precision=options["precision"] / 100,
        budget_s=options["budget"],
        cadence=options["cadence"],
        placement=options["placement"],
        cuda_graph=_cuda_graph(options, env),
        checks=options["checks"],
        backend=options["backend"],
        timeout_s=options["timeout"],
        join_timeout_s=options["join_timeout"],
        deadline_s=options["deadline"],
        endpoint=options["rdzv_endpoint"] or "",
        fault=fault,
        nodes=where.nodes,
        nproc_per_node=where.nproc,
        emulated=where.emulated,
        node_ranks=where.node_ranks,
    )
    return Order(job=job, leads=where.leads, ranks_seen=where.ranks_seen)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Where:
    nodes: int | None
    nproc: int | None
    node_ranks: tuple[int, ...]
    emulated: bool
    leads: bool
    ranks_seen: int


def _inside(place: inside.Place, options: Mapping[str, Any]) -> _Where:
    if options["node_rank"] is not None:
        raise BadInput(
            f"--node-rank has no meaning inside a job that {place.launcher} started",
            "leave it out: the launcher has numbered the ranks",
        )
    nproc = options["nproc_per_node"]
    return _Where(
        nodes=options["nodes"],
        nproc=None if nproc in (None, "auto") else _count("--nproc-per-node", nproc),
        node_ranks=(),
        emulated=False,
        leads=place.rank == 0,
        ranks_seen=place.world_size if place.rank == 0 else 1,
    )


def _here(options: Mapping[str, Any], env: Mapping[str, str]) -> _Where:
    nodes = options["nodes"] or 1
    nproc = _nproc(options["nproc_per_node"], nodes, env)
    node_rank, endpoint = options["node_rank"], options["rdzv_endpoint"]
    if node_rank is None and not endpoint:
        every = tuple(range(nodes))
        return _Where(
            nodes=nodes,
            nproc=nproc,
            node_ranks=every,
            emulated=nodes > 1,
            leads=True,
            ranks_seen=nodes * nproc,
        )
    if node_rank is None or not endpoint:
        given, lacking = ("--node-rank", "--rdzv-endpoint") if not endpoint else ("--rdzv-endpoint", "--node-rank")
        raise BadInput(f"{given} needs {lacking} too", "on every host: --node-rank R --rdzv-endpoint HOST:PORT")
    inside.parse_endpoint(endpoint)
    if node_rank >= nodes:
        raise BadInput(f"--node-rank {node_rank} is not under --nodes {nodes}", "node ranks go from 0 to N-1")
    leads = node_rank == 0
    seen = nodes * nproc if leads else nproc
    return _Where(nodes=nodes, nproc=nproc, node_ranks=(node_rank,), emulated=False, leads=leads, ranks_seen=seen)


def _nproc(text: str | None, nodes: int, env: Mapping[str, str]) -> int:
    if text not in (None, "auto"):
        assert text is not None
        return _count("--nproc-per-node", text)
    return gpu.count(env) or (1 if nodes > 1 else RANKS_WITHOUT_GPU)


def _count(option: str, text: str) -> int:
    if not text.isdecimal() or len(text) > _COUNT_DIGITS or int(text) < 1:
        raise BadInput(f"{option} {text[:20]!r} is not a number of ranks", f"{option} 8, or {option} auto")
    return int(text)


def _ops(text: str) -> tuple[str, ...]:
    if text.strip() == "all":
        return collectives.NAMES
    words = [word.strip().replace("-", "_") for word in text.split(",")]
    return tuple(dict.fromkeys(_known("--op", word, collectives.NAMES) for word in words))


def _known(option: str, word: str, known: Iterable[str]) -> str:
    names = tuple(known)
    if word in names:
        return word
    near = difflib.get_close_matches(word, names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise BadInput(f"{option}: {word!r} is not known", f"{hint}choose from {', '.join(names)}")


def _sizes(options: Mapping[str, Any]) -> Sizes:
    listed = options["sizes"]
    first, last = _size("--min-bytes", options["min_bytes"]), _size("--max-bytes", options["max_bytes"])
    step, factor = _size("--step-bytes", options["step_bytes"]), options["step_factor"]
    if listed is not None and any(value is not None for value in (first, last, step, factor)):
        raise BadInput("--sizes cannot be combined with -b, -e, -f or -i", "use one or the other")
    if step is not None and factor is not None:
        raise BadInput("-i and -f cannot be combined", "use -f 2 to multiply, or -i 1MiB to add")
    if first is not None and last is not None and first > last:
        raise BadInput(f"-b {options['min_bytes']} is above -e {options['max_bytes']}", "swap them")
    if step is not None and ((last or min(plan.DEFAULT_LAST.values())) - (first or 0)) // step > MOST_SIZES:
        raise BadInput(
            f"-i {options['step_bytes']} makes more than {MOST_SIZES} sizes", "use a larger -i, or -f 2"
        )
    if listed is not None:
        return Sizes(listed=tuple(_required("--sizes", word) for word in listed.split(",")))
    return Sizes(first=first, last=last, factor=factor, step=step)


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


def _cuda_graph(options: Mapping[str, Any], env: Mapping[str, str]) -> bool:
    wanted = bool(options["cuda_graph"])
    if wanted and (options["backend"] == "gloo" or gpu.count(env) == 0):
        raise BadInput("--cuda-graph needs NCCL and a GPU on every rank", "leave it out on CPUs")
    if wanted and options["cadence"] == "isolated":
        raise BadInput("--cuda-graph cannot be combined with --cadence isolated", "use one or the other")
    return wanted
