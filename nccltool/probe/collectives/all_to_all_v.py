"""all_to_all_v: each rank sends parts of different lengths to the others, like tokens to experts.

A skew (probe/skews.py) sets the lengths. All ranks send alike: destination r gets a part of c(r) from
each of n ranks, and rank 0 gets the longest. The size S is what the busiest rank receives, n c(0), its own part
among it, as alltoallv of nccl-tests counts. So

    algbw = S / t    busbw = algbw x (n-1)/n = n-1 parts of c(0), which enter rank 0 over its link, / t

No rank sends more: it sends at most n-1 parts of at most c(0). An exchange that only its busiest rank limits has
the same busbw under every skew; less means that something else limits it.
"""

from functools import partial

from nccltool.probe import skews
from nccltool.probe.collectives import base
from nccltool.probe.collectives.base import Call, Collective, Comm, Homes, Layout, Part, Rates, Tensor
from nccltool.probe.skews import Skew


def _counts(skew: Skew, most: int, world_size: int, element_size: int) -> list[int]:
    """Elements for each destination, where the busiest gets so many; the others' are rounded down to 16 bytes."""
    alignment = max(base.ALIGNMENT // element_size, 1)
    return [int(most * share) // alignment * alignment for share in skew.shares(world_size)]


def _layout(skew: Skew, elements: int, world_size: int, element_size: int) -> Layout:
    """The nominal size is what the busiest rank receives."""
    most = base.per_rank_count(elements, world_size, element_size)
    sent, total = sum(_counts(skew, most, world_size, element_size)), most * world_size
    return Layout(sent, total, most, total * element_size, sent * element_size)


def _least_seconds(skew: Skew, homes: Homes, rates: Rates) -> float:
    """What enters a boundary comes from all ranks outside, what leaves it goes to all destinations outside."""
    world, wanted = len(homes), dict.fromkeys(sorted(homes), 0.0)
    for home, share in zip(homes, skew.shares(world), strict=True):
        wanted[home] += share / world
    everything = sum(wanted.values())
    loads = [
        max((world - count) * mine, count * (everything - mine))
        for count, mine in zip(base.inside(homes), wanted.values(), strict=True)
    ]
    return base.slowest(loads, rates)


def _bind(skew: Skew, comm: Comm, send: Tensor, recv: Tensor) -> Call:
    world = comm.world_size
    counts = _counts(skew, len(recv) // world, world, recv.element_size())
    mine = [counts[comm.rank]] * world
    received = recv[: sum(mine)]
    return lambda: comm.all_to_all_v(received, send, mine, counts)


def _expected(skew: Skew, rank: int, world_size: int, layout: Layout) -> tuple[Part, ...]:
    """Part i is what rank i has for `rank`, behind what it has for the ranks before."""
    counts = _counts(skew, layout.count, world_size, layout.bytes // layout.recv)
    mine, start = counts[rank], sum(counts[:rank])
    return tuple(Part(i * mine, mine, i, start) for i in range(world_size)) if mine else ()


def under(skew: Skew) -> Collective:
    """The operation under a skew."""
    is_even = skew.word == skews.UNIFORM
    return Collective(
        order=9,
        # alltoallv of nccl-tests has lengths of its own
        nccl_tests="all_to_all_v" if is_even else f"all_to_all_v:{skew.word}",
        placements=("out-of-place",),
        is_symmetric=is_even,
        meets_peers=True,
        is_in_all=False,
        under=under,
        layout=partial(_layout, skew),
        bus_factor=base.without_own_part,
        least_seconds=partial(_least_seconds, skew),
        bind=partial(_bind, skew),
        expected=partial(_expected, skew),
    )


COLLECTIVE = under(skews.parse(skews.UNIFORM))
