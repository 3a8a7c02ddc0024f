"""The data of the check: exact for every type, reduction and world, and every kind of damage shows."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nccltool.probe import collectives
from nccltool.probe.collectives.base import ROOT, Layout, Part
from nccltool.probe.collectives.ping_pong import partner
from nccltool.probe.dtypes import ELEMENT_SIZE, REDUCE_OPS, is_float, largest_exact
from nccltool.probe.memory import CHECKED_AT_ONCE as BLOCK
from nccltool.worker.probe.data import Pattern

pytestmark = [pytest.mark.torch, pytest.mark.quick]

REDUCIBLE = tuple(name for name in ELEMENT_SIZE if not name.startswith("float8"))
"""Nothing adds float8: it is only moved."""
WORLDS = (1, 2, 3, 4, 17, 40)
LENGTH = 300
SMALL, LARGE = 256, BLOCK + 1000
REDUCING = tuple(name for name in collectives.NAMES if collectives.get(name).reduces)
MOVING = tuple(name for name in collectives.NAMES if not collectives.get(name).reduces)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """As in a rank: two threads on small blocks mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_pattern(dtype: str, reduce_op: str | None, world: int, seed: int = 7) -> Pattern:
    return Pattern(seed, getattr(torch, dtype), dtype, world, reduce_op)


def filled(pattern: Pattern, rank: int, length: int) -> Tensor:
    buffer = torch.empty(length, dtype=pattern.dtype)
    pattern.fill(buffer, rank, lambda: None)
    return buffer


def inputs(pattern: Pattern, length: int) -> list[Tensor]:
    return [filled(pattern, rank, length) for rank in range(pattern.world_size)]


def wrong(pattern: Pattern, buffer: Tensor, parts: Sequence[Part]) -> int:
    return sum(pattern.wrong(buffer, part, lambda: None)[0] for part in parts)


# ---- exactness


IN_WHOLE_NUMBERS: dict[str, Callable[[Sequence[int]], int]] = {
    "sum": sum,
    "prod": math.prod,
    "min": min,
    "max": max,
}


def exactly(values: Sequence[int], reduce_op: str, floating: bool) -> int | float:
    if reduce_op == "avg":
        return float(Fraction(sum(values), len(values))) if floating else sum(values) // len(values)
    return IN_WHOLE_NUMBERS[reduce_op](values)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("reduce_op", REDUCE_OPS)
@pytest.mark.parametrize("dtype", REDUCIBLE)
def test_expected_is_the_reduction_of_all_inputs_in_whole_numbers(dtype: str, reduce_op: str, world: int) -> None:
    pattern = make_pattern(dtype, reduce_op, world)
    columns = zip(*(buffer.tolist() for buffer in inputs(pattern, LENGTH)), strict=True)
    whole = [[int(value) for value in column] for column in columns]
    expected = pattern.expected(Part(0, LENGTH, None, 0), 0, LENGTH, torch.device("cpu")).tolist()
    assert expected == [exactly(column, reduce_op, is_float(dtype)) for column in whole]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("dtype", ELEMENT_SIZE)
def test_moved_data_are_whole_numbers_that_the_type_holds(dtype: str, world: int) -> None:
    pattern = make_pattern(dtype, None, world)
    for rank, buffer in enumerate(inputs(pattern, LENGTH)):
        values = buffer.tolist()
        assert values == pattern.expected(Part(0, LENGTH, rank, 0), 0, LENGTH, torch.device("cpu")).tolist()
        assert all(value == int(value) and 0 <= value <= largest_exact(dtype) for value in values)


