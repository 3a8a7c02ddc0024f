"""What a step needs of memory on each rank, and the least that any rank has: what does not fit is not begun.

An operation that runs out of memory in one rank leaves the others waiting; on a CPU the kernel ends whom it likes.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nccltool.core.units import format_decimal_bytes
from nccltool.launch.events import RankFacts
from nccltool.probe import collectives
from nccltool.probe.collectives.base import Layout
from nccltool.probe.result import Placement

CHECKED_AT_ONCE = 2**16
"""Elements worked on at a time on a CPU: a tensor of int64 is 512 KiB, and the few in use stay in the cache."""
GPU_SCRATCH = 512 * 2**20
"""Bytes for the check on a GPU, where that is at most half of what is free: some ten million elements, so that the
largest buffers are a few hundred blocks."""

_CONNECTION = 2**22 + 4_915_200 + 2**19
"""Bytes that NCCL holds for one connection and channel: protocols Simple, LL128 and LL by default (NCCL_BUFFSIZE,
NCCL_LL128_BUFFSIZE, NCCL_LL_BUFFSIZE; DEFAULT_*BUFFSIZE in NCCL's src/init.cc and include/device.h)."""
_CHANNELS = 32
"""The most that a communicator has (MAXCHANNELS of NCCL 2.19; NCCL_MAX_CTAS); GPUs with less NVLink have fewer."""
_RING_AND_TREE = 5
"""Connections of a channel: two in a ring, three to five in trees (src/transport.cc, ncclTransportRingConnect)."""
_NVLS = 256 * 2**20
"""16 channels x 2 x 8 steps of 128 KiB x 8 heads (src/transport/nvls.cc). All three together are 1.8 GB, where
users report 1.6 GB for one communicator (NVIDIA/nccl issue 864)."""
_SHARED_STEPS = 16 * 2**19
"""Bytes of a channel that all peers on other hosts share (16 steps of up to 512 KiB, src/transport/net.cc)."""
_BESIDE_NCCL = 2**29
"""Of a GPU: torch's kernels and what is lost between its allocations. An allowance; nothing measured it."""
_BESIDE_GLOO = 2**26
"""Of a host, for each rank: 8 to 16 MiB were measured (torch 2.13, 4 ranks, 64 MiB of each operation)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """Memory that every rank has: that of the one with the least."""

    free: int
    """Bytes."""
    backend: int
    """Of them: for the backend's own buffers, and what else is there beside a step."""
    rank: int
    host: str
    of_gpu: bool
    sharers: int
    """Ranks that share it, this one among them: each has its part."""

    @property
    def for_step(self) -> int:
        return max(self.free - self.backend, 0)

    @property
    def said(self) -> str:
        """For a reader."""
        what = "of its GPU" if self.of_gpu else "of memory"
        shared = f", its share among {self.sharers} ranks" if self.sharers > 1 else ""
        return f"rank {self.rank} on {self.host} has {format_decimal_bytes(self.free)} {what} free{shared}"


def least(backend: str, ranks: Sequence[RankFacts], ops: Iterable[str]) -> Room | None:
    """The rank with the least; None where none could tell."""
    of_gpu = backend == "nccl"
    keys = [(facts.host_id, facts.gpu if of_gpu else None) for facts in ranks]
    sharers, own = Counter(keys), _of_backend(backend, ranks, ops)
    rooms = [
        Room(
            free=free // sharers[key],
            backend=own,
            rank=facts.rank,
            host=facts.host,
            of_gpu=of_gpu,
            sharers=sharers[key],
        )
        for facts, key in zip(ranks, keys, strict=True)
        if (free := facts.gpu_free_bytes if of_gpu else facts.host_free_bytes) is not None
    ]
    return min(rooms, key=lambda room: room.free, default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class StepNeeds:
    """Bytes of a step on the rank that needs most."""

    buffers: int
    copies: int
    """Of a buffer, inside of the backend."""
    check: int

    @property
    def total(self) -> int:
        return self.buffers + self.copies + self.check

    @property
    def terms(self) -> str:
        """For a reader."""
        words = {"buffers": self.buffers, "copies of them": self.copies, "the check": self.check}
        return ", ".join(f"{name} {format_decimal_bytes(value)}" for name, value in words.items() if value)


def of_step(
    op: str, layout: Layout, placement: Placement, element_size: int, backend: str, checks: bool
) -> StepNeeds:
    large, small = max(layout.send, layout.recv), min(layout.send, layout.recv)
    copied = {"": 0, "send": layout.send, "recv": layout.recv}[collectives.get(op).copied_by_gloo]
    return StepNeeds(
        buffers=(large + (small if placement == "out-of-place" else 0)) * element_size,
        copies=copied * element_size if backend == "gloo" else 0,
        check=_scratch(large, element_size, backend) if checks else 0,
    )


def scratch_per_element(element_size: int) -> int:
    """Bytes with which the check works (worker/probe/scratch.py): five int64, one of the type, and one truth."""
    return 8 * 5 + element_size + 1


def _scratch(elements: int, element_size: int, backend: str) -> int:
    per_element = scratch_per_element(element_size)
    return min(elements * per_element, GPU_SCRATCH if backend == "nccl" else CHECKED_AT_ONCE * per_element)


def _of_backend(backend: str, ranks: Sequence[RankFacts], ops: Iterable[str]) -> int:
    """What is connected stays so: what any operation needs, the others find gone."""
    if backend == "gloo":
        return _BESIDE_GLOO
    if len(ranks) == 1:
        return _BESIDE_NCCL
    neighbours = max(Counter(facts.host_id for facts in ranks).values()) - 1
    connections, shared = _CHANNELS * _RING_AND_TREE, 0
    if any(collectives.get(op).meets_peers for op in ops):
        connections += max(_CHANNELS, neighbours)
        shared = _CHANNELS * _SHARED_STEPS
    return connections * _CONNECTION + shared + _NVLS + _BESIDE_NCCL
