"""From a job to its steps: the operations and sizes in the order in which every rank runs them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

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


def steps(job: ProbeJob, backend: str, world_size: int, bytes_for_step: int | None = None) -> tuple[Step, ...]:
    """The steps that can be run in a world of this size, and with so much memory for one (None = enough);
    `left_out` and `too_large` name the others."""
    possible = [step for step in _all(job, backend, world_size) if isinstance(step, Step)]
    if bytes_for_step is not None:
        possible = [step for step in possible if _needs(job, backend, step).total <= bytes_for_step]
    return tuple(replace(step, index=index) for index, step in enumerate(possible))


def left_out(job: ProbeJob, backend: str, world_size: int) -> tuple[Finding, ...]:
    """What `steps` leaves out, and why."""
    return tuple(dict.fromkeys(out for out in _all(job, backend, world_size) if isinstance(out, Finding)))


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


def _all(job: ProbeJob, backend: str, world_size: int) -> Iterator[Step | Finding]:
    for op in sorted(job.ops, key=lambda op: collectives.origin(op) is not None):  # what may break comes last
        collective = collectives.get(op)
        if world_size < collective.min_world:
            yield one_left_out(op, op, f"it needs {collective.min_world} ranks")
            continue
        placements = collective.placements[:1]
        if job.placement != "natural":
            placements = tuple(have for have in collective.placements if job.placement in ("both", have))
        if not placements:
            yield one_left_out(op, op, f"torch.distributed offers no {job.placement} form of it")
        for size in sizes_in_bytes(job.sizes, backend):
            for placement in placements:
                yield _step(job, op, size, placement, world_size)


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


def before_start(job: ProbeJob, backend: str, world_size: int, room: Room | None) -> tuple[Finding, ...]:
    """What is to be said of the job when the ranks are known, and nothing has begun."""
    return (*unsupported(job, backend), *too_large(job, backend, world_size, room))


def unsupported(job: ProbeJob, backend: str) -> tuple[Finding, ...]:
    """Why the backend cannot do the job, as findings."""
    reason = why_not(backend, job.dtype, job.reduce_op, job.ops)
    if reason is None:
        return ()
    subject = Subject(kind="run", name=f"{job.dtype} {job.reduce_op}")
    return (UNSUPPORTED.finding(subject=subject, message=reason, remedy="choose another -d or -o"),)