def orders(world: int) -> Iterator[list[int]]:
    """Orders in which backends reduce: up, down, around a ring from its middle, odd ranks after even ones."""
    ranks = list(range(world))
    yield ranks
    yield ranks[::-1]
    yield ranks[world // 2 :] + ranks[: world // 2]
    yield ranks[::2] + ranks[1::2]


STEP: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": torch.add,
    "avg": torch.add,
    "prod": torch.mul,
    "min": torch.minimum,
    "max": torch.maximum,
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("reduce_op", REDUCE_OPS)
@pytest.mark.parametrize("dtype", REDUCIBLE)
def test_every_partial_result_is_exact_in_every_order(dtype: str, reduce_op: str, world: int) -> None:
    pattern = make_pattern(dtype, reduce_op, world)
    buffers = inputs(pattern, LENGTH)
    for order in orders(world):
        partial, exact = buffers[order[0]], buffers[order[0]].to(torch.int64)
        for rank in order[1:]:
            partial = STEP[reduce_op](partial, buffers[rank])
            exact = STEP[reduce_op](exact, buffers[rank].to(torch.int64))
            assert torch.equal(partial.to(torch.int64), exact)
        assert int(exact.max()) <= largest_exact(dtype)
        if reduce_op == "avg":
            partial = partial / world if is_float(dtype) else partial // world
        assert wrong(pattern, partial.to(pattern.dtype), [Part(0, LENGTH, None, 0)]) == 0


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("dtype", [name for name in REDUCIBLE if is_float(name)])
def test_an_average_that_is_scaled_before_adding_is_right_too(dtype: str, world: int) -> None:
    pattern = make_pattern(dtype, "avg", world)
    scaled = [buffer / world for buffer in inputs(pattern, LENGTH)]
    total = scaled[0]
    for buffer in scaled[1:]:
        total = total + buffer
    assert wrong(pattern, total, [Part(0, LENGTH, None, 0)]) == 0


@pytest.mark.parametrize("reduce_op", [None, "sum"])
def test_data_do_not_depend_on_the_blocks_in_which_they_are_made(reduce_op: str | None) -> None:
    pattern = make_pattern("int64", reduce_op, 3)
    part = Part(0, LARGE, 1 if reduce_op is None else None, 0)
    whole = pattern.expected(part, 0, LARGE, torch.device("cpu"))
    for start in (0, 1, BLOCK - 1, BLOCK, LARGE - 1):
        stop = min(start + 2, LARGE)
        assert torch.equal(pattern.expected(part, start, stop, torch.device("cpu")), whole[start:stop])
    if reduce_op is None:
        assert torch.equal(filled(pattern, 1, LARGE), whole)


@pytest.mark.parametrize("reduce_op", [None, *REDUCE_OPS])
def test_another_seed_or_rank_gives_other_data(reduce_op: str | None) -> None:
    pattern, reseeded = make_pattern("float32", reduce_op, 3), make_pattern("float32", reduce_op, 3, seed=8)
    assert not torch.equal(filled(pattern, 0, SMALL), filled(reseeded, 0, SMALL))
    assert not torch.equal(filled(pattern, 0, SMALL), filled(pattern, 1, SMALL))


# ---- power: what every collective does, in a few words, then damage to it


def received(op: str, reduce_op: str, sends: list[Tensor], layout: Layout) -> list[Tensor | None]:
    """Every rank's receive buffer after `op`; None where nothing is received."""
    world, count = len(sends), layout.count
    if collectives.get(op).reduces:
        total = combined(reduce_op, sends, divide_by=len(sends))
        if op == "reduce_scatter":
            return list(total.split(count))
        return [total.clone() if op == "all_reduce" or rank == ROOT else None for rank in range(world)]
    return [moved(op, sends, rank, count) for rank in range(world)]


def combined(reduce_op: str, sends: list[Tensor], divide_by: int) -> Tensor:
    total = sends[0].clone()
    for send in sends[1:]:
        total = STEP[reduce_op](total, send)
    if reduce_op != "avg":
        return total
    return total / divide_by if total.is_floating_point() else total // divide_by


def moved(op: str, sends: list[Tensor], rank: int, count: int) -> Tensor | None:
    mine = slice(rank * count, (rank + 1) * count)
    other = partner(rank, len(sends))
    match op:
        case "all_gather":
            return torch.cat(sends)
        case "gather":
            return torch.cat(sends) if rank == ROOT else None
        case "scatter":
            return sends[ROOT][mine].clone()
        case "broadcast":
            return sends[ROOT].clone()
        case "all_to_all" | "all_to_all_v":  # the name alone is the even one
            return torch.cat([send[mine] for send in sends])
        case "send_recv":
            return sends[rank - 1].clone()
    return None if other is None else sends[other].clone()


def checked(
    op: str, dtype: str, reduce_op: str, world: int, per_rank: int
) -> tuple[Pattern, Layout, list[Tensor]]:
    collective = collectives.get(op)
    layout = collective.layout(per_rank * world, world, ELEMENT_SIZE[dtype])
    pattern = make_pattern(dtype, reduce_op if collective.reduces else None, world)
    return pattern, layout, inputs(pattern, layout.send)


def parts_of(op: str, rank: int, world: int, layout: Layout) -> tuple[Part, ...]:
    return collectives.get(op).expected(rank, world, layout)


def spoilt(buffer: Tensor, parts: int) -> dict[str, Tensor]:
    """Copies of a receive buffer, each with one kind of damage."""
    chunk = len(buffer) // max(parts, 2)
    swapped = torch.cat([buffer[chunk : 2 * chunk], buffer[:chunk], buffer[2 * chunk :]])
    flipped = buffer.clone()
    flipped[len(buffer) // 3] = 0 if buffer[len(buffer) // 3] else 1
    copies = {
        "two chunks swapped": swapped,
        "moved by one element": buffer.roll(1),
        "backwards": buffer[torch.arange(len(buffer) - 1, -1, -1)],
        "one element changed": flipped,
        "not written at all": torch.full_like(buffer, 77),
    }
    if buffer.is_floating_point():
        copies["one NaN"] = buffer.clone()
        copies["one NaN"][len(buffer) // 2] = math.nan
    return copies


CASES = [
    *((op, "sum", dtype) for op in MOVING for dtype in ELEMENT_SIZE),
    *((op, reduce_op, dtype) for op in REDUCING for reduce_op in REDUCE_OPS for dtype in REDUCIBLE),
]


@pytest.mark.parametrize(("op", "reduce_op", "dtype"), CASES)
def test_damage_to_what_was_received_is_counted(op: str, reduce_op: str, dtype: str) -> None:
    for world in (2, 3, 17):
        assert_damage_counts(op, reduce_op, dtype, world, SMALL)


@pytest.mark.parametrize("op", collectives.NAMES)
def test_damage_to_more_than_one_block_is_counted(op: str) -> None:
    assert_damage_counts(op, "sum", "bfloat16", 2, LARGE)


def assert_damage_counts(op: str, reduce_op: str, dtype: str, world: int, per_rank: int) -> None:
    pattern, layout, sends = checked(op, dtype, reduce_op, world, per_rank)
    buffers = received(op, reduce_op, sends, layout)
    for rank in {0, 1, world - 1}:
        buffer, parts = buffers[rank], parts_of(op, rank, world, layout)
        assert bool(parts) == (buffer is not None), f"rank {rank} of {world}"
        if buffer is None:
            continue
        assert wrong(pattern, buffer, parts) == 0, f"rank {rank} of {world}"
        for name, copy in spoilt(buffer, len(parts)).items():
            assert wrong(pattern, copy, parts) > 0, f"{name}, rank {rank} of {world}"


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        *((op, dtype) for op in MOVING for dtype in ELEMENT_SIZE),
        *(("reduce_scatter", dtype) for dtype in REDUCIBLE),
    ],
)
def test_data_of_another_rank_are_counted(op: str, dtype: str) -> None:
    """For all_reduce and reduce exchanged ranks are the same sum: there is nothing to see."""
    world = 4
    pattern, layout, sends = checked(op, dtype, "sum", world, SMALL)
    exchanged = [sends[1], sends[0], sends[3], sends[2]]
    right, mixed = (received(op, "sum", each, layout) for each in (sends, exchanged))
    if op == "reduce_scatter":
        mixed = [right[1], right[0], right[3], right[2]]
    for rank, buffer in enumerate(mixed):
        parts = parts_of(op, rank, world, layout)
        if buffer is not None:
            assert wrong(pattern, buffer, parts) > 0, f"rank {rank}"


@pytest.mark.parametrize(("world", "victim"), [(2, 0), (2, 1), (4, 3), (17, 0), (17, 9), (17, 16)])
@pytest.mark.parametrize("reduce_op", REDUCE_OPS)
@pytest.mark.parametrize("dtype", REDUCIBLE)
def test_a_missing_and_a_doubled_contribution_are_counted(
    dtype: str, reduce_op: str, world: int, victim: int
) -> None:
    """Twice the same minimum or maximum is the minimum or maximum: only a missing one can be seen."""
    pattern = make_pattern(dtype, reduce_op, world)
    sends = inputs(pattern, SMALL * 2)
    damaged = {"missing": [send for rank, send in enumerate(sends) if rank != victim]}
    if reduce_op not in ("min", "max"):
        damaged["doubled"] = [*sends, sends[victim]]
    for name, contributions in damaged.items():
        total = combined(reduce_op, contributions, divide_by=world)
        assert wrong(pattern, total, [Part(0, len(total), None, 0)]) > 0, name


@pytest.mark.parametrize(("reduce_op", "world"), [("sum", 40), ("avg", 8)])
def test_of_a_single_element_every_rank_is_missed_in_some_round(reduce_op: str, world: int) -> None:
    part = Part(0, 1, None, 0)
    for victim in range(world):
        rounds = [make_pattern("float32", reduce_op, world, seed) for seed in range(4)]
        found = 0
        for pattern in rounds:
            others = [filled(pattern, rank, 1) for rank in range(world) if rank != victim]
            found += wrong(pattern, combined(reduce_op, others, divide_by=world), [part])
        assert found, f"rank {victim}"


def test_the_first_wrong_element_is_named() -> None:
    pattern = make_pattern("float32", None, 2)
    buffer = torch.cat([filled(pattern, 0, LARGE), filled(pattern, 1, LARGE)])
    buffer[LARGE + BLOCK + 3] += 1
    buffer[LARGE + BLOCK + 9] += 1
    assert pattern.wrong(buffer, Part(0, LARGE, 0, 0), lambda: None) == (0, None)
    assert pattern.wrong(buffer, Part(LARGE, LARGE, 1, 0), lambda: None) == (2, LARGE + BLOCK + 3)


def test_one_unit_in_the_last_place_is_counted_where_results_are_exact() -> None:
    pattern = make_pattern("float32", "sum", 2)
    buffer = combined("sum", inputs(pattern, SMALL), divide_by=1)
    buffer[5] = torch.nextafter(buffer[5], torch.tensor(math.inf))
    assert pattern.wrong(buffer, Part(0, SMALL, None, 0), lambda: None) == (1, 5)


# ---- how much a device has to do


class Launches(TorchDispatchMode):  # type: ignore[misc]  # torch does not type it
    """Counts what launches a kernel (a view does not), and what waits for its end."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels, self.waits = 0, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not func.is_view:
            self.kernels += 1
        if func in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default):
            self.waits += 1
        return func(*args, **(kwargs or {}))


SET_UP = 6
"""Kernels and allocations for a part, besides those for its blocks."""
MOST = {None: 14, "sum": 21, "prod": 16, "min": 17, "max": 15, "avg": 27}
"""Kernels for a block, whatever world and type; a loop over contributors had up to 396."""
MOST_TO_FILL = {None: 12, "sum": 43, "prod": 37, "min": 43, "max": 41, "avg": 45}


@pytest.mark.parametrize("world", [2, 8, 16, 17, 512])
@pytest.mark.parametrize("reduce_op", [None, *REDUCE_OPS])
def test_a_block_takes_few_kernels_in_every_world(reduce_op: str | None, world: int) -> None:
    for dtype in ELEMENT_SIZE if reduce_op is None else REDUCIBLE:
        pattern, length = make_pattern(dtype, reduce_op, world), 3 * BLOCK
        buffer = torch.empty(length, dtype=pattern.dtype)
        with Launches() as filling:
            pattern.fill(buffer, 1, lambda: None)
        part = Part(0, length, 1 if reduce_op is None else None, 0)
        if reduce_op is not None:
            buffer = pattern.expected(part, 0, length, buffer.device).to(pattern.dtype)
        with Launches() as checking:
            assert pattern.wrong(buffer, part, lambda: None) == (0, None)
        assert filling.kernels <= SET_UP + 3 * MOST_TO_FILL[reduce_op], dtype
        assert checking.kernels <= SET_UP + 3 * MOST[reduce_op], dtype
        assert (filling.waits, checking.waits) == (0, 0), dtype


# ---- memory


def peak_kib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize("reduce_op", [None, "sum", "avg"])
def test_checking_a_large_buffer_takes_a_few_blocks_of_memory(reduce_op: str | None) -> None:
    pattern = make_pattern("float32", reduce_op, 2)
    buffer = torch.ones(2**22)  # its pages are there: nothing of it counts below
    part = Part(0, len(buffer), 1 if reduce_op is None else None, 0)
    pattern.wrong(buffer[:SMALL], Part(0, SMALL, part.source, 0), lambda: None)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = peak_kib()
    pattern.fill(buffer, 1, lambda: None)
    assert (pattern.wrong(buffer, part, lambda: None) == (0, None)) == (reduce_op is None)
    assert peak_kib() - before < 20 * 1024  # made in one go, the int64 values alone would take 32 MiB
