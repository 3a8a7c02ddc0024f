"""From a job to its steps: the operations and sizes in the order in which every rank runs them."""

from collections.abc import Iterator
from dataclasses import dataclass

from nccltool import collectives
from nccltool.collectives.base import Layout
from nccltool.dtypes import ELEMENT_SIZE
from nccltool.model import Job, Sizes

DEFAULT_LAST = {"gloo": 16 * 2**20, "nccl": 1 * 2**30}
"""Largest default size: Gloo on CPUs is flat from a few MiB on; NCCL over NVLink still climbs at 256 MiB
(nccl-tests issue 212)."""
DEFAULT_FIRST = 2**10
DEFAULT_FACTOR = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One operation at one size."""

    index: int
    op: str
    layout: Layout


def sizes_in_bytes(sizes: Sizes, backend: str) -> tuple[int, ...]:
    """The nominal sizes of a sweep, ascending for ranges, as given for lists."""
    if sizes.listed:
        return sizes.listed
    last = sizes.last or max(DEFAULT_LAST[backend], sizes.first or 0)
    first = sizes.first or min(DEFAULT_FIRST, last)
    return tuple(_grow(first, last, sizes.factor or DEFAULT_FACTOR, sizes.step))


def _grow(first: int, last: int, factor: int, step: int | None) -> Iterator[int]:
    size = first
    while size <= last:
        yield size
        size = size + step if step else size * factor


def steps(job: Job, backend: str, world_size: int) -> tuple[Step, ...]:
    """The steps that can be run in a world of this size.

    Left out: operations that need more ranks, and sizes whose per-rank part rounds down to nothing
    (nccl-tests prints those as rows of size 0); `left_out` names them.
    """
    return tuple(
        Step(index, op, layout)
        for index, (op, _, layout) in enumerate(
            (op, size, layout) for op, size, layout in _all(job, backend, world_size) if layout is not None
        )
    )


def left_out(job: Job, backend: str, world_size: int) -> tuple[tuple[str, int], ...]:
    """(operation, nominal bytes) that `steps` leaves out."""
    return tuple((op, size) for op, size, layout in _all(job, backend, world_size) if layout is None)


def _all(job: Job, backend: str, world_size: int) -> Iterator[tuple[str, int, Layout | None]]:
    element_size = ELEMENT_SIZE[job.dtype]
    for op in job.ops:
        collective = collectives.get(op)
        for size in sizes_in_bytes(job.sizes, backend):
            layout = collective.layout(size // element_size, world_size, element_size)
            possible = world_size >= collective.MIN_WORLD and layout.bytes > 0
            yield op, size, layout if possible else None
