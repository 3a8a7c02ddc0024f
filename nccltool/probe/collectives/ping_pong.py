"""ping_pong: pairs of ranks half the world apart send a message there and back; the time is one way."""

from collections.abc import Callable

from nccltool.probe.collectives.base import Comm, Layout, Part, Tensor, whole
from nccltool.probe.result import Placement

NAME = "ping_pong"
REDUCES = False
PLACEMENTS: tuple[Placement, ...] = ("out-of-place",)
MIN_WORLD = 2
TRIPS = 2


def layout(elements: int, world_size: int, element_size: int) -> Layout:
    """Every rank holds `elements`."""
    return whole(elements, element_size)


def bus_factor(world_size: int) -> float:
    """1: one message on one link at a time."""
    return 1.0


def partner(rank: int, world_size: int) -> int | None:
    """The rank that `rank` plays with, or None for the odd one out.

    Partners are half the world apart, so that with several nodes (ranks numbered node by node) the
    messages cross between nodes. nccl-tests has no such test.
    """
    half = world_size // 2
    if rank >= 2 * half:
        return None
    return rank + half if rank < half else rank - half


def bind(comm: Comm, send: Tensor, recv: Tensor) -> Callable[[], None]:
    """The lower half sends first; the upper half answers."""
    other = partner(comm.rank, comm.world_size)
    if other is None:
        return lambda: None

    def serve() -> None:
        comm.send(send, other)
        comm.recv(recv, other)

    def answer() -> None:
        comm.recv(recv, other)
        comm.send(send, other)

    return serve if comm.rank < other else answer


def expected(rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """The partner's input."""
    other = partner(rank, world_size)
    return () if other is None else (Part(0, layout.recv, other, 0),)
