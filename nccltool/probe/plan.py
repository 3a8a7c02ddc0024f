"""From a job to its steps: the operations and sizes in the order in which every rank runs them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from nccltool.core.findings import Finding, Subject
from nccltool.core.plugins import PluginFailed
from nccltool.core.text import listed
from nccltool.core.units import format_bytes, format_decimal_bytes
from nccltool.launch import plugin_ends
from nccltool.probe import collectives, memory
from nccltool.probe.collectives.base import ALIGNMENT, Layout
from nccltool.probe.dtypes import ELEMENT_SIZE, why_not
from nccltool.probe.finding_kinds import LEFT_OUT, UNSUPPORTED
from nccltool.probe.job import ProbeJob, Sizes
from nccltool.probe.memory import Room, StepNeeds
from nccltool.probe.result import Placement

DEFAULT_LAST = {"gloo": 16 * 2**20, "nccl": 1 * 2**30}
"""Largest default size: Gloo on CPUs is flat from a few MiB on; NCCL over NVLink still climbs at 256 MiB
(nccl-tests issue 212)."""
DEFAULT_FIRST = 2**10
DEFAULT_FACTOR = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One operation at one size in one placement."""

    index: int
    op: str
    placement: Placement
    layout: Layout


def sizes_in_bytes(sizes: Sizes, backend: str) -> tuple[int, ...]:
    """The nominal sizes of a sweep, ascending for ranges, as given for lists."""
    if sizes.listed:
        return sizes.listed
    last = sizes.last or max(DEFAULT_LAST[backend], sizes.first or 0)
    size, found = sizes.first or min(DEFAULT_FIRST, last), []
    while size <= last:
        found.append(size)
        size = size + sizes.step if sizes.step else size * (sizes.factor or DEFAULT_FACTOR)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Round:
    """What groups of ranks do at the same time."""

    steps: tuple[Step | None, ...]
    """Of each group; None = it is idle."""

    @property
    def running(self) -> int:
        """How many groups have something to do."""
        return sum(step is not None for step in self.steps)

    @property
    def is_alone(self) -> bool:
        """Whether one group runs and the others do not."""
        return self.running == 1


def rounds(
    job: ProbeJob, backend: str, world_sizes: Sequence[int], bytes_for_step: int | None = None
) -> tuple[Round, ...]:
    """The steps of groups of so many ranks: each operation at each size at the same time, and if it is asked for,
    then one group after the other. Steps are numbered through."""
    assert job.split is not None
    by_key: dict[StepKey, list[Step | None]] = {}
    for group, size in enumerate(world_sizes):
        for key, step in _possible(job, backend, size, bytes_for_step):
            by_key.setdefault(key, [None] * len(world_sizes))[group] = step
    found, number = [], count()
    for key in sorted(by_key, key=_place_of(job, backend)):
        together = by_key[key]
        orders = [together]
        if job.split.also_alone and sum(step is not None for step in together) > 1:
            orders += [
                [step if at == group else None for at, step in enumerate(together)]
                for group, mine in enumerate(together)
                if mine is not None
            ]
        for order in orders:
            numbered = tuple(step and replace(step, index=next(number)) for step in order)
            found.append(Round(numbered))
    return tuple(found)


StepKey = tuple[str, int, Placement]
"""Operation, nominal size, and placement."""


def _possible(
    job: ProbeJob, backend: str, world_size: int, bytes_for_step: int | None
) -> Iterator[tuple[StepKey, Step]]:
    for key, step in _all(job, backend, world_size):
        if isinstance(step, Step) and (
            bytes_for_step is None or _needs(job, backend, step).total <= bytes_for_step
        ):
            yield key, step


def _place_of(job: ProbeJob, backend: str) -> Callable[[StepKey], tuple[int, int, str]]:
    """In the order in which one world runs them: groups may leave out different ones."""
    sizes = {size: place for place, size in enumerate(sizes_in_bytes(job.sizes, backend))}
    ops = {op: place for place, op in enumerate(job.ops)}
    return lambda key: (ops[key[0]], sizes[key[1]], key[2])


def steps(job: ProbeJob, backend: str, world_size: int, bytes_for_step: int | None = None) -> tuple[Step, ...]:
    """The steps that can be run in a world of this size, and with so much memory for one (None = enough);
    `left_out` and `too_large` name the others."""
    possible = _possible(job, backend, world_size, bytes_for_step)
    return tuple(replace(step, index=index) for index, (_, step) in enumerate(possible))


