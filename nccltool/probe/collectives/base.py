"""What a collective is: sizes, bus factor, the call, and the data that must come out of it.

Formulas are those of nccl-tests 2.19: `src/<op>.cu` for the counts, `doc/PERFORMANCE.md` and the same
files for the bus factors. Tensors and torch.distributed come in from the worker; nothing here imports torch.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from nccltool.probe.result import Placement
from nccltool.probe.skews import Skew

Tensor = Any
"""A torch.Tensor; torch itself is only imported by the worker."""

ALIGNMENT = 16
"""nccl-tests rounds the per-rank part of scattered operations down to a multiple of 16 bytes."""

ROOT = 0
"""The root of rooted operations (nccl-tests' default)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Elements and bytes of one operation at one size, the same on every rank."""

    send: int
    """Elements of the send buffer."""
    recv: int
    """Elements of the receive buffer."""
    count: int
    """nccl-tests' count column, elements."""
    bytes: int
    """nccl-tests' size column: the S of algbw = S / t."""
    bytes_per_rank: int
    """The part that belongs to one rank."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the receive buffer and the input data that must stand there after the operation."""

    start: int
    length: int
    source: int | None
    """Rank whose input it is; None = the reduction over the inputs of all ranks."""
    source_start: int
    """First element in the source's send buffer."""


class Comm(Protocol):
    """The torch.distributed calls that collectives use, bound to a group (worker/probe/comm.py)."""

    rank: int
    world_size: int

    def all_reduce(self, tensor: Tensor) -> None: ...
    def all_gather(self, recv: Tensor, send: Tensor) -> None: ...
    def reduce_scatter(self, recv: Tensor, send: Tensor) -> None: ...
    def broadcast(self, tensor: Tensor, root: int) -> None: ...
    def reduce(self, tensor: Tensor, root: int) -> None: ...
    def gather(self, send: Tensor, parts: list[Tensor] | None, root: int) -> None: ...
    def scatter(self, recv: Tensor, parts: list[Tensor] | None, root: int) -> None: ...
    def all_to_all(self, recv: Tensor, send: Tensor) -> None: ...
    def all_to_all_v(self, recv: Tensor, send: Tensor, recv_counts: list[int], send_counts: list[int]) -> None: ...
    def exchange(self, send: Tensor, to: int, recv: Tensor, source: int) -> None: ...
    def send(self, tensor: Tensor, to: int) -> None: ...
    def recv(self, tensor: Tensor, source: int) -> None: ...


Homes = Sequence[int]
"""The boundary of each rank: its host, or itself."""
Rates = Sequence[float]
"""Bytes per second of each boundary, each way."""
Call = Callable[[], None]
"""What is timed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Collective:
    """One operation: COLLECTIVE of a module of this folder, whose file has the name of the operation."""

    order: int
    """Its place among the others where several are run or shown."""
    placements: tuple[Placement, ...]
    """Forms that torch.distributed has; the natural one first."""
    nccl_tests: str
    """The program of nccl-tests, without _perf. ping_pong is ours: nccl-tests has no such test."""
    rccl_tests: tuple[str, ...] = ()
    """Its names in the JSON of rccl-tests."""
    reduces: bool = False
    """Takes a reduce op."""
    is_rooted: bool = False
    is_point_to_point: bool = False
    """Carries bytes: also types that Gloo's collectives do not take (float8, torch 2.13)."""
    meets_peers: bool = False
    """Over NCCL made of sends and receives, for which each pair of ranks is connected."""
    copied_by_gloo: Literal["", "send", "recv"] = ""
    """The buffer of which torch or Gloo makes a copy (torch 2.13; resident memory of 4 ranks at 64 MiB)."""
    is_symmetric: bool = False
    """All ranks send and receive the same."""
    is_reduced_by_switches: bool = False
    """A switch that reduces (NVLS, SHARP) can save bytes that least_seconds counts."""
    is_in_all: bool = True
    """`--op all` measures it."""
    under: "Callable[[Skew], Collective] | None" = None
    """The operation under a skew; None = it sends evenly."""
    min_world: int = 1
    """Smallest world in which the call is valid."""
    trips: int = 1
    """One-way trips in one call: the time of one is time / trips."""
    layout: Callable[[int, int, int], Layout]
    """Counts for a nominal size of so many elements, from world size and element size."""
    bus_factor: Callable[[int], float]
    """busbw / algbw, from the world size."""
    least_seconds: Callable[[Homes, Rates], float]
    """Seconds that a size of one byte takes at least (probe/transport.py); 0 = nothing crosses a boundary."""
    bind: Callable[[Comm, Tensor, Tensor], Call]
    """From send and receive buffer to the call to time, with everything prepared that is not part of it."""
    expected: Callable[[int, int, Layout], tuple[Part, ...]]
    """What must stand in a rank's receive buffer afterwards, from rank and world size; what is not named is not
    checked."""


def whole(elements: int, world_size: int, element_size: int) -> Layout:
    """Every rank holds the whole payload."""
    size = elements * element_size
    return Layout(send=elements, recv=elements, count=elements, bytes=size, bytes_per_rank=size)


def per_rank_count(elements: int, world_size: int, element_size: int) -> int:
    """Elements of one rank's part of a payload of `elements`, rounded down to 16 bytes."""
    alignment = max(ALIGNMENT // element_size, 1)
    return elements // world_size // alignment * alignment


def gathered(elements: int, world_size: int, element_size: int) -> Layout:
    """Every rank sends its n-th part; the nominal size is the total that is received."""
    part = per_rank_count(elements, world_size, element_size)
    total = part * world_size
    return Layout(part, total, part, total * element_size, part * element_size)


def scattered(elements: int, world_size: int, element_size: int) -> Layout:
    """Every rank receives its n-th part; the nominal size is the total that is sent."""
    turned = gathered(elements, world_size, element_size)
    return replace(turned, send=turned.recv, recv=turned.send)


def one_link(world_size: int) -> float:
    """1: all data crosses the one link of the root, or one direction is counted (doc/PERFORMANCE.md)."""
    return 1.0


def without_own_part(world_size: int) -> float:
    """(n-1)/n: of a total that is split over the ranks, a rank's own part does not travel (doc/PERFORMANCE.md)."""
    return (world_size - 1) / world_size


def inside(homes: Homes) -> list[int]:
    """How many ranks each boundary has inside."""
    counts = Counter(homes)
    return [counts[home] for home in sorted(counts)]


def slowest(loads: Sequence[float], rates: Rates) -> float:
    """Seconds of the boundary that takes longest for its bytes."""
    return max(load / rate for load, rate in zip(loads, rates, strict=True))


def all_of_it(homes: Homes, rates: Rates) -> float:
    """S enters or leaves each boundary."""
    return 1 / min(rates)


def parts_across(homes: Homes, rates: Rates) -> float:
    """S (n-g)/n one way, S g/n the other: every rank's n-th part must reach all others, or the other way round."""
    world = len(homes)
    return slowest([max(world - count, count) / world for count in inside(homes)], rates)


def parts_of_root(homes: Homes, rates: Rates) -> float:
    """S (n-g)/n at the root, S g/n elsewhere: the parts travel between the root and all others."""
    world, root = len(homes), sorted(set(homes)).index(homes[ROOT])
    loads = [(world - count if place == root else count) / world for place, count in enumerate(inside(homes))]
    return slowest(loads, rates)


def all_parts(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """Chunk i is the input of rank i."""
    return tuple(Part(i * layout.count, layout.count, i, 0) for i in range(world_size))
