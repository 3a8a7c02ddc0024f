"""What `bind` asks for and what `expected` promises are the same thing.

The calls of all ranks are carried out here on Python lists whose cells say where they come from, by the
textbook meaning of each call. Point-to-point calls meet: a send waits for its receive, so that an order that
only works with buffering in between shows as a deadlock.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from nccltool.probe import collectives
from nccltool.probe.collectives.base import Comm, Layout
from nccltool.probe.result import Placement

ELEMENT_SIZE = 4
UNDEFINED = "undefined"
"""Stands where an operation says nothing about a buffer."""

Cell = tuple[int, int] | tuple[tuple[int, int], ...] | str
"""(rank, index) of an input; several of them = their reduction."""


@dataclass(frozen=True)
class Buffer:
    """As much of a tensor as a collective may use."""

    cells: list[Cell]
    start: int
    length: int

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, part: slice) -> "Buffer":
        start, stop, _ = part.indices(self.length)
        return Buffer(self.cells, self.start + start, stop - start)

    def element_size(self) -> int:
        return ELEMENT_SIZE

    def chunk(self, parts: int) -> list["Buffer"]:
        size = self.length // parts
        return [Buffer(self.cells, self.start + i * size, size) for i in range(parts)]

    def read(self) -> list[Cell]:
        return self.cells[self.start : self.start + self.length]

    def write(self, values: Sequence[Cell]) -> None:
        assert len(values) == self.length
        self.cells[self.start : self.start + self.length] = values


class Recorder:
    """A Comm that notes its calls, each held against the signature in the Protocol."""

    def __init__(self, rank: int, world_size: int) -> None:
        self.rank, self.world_size = rank, world_size
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        signature = inspect.signature(getattr(Comm, name))

        def note(*words: Any) -> None:
            self.calls.append((name, signature.bind(self, *words).arguments))

        return note


def _all_reduce(ranks: Sequence[dict[str, Any]]) -> None:
    total = _reduced([args["tensor"].read() for args in ranks])
    for args in ranks:
        args["tensor"].write(total)


def _all_gather(ranks: Sequence[dict[str, Any]]) -> None:
    everything = [cell for args in ranks for cell in args["send"].read()]
    for args in ranks:
        args["recv"].write(everything)


def _reduce_scatter(ranks: Sequence[dict[str, Any]]) -> None:
    total = Buffer(cells := _reduced([args["send"].read() for args in ranks]), 0, len(cells))
    for args, part in zip(ranks, total.chunk(len(ranks)), strict=True):
        args["recv"].write(part.read())


def _broadcast(ranks: Sequence[dict[str, Any]]) -> None:
    for args in ranks:
        args["tensor"].write(ranks[args["root"]]["tensor"].read())


def _reduce(ranks: Sequence[dict[str, Any]]) -> None:
    total = _reduced([args["tensor"].read() for args in ranks])
    for rank, args in enumerate(ranks):
        args["tensor"].write(total if rank == args["root"] else [UNDEFINED] * len(total))


def _gather(ranks: Sequence[dict[str, Any]]) -> None:
    for rank, args in enumerate(ranks):
        assert (args["parts"] is not None) == (rank == args["root"])
        for source, part in enumerate(args["parts"] or ()):
            part.write(ranks[source]["send"].read())


def _scatter(ranks: Sequence[dict[str, Any]]) -> None:
    for rank, args in enumerate(ranks):
        assert (args["parts"] is not None) == (rank == args["root"])
        args["recv"].write(ranks[args["root"]]["parts"][rank].read())


def _all_to_all(ranks: Sequence[dict[str, Any]]) -> None:
    for rank, args in enumerate(ranks):
        for source, part in enumerate(args["recv"].chunk(len(ranks))):
            part.write(ranks[source]["send"].chunk(len(ranks))[rank].read())


def _all_to_all_v(ranks: Sequence[dict[str, Any]]) -> None:
    for rank, args in enumerate(ranks):
        received: list[Cell] = []
        for source, count in zip(ranks, args["recv_counts"], strict=True):
            start = sum(source["send_counts"][:rank])
            assert count == source["send_counts"][rank], "it expects another length"
            received += source["send"].read()[start : start + count]
        args["recv"].write(received)


def _exchange(ranks: Sequence[dict[str, Any]]) -> None:
    for rank, args in enumerate(ranks):
        assert ranks[args["source"]]["to"] == rank, "it waits for a rank that sends elsewhere"
        args["recv"].write(ranks[args["source"]]["send"].read())


COLLECTIVE_CALLS = {
    "all_reduce": _all_reduce,
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "broadcast": _broadcast,
    "reduce": _reduce,
    "gather": _gather,
    "scatter": _scatter,
    "all_to_all": _all_to_all,
    "all_to_all_v": _all_to_all_v,
    "exchange": _exchange,
}


def _reduced(inputs: Sequence[Sequence[Any]]) -> list[Cell]:
    return [tuple(cells) for cells in zip(*inputs, strict=True)]


def carry_out(programs: list[list[tuple[str, dict[str, Any]]]]) -> None:
    """Run the calls of all ranks to their end; a deadlock fails."""
    while any(programs):
        heads = [program[0] if program else ("", {}) for program in programs]
        names = {name for name, _ in heads}
        if len(names) == 1 and names <= set(COLLECTIVE_CALLS):
            COLLECTIVE_CALLS[heads[0][0]]([args for _, args in heads])
            done = list(range(len(programs)))
        else:
            done = [rank for pair in _meeting(heads) for rank in pair]
        assert done, f"deadlock: {[name for name, _ in heads]}"
        for rank in done:
            programs[rank].pop(0)


def _meeting(heads: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[int, int]]:
    met = []
    for rank, (name, args) in enumerate(heads):
        if name == "send":
            to = args["to"]
            answer, its = heads[to]
            if answer == "recv" and its["source"] == rank:
                its["tensor"].write(args["tensor"].read())
                met.append((rank, to))
    return met


def _buffers(layout: Layout, placement: Placement, rank: int) -> tuple[Buffer, Buffer]:
    """Send and receive buffer. In place, the smaller one is this rank's part of the larger one."""
    large = Buffer([UNDEFINED] * max(layout.send, layout.recv), 0, max(layout.send, layout.recv))
    send, recv = large, large
    if placement == "out-of-place":
        recv = Buffer([UNDEFINED] * layout.recv, 0, layout.recv)
        send = Buffer([UNDEFINED] * layout.send, 0, layout.send)
    elif layout.send != layout.recv:
        own = Buffer(large.cells, rank * layout.count, layout.count)
        send, recv = (own, large) if layout.send < layout.recv else (large, own)
    send.write([(rank, index) for index in range(layout.send)])
    return send, recv


