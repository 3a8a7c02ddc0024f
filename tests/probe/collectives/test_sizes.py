"""Counts, sizes and bus factors, against numbers worked out by hand from nccl-tests' definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.probe import collectives
from nccltool.probe.collectives.base import ALIGNMENT, Layout

WHOLE = ("all_reduce", "broadcast", "reduce", "send_recv", "ping_pong")
SCATTERED = ("all_gather", "reduce_scatter", "gather", "scatter", "all_to_all", "all_to_all_v")

MIB_OF_FLOATS = {
    # a payload of 1 MiB = 262144 float32; at n = 3 a part is 87381 rounded down to 87380, 16 bytes being 4
    # (op, n): send, recv, count, bytes, bytes per rank
    ("all_gather", 1): (262144, 262144, 262144, 1048576, 1048576),
    ("all_gather", 2): (131072, 262144, 131072, 1048576, 524288),
    ("all_gather", 3): (87380, 262140, 87380, 1048560, 349520),
    ("all_gather", 8): (32768, 262144, 32768, 1048576, 131072),
    ("all_gather", 16): (16384, 262144, 16384, 1048576, 65536),
    ("reduce_scatter", 1): (262144, 262144, 262144, 1048576, 1048576),
    ("reduce_scatter", 2): (262144, 131072, 131072, 1048576, 524288),
    ("reduce_scatter", 3): (262140, 87380, 87380, 1048560, 349520),
    ("reduce_scatter", 8): (262144, 32768, 32768, 1048576, 131072),
    ("reduce_scatter", 16): (262144, 16384, 16384, 1048576, 65536),
    ("gather", 1): (262144, 262144, 262144, 1048576, 1048576),
    ("gather", 2): (131072, 262144, 131072, 1048576, 524288),
    ("gather", 3): (87380, 262140, 87380, 1048560, 349520),
    ("gather", 8): (32768, 262144, 32768, 1048576, 131072),
    ("gather", 16): (16384, 262144, 16384, 1048576, 65536),
    ("scatter", 1): (262144, 262144, 262144, 1048576, 1048576),
    ("scatter", 2): (262144, 131072, 131072, 1048576, 524288),
    ("scatter", 3): (262140, 87380, 87380, 1048560, 349520),
    ("scatter", 8): (262144, 32768, 32768, 1048576, 131072),
    ("scatter", 16): (262144, 16384, 16384, 1048576, 65536),
    ("all_to_all", 1): (262144, 262144, 262144, 1048576, 1048576),
    ("all_to_all", 2): (262144, 262144, 131072, 1048576, 1048576),
    ("all_to_all", 3): (262140, 262140, 87380, 1048560, 1048560),
    ("all_to_all", 8): (262144, 262144, 32768, 1048576, 1048576),
    ("all_to_all", 16): (262144, 262144, 16384, 1048576, 1048576),
    # parts of 87380 and half as many, 43690 rounded down to 43688
    ("all_to_all_v:zipf:1", 2): (196608, 262144, 131072, 1048576, 786432),
    ("all_to_all_v:zipf:1", 3): (87380 + 43688 + 29124, 262140, 87380, 1048560, 640768),
    ("all_to_all_v:one-hot", 8): (32768, 262144, 32768, 1048576, 131072),
    **{(op, n): (262144, 262144, 262144, 1048576, 1048576) for op in WHOLE for n in (1, 2, 3, 8, 16)},
}


@pytest.mark.parametrize(("op", "world_size"), MIB_OF_FLOATS)
def test_one_mebibyte(op: str, world_size: int) -> None:
    assert collectives.get(op).layout(262144, world_size, 4) == Layout(*MIB_OF_FLOATS[op, world_size])


@pytest.mark.parametrize(
    ("elements", "element_size", "world_size", "part"),
    [
        (2, 4, 1, 0),  # 8 B: under 16 bytes even for one rank
        (4, 4, 1, 4),
        (16, 4, 2, 8),
        (16, 4, 3, 4),  # 5 rounded down to 4
        (16, 4, 8, 0),  # 64 B over 8 ranks: 8 B each
        (16, 4, 16, 0),
        (64, 4, 16, 4),
        (100, 8, 3, 32),  # 33 rounded down to an even number
        (1000, 2, 3, 328),  # 333 rounded down to a multiple of 8
        (1000, 1, 3, 320),  # 333 rounded down to a multiple of 16
        (255, 1, 16, 0),  # 15 bytes each
        (256, 1, 16, 16),
    ],
)
@pytest.mark.parametrize("op", SCATTERED)
def test_parts_are_rounded_down_to_16_bytes(
    op: str, elements: int, element_size: int, world_size: int, part: int
) -> None:
    layout = collectives.get(op).layout(elements, world_size, element_size)
    assert layout.count == part
    assert layout.bytes == part * world_size * element_size


@pytest.mark.parametrize("op", WHOLE)
@pytest.mark.parametrize("elements", [0, 1, 2, 5])
def test_whole_payloads_are_not_rounded(op: str, elements: int) -> None:
    size = elements * 4
    assert collectives.get(op).layout(elements, 8, 4) == Layout(elements, elements, elements, size, size)


@given(
    op=st.sampled_from(collectives.NAMES),
    elements=st.integers(0, 2**40),
    world_size=st.integers(1, 10_000),
    element_size=st.sampled_from((1, 2, 4, 8)),
)
def test_no_layout_is_above_its_nominal_size(op: str, elements: int, world_size: int, element_size: int) -> None:
    layout = collectives.get(op).layout(elements, world_size, element_size)
    nominal = elements * element_size
    assert 0 <= layout.bytes <= nominal
    assert nominal - layout.bytes < world_size * max(ALIGNMENT, element_size) + world_size * element_size
    assert max(layout.send, layout.recv) * element_size == layout.bytes
    assert layout.count in (layout.send, layout.recv, layout.send // world_size)


FACTORS = {
    # op: at n = 1, 2, 3, 8, 16
    "all_reduce": (0, 1, 4 / 3, 1.75, 1.875),
    "all_gather": (0, 0.5, 2 / 3, 0.875, 0.9375),
    "reduce_scatter": (0, 0.5, 2 / 3, 0.875, 0.9375),
    "all_to_all": (0, 0.5, 2 / 3, 0.875, 0.9375),
    "all_to_all_v": (0, 0.5, 2 / 3, 0.875, 0.9375),
    "gather": (0, 0.5, 2 / 3, 0.875, 0.9375),
    "scatter": (0, 0.5, 2 / 3, 0.875, 0.9375),
    "broadcast": (1, 1, 1, 1, 1),
    "reduce": (1, 1, 1, 1, 1),
    "send_recv": (1, 1, 1, 1, 1),
    "ping_pong": (1, 1, 1, 1, 1),
}


@pytest.mark.parametrize("op", collectives.NAMES)
def test_bus_factors(op: str) -> None:
    factors = [collectives.get(op).bus_factor(world_size) for world_size in (1, 2, 3, 8, 16)]
    assert factors == pytest.approx(FACTORS[op], rel=1e-15)