def left_out(job: ProbeJob, backend: str, world_sizes: Sequence[int]) -> tuple[Finding, ...]:
    """What `steps` leaves out in worlds of these sizes, and why."""
    every = (out for size in dict.fromkeys(world_sizes) for _, out in _all(job, backend, size))
    return tuple(dict.fromkeys(out for out in every if isinstance(out, Finding)))


def too_large(job: ProbeJob, backend: str, world_size: int, room: Room | None) -> tuple[Finding, ...]:
    """What `steps` leaves out for want of memory: a finding for each operation."""
    if room is None:
        return ()
    found = []
    for op in job.ops:
        needs = {
            step.layout.bytes: needed
            for step in steps(replace(job, ops=(op,)), backend, world_size)
            if (needed := _needs(job, backend, step)).total > room.for_step
        }
        if needs:
            found.append(_too_large(op, needs, room))
    return tuple(found)


def _too_large(op: str, needs: Mapping[int, StepNeeds], room: Room) -> Finding:
    """`needs`: by size in bytes."""
    least = min(needs)
    sizes, needed = listed(map(format_bytes, sorted(needs))), needs[least]
    what = f"{op} at {sizes} was left out"
    which = "it" if len(needs) == 1 else format_bytes(least)
    end = "stop other processes on that GPU" if room.of_gpu else "free memory on that host"
    return LEFT_OUT.finding(
        subject=Subject(kind="operation", name=op),
        message=f"{what}: {which} needs {format_decimal_bytes(needed.total + room.backend)}, but {room.said}",
        evidence=(f"{needed.terms}, backend buffers, and a margin {format_decimal_bytes(room.backend)}",),
        remedy=f"use smaller sizes (-e), or {end}",
    )


def _needs(job: ProbeJob, backend: str, step: Step) -> StepNeeds:
    return memory.of_step(step.op, step.layout, step.placement, ELEMENT_SIZE[job.dtype], backend, bool(job.checks))


def one_left_out(op: str, what: str, reason: str) -> Finding:
    """What is not run of an operation or of the ways to train, and why."""
    return LEFT_OUT.finding(subject=Subject(kind="operation", name=op), message=f"{what} was left out: {reason}")


def _all(job: ProbeJob, backend: str, world_size: int) -> Iterator[tuple[StepKey, Step | Finding]]:
    for op in sorted(job.ops, key=lambda op: collectives.origin(op) is not None):  # what may break comes last
        collective = collectives.get(op)
        if world_size < collective.min_world:
            yield (op, 0, "in-place"), one_left_out(op, op, f"it needs {collective.min_world} ranks")
            continue
        placements = collective.placements[:1]
        if job.placement != "natural":
            placements = tuple(have for have in collective.placements if job.placement in ("both", have))
        if not placements:
            reason = f"torch.distributed offers no {job.placement} form of it"
            yield (op, 0, "in-place"), one_left_out(op, op, reason)
        for size in sizes_in_bytes(job.sizes, backend):
            for placement in placements:
                yield (op, size, placement), _step(job, op, size, placement, world_size)


def _step(job: ProbeJob, op: str, size: int, placement: Placement, world_size: int) -> Step | Finding:
    element_size = ELEMENT_SIZE[job.dtype]
    try:
        layout = collectives.get(op).layout(size // element_size, world_size, element_size)
        collectives.check(op, layout, world_size)
    except PluginFailed as error:
        return plugin_ends.not_measured(op, error.message)
    if not layout.bytes:  # nccl-tests prints such rows, as size 0
        least = f"{ALIGNMENT} B for each of {world_size} ranks" if size >= element_size else "one element"
        return one_left_out(op, f"{op} at {format_bytes(size)}", f"{size} B is less than {least}")
    return Step(0, op, placement, layout)


def before_start(
    job: ProbeJob, backend: str, world_sizes: Sequence[int], room: Room | None
) -> tuple[Finding, ...]:
    """What is to be said of the job when the ranks are known, and nothing has begun. `world_sizes`: of all ranks,
    or of each group."""
    needs = (finding for size in sorted(set(world_sizes)) for finding in too_large(job, backend, size, room))
    return (*unsupported(job, backend), *dict.fromkeys(needs))


def unsupported(job: ProbeJob, backend: str) -> tuple[Finding, ...]:
    """Why the backend cannot do the job, as findings."""
    reason = why_not(backend, job.dtype, job.reduce_op, job.ops)
    if reason is None:
        return ()
    subject = Subject(kind="run", name=f"{job.dtype} {job.reduce_op}")
    return (UNSUPPORTED.finding(subject=subject, message=reason, remedy="choose another -d or -o"),)
