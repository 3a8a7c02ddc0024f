"""The longest that a call can take where nothing is wrong."""

import pytest

from nccltool.probe import collectives, longest_call

GIB = 2**30
ETHERNET = longest_call.SLOWEST_RATE


@pytest.mark.parametrize(
    ("op", "size", "world", "per_host", "seconds"),
    [
        ("all_reduce", 8 * GIB, 2, 1, 145.6),  # what it takes is half of that
        ("all_reduce", 8 * GIB, 16, 8, 273.0),
        ("all_reduce", 2**20, 16, 8, 0.0333),  # small sizes are named as fast as ever
        ("all_reduce", 1024, 16, 8, 3.25e-5),
        ("all_to_all", GIB, 16, 8, 72.8),  # eight ranks share the link
        ("broadcast", GIB, 512, 8, 82.0),  # nine copies by the root
        ("all_reduce", GIB, 1, 1, 0.0),
        ("send_recv", GIB, 8, 1, 18.2),
    ],
)
def test_inside_a_call(op: str, size: int, world: int, per_host: int, seconds: float) -> None:
    assert longest_call.inside_s(op, size, world, per_host, ETHERNET) == pytest.approx(seconds, rel=0.02)


@pytest.mark.parametrize("op", collectives.NAMES)
def test_every_operation_takes_time_wherever_ranks_are(op: str) -> None:
    for world, per_host in ((2, 1), (2, 2), (6, 4), (512, 8)):
        assert longest_call.inside_s(op, GIB, world, per_host, ETHERNET) > 0
    assert longest_call.inside_s(op, GIB, 4, 1, ETHERNET / 10) == pytest.approx(
        10 * longest_call.inside_s(op, GIB, 4, 1, ETHERNET)
    )


def test_buffers_are_filled() -> None:
    assert longest_call.outside_s(16 * GIB) == pytest.approx(68.7, rel=0.01)
    assert longest_call.outside_s(2 * 2**20) < 0.01
