"""Which group was slowest, whether that can be told, and what groups cost each other."""

import pytest

from nccltool.probe.group_summary import interference, is_mixed, slowest
from nccltool.probe.result import Measurement, RowGroup
from nccltool.probe.split import SplitGroup
from tests.samples import measurement, stats


def row(name: str, busbw: float, error: float = 0.05, *, alone: bool = False, size: int = 2**20) -> Measurement:
    """`error`: how far off its time could be."""
    return measurement(
        bytes=size,
        busbw_bytes_per_s=busbw,
        time_s=stats(1.0, median=1.0, ci95=(1 - error, 1 + error)),
        group=RowGroup(name=name, world_size=4, alone=alone),
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row("a", 100e9), row("b", 50e9), row("c", 110e9)], [("b", 50 / 105, True)]),
        ([row("a", 100e9, 0.4), row("b", 90e9)], [("b", 0.9, False)]),
        ([row("a", 1e9, size=8), row("b", 2e9, size=8), row("a", 9e9), row("b", 3e9)], [("b", 1 / 3, True)]),
        ([row("a", 9e9, size=1000), row("b", 3e9, size=996)], [("b", 1 / 3, True)]),
        ([row("a", 9e9, size=1000), row("b", 3e9, size=500)], []),  # b has no row of that size
        ([row("a", 100e9, alone=True), row("b", 50e9, alone=True)], []),
        ([row("a", 100e9)], []),
        ([measurement()], []),
    ],
)
def test_the_slowest(rows: list[Measurement], said: list[tuple[str, float, bool]]) -> None:
    found = slowest(rows, ())
    assert [(one.group, one.stands_out) for one in found] == [(name, clear) for name, _, clear in said]
    assert [one.share_of_others for one in found] == pytest.approx([share for _, share, _ in said])
    assert all(one.low_busbw_bytes_per_s < one.busbw_bytes_per_s < one.high_busbw_bytes_per_s for one in found)


def of_nodes(**counts: int) -> list[SplitGroup]:
    return [SplitGroup(name=name, ranks=(0, 1), nodes=("n",) * count) for name, count in counts.items()]


@pytest.mark.parametrize(
    ("groups", "mixed", "said"),
    [
        (of_nodes(a=2, b=2, c=2), False, ["c"]),
        (of_nodes(a=2, b=2, c=1), True, ["b"]),
        (of_nodes(a=1, b=1, c=2), True, ["b"]),
        (of_nodes(a=1, b=1, c=1), False, ["c"]),
    ],
)
def test_a_group_inside_a_node_is_no_yardstick_for_the_network(
    groups: list[SplitGroup], mixed: bool, said: list[str]
) -> None:
    rows = [row("a", 100e9), row("b", 90e9), row("c", 1e9)]
    assert is_mixed(groups) is mixed
    assert [one.group for one in slowest(rows, groups)] == said


def test_one_group_of_each_kind_is_not_compared() -> None:
    assert slowest([row("a", 100e9), row("b", 1e9)], of_nodes(a=1, b=2)) == ()


def test_interference() -> None:
    rows = [row("a", 50e9), row("b", 80e9), row("a", 100e9, alone=True), row("b", 80e9, alone=True, size=8)]
    (found,) = interference(rows)
    assert (found.group, found.ratio) == ("a", 0.5)
    assert found.low < 0.5 < found.high


def test_nothing_is_said_of_what_was_not_measured_both_ways() -> None:
    assert interference([row("a", 50e9), row("b", 80e9), measurement()]) == ()