SKEWED = ("all_to_all_v:zipf:1.1", "all_to_all_v:zipf:4", "all_to_all_v:one-hot")
CASES = [
    (op, world_size, placement)
    for op in (*collectives.NAMES, *SKEWED)
    for placement in collectives.get(op).placements
    for world_size in range(1, 6)
    if world_size >= collectives.get(op).min_world
]


@pytest.mark.parametrize(("op", "world_size", "placement"), CASES)
def test_the_operation_yields_exactly_what_is_expected(op: str, world_size: int, placement: Placement) -> None:
    collective = collectives.get(op)
    layout = collective.layout(99 * world_size + 3, world_size, ELEMENT_SIZE)
    assert layout.count > 0
    programs, received = [], []
    for rank in range(world_size):
        comm: Any = Recorder(rank, world_size)
        send, recv = _buffers(layout, placement, rank)
        collective.bind(comm, send, recv)()
        programs.append(comm.calls)
        received.append(recv)

    carry_out(programs)

    for rank in range(world_size):
        described = _described(op, rank, world_size)
        found = received[rank].read()
        if placement == "in-place":  # its own input stands where nothing is delivered
            found = [cell if told != UNDEFINED else told for cell, told in zip(found, described, strict=True)]
        assert found == described


def _described(op: str, rank: int, world_size: int) -> list[Cell]:
    """The receive buffer as `expected` describes it; what it does not describe is undefined."""
    collective = collectives.get(op)
    layout = collective.layout(99 * world_size + 3, world_size, ELEMENT_SIZE)
    buffer: list[Cell] = [UNDEFINED] * layout.recv
    for part in collective.expected(rank, world_size, layout):
        for offset in range(part.length):
            assert buffer[part.start + offset] == UNDEFINED, "two parts overlap"
            index = part.source_start + offset
            inputs = [(source, index) for source in range(world_size)]
            buffer[part.start + offset] = tuple(inputs) if part.source is None else inputs[part.source]
    return buffer


@pytest.mark.parametrize(("op", "world_size", "placement"), CASES)
def test_the_same_call_can_be_repeated(op: str, world_size: int, placement: Placement) -> None:
    """What `bind` returns is timed again and again."""
    collective = collectives.get(op)
    layout = collective.layout(99 * world_size + 3, world_size, ELEMENT_SIZE)
    comm: Any = Recorder(0, world_size)
    call = collective.bind(comm, *_buffers(layout, placement, 0))
    assert comm.calls == []
    call()
    once = list(comm.calls)
    call()
    assert comm.calls == [*once, *once]


@pytest.mark.parametrize("op", collectives.NAMES)
def test_only_reductions_expect_a_reduction(op: str) -> None:
    collective = collectives.get(op)
    parts = collective.expected(0, 4, collective.layout(64, 4, 4))
    assert {part.source is None for part in parts} == {collective.reduces}
