"""How fast a machine computes, and how fast its collectives are, inside a node and across nodes. Pure.

Small calls cost steps, as in NCCL's own model (src/graph/tuning.cc of 2.30): a ring has a step for each rank, a
tree one for each rank of a node and for each doubling of the nodes. Large calls cost their bytes over the bus
bandwidth.
"""

import math
from dataclasses import dataclass

from nccltool.plan.calls import CollectiveCalls, Operation
from nccltool.plan.layout import ParallelLayout

_BASE_S, _HOP_S, _NETWORK_HOP_S = 8.4e-6, 3.4e-6, 14e-6
"""Protocol Simple: of a call, of a step of a ring over NVLink, and of one over a network."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A kind of node. Memory and rates are decimal, as vendors give them."""

    name: str
    gpu: str
    memory_bytes: int
    memory_bytes_per_s: float
    matmul_flop_per_s: float
    """The fastest bfloat16 product that was measured."""
    peak_flop_per_s: float
    """Of bfloat16 in the data sheet, which model FLOPs utilization refers to."""
    gpus: int
    inside_bytes_per_s: float
    """Bus bandwidth of a ring in a node."""
    inside_all_reduce_bytes_per_s: float
    """Of an all-reduce among all GPUs of a node, which may be faster (NVLS)."""
    across_bytes_per_s: float
    """Of the network, for each GPU of a node."""
    source: str
    measured: tuple["MeasuredCollective", ...] = ()
    """Of a run on these nodes; what it has counts instead."""
    training_flop_per_s: float | None = None
    """Of a training that was measured there, without communication; None: estimated from matmul_flop_per_s."""
    pcie_bytes_per_s: float | None = None
    """Between a GPU and its host, each way; None: not known."""
    is_gloo: bool = False
    """Only DDP communicates beside arithmetic: FSDP and a pipeline wait for their calls."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredCollective:
    """The latency-bandwidth model of an operation in a run."""

    operation: Operation
    ranks: int
    is_across: bool
    alpha_s: float
    busbw_bytes_per_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RankGroup:
    """Ranks that call together: how many, and how many of them are on a node."""

    ranks: int
    per_node: int

    @property
    def nodes(self) -> int:
        return -(-self.ranks // self.per_node)

    @property
    def is_across(self) -> bool:
        return self.nodes > 1


def group_of(calls: CollectiveCalls, layout: ParallelLayout, gpus_per_node: int) -> RankGroup:
    """Ranks of tensor parallelism are neighbors, then those of context, shards, replicas, and pipeline. Experts
    are spread over neighbors, whatever else these are, so ranks that have the same ones are as far apart as there
    are ranks with other ones (arXiv 2504.14960)."""
    apart = {
        "tensor": 1,
        "context": layout.tensor,
        "expert": 1,
        "shard": layout.expert if calls.of_experts else layout.tensor,
        "data": layout.tensor,
        "replicate": layout.tensor * (layout.sharers if layout.sharding == "parameters" else layout.expert),
        "pipeline": layout.gpus // layout.pipeline,
    }[calls.axis]
    return RankGroup(ranks=calls.ranks, per_node=min(calls.ranks, max(1, gpus_per_node // apart)))


def seconds(calls: CollectiveCalls, group: RankGroup, machine: Machine) -> float:
    """Of all calls together, nothing else in their way."""
    measured = measured_of(calls.operation, group, machine)
    each = calls.bytes / calls.count
    if measured:
        per_call = measured.alpha_s * _steps(calls.operation, group) / _steps_of(measured)
        return calls.count * (per_call + _factor(calls.operation, group.ranks) * each / measured.busbw_bytes_per_s)
    rate = _busbw(calls.operation, group, machine)
    return calls.count * (_latency(calls.operation, group) + _factor(calls.operation, group.ranks) * each / rate)


def measured_of(operation: Operation, group: RankGroup, machine: Machine) -> MeasuredCollective | None:
    """The run's, if it ran over the same kind of links; of several the one whose number of ranks is nearest."""
    fitting = [one for one in machine.measured if one.operation == operation and one.is_across == group.is_across]
    return min(fitting, key=lambda one: abs(math.log(one.ranks / group.ranks)), default=None)


def _factor(operation: Operation, ranks: int) -> float:
    """Of the bytes, how many cross the slowest link (nccl-tests, doc/PERFORMANCE.md)."""
    if operation in ("send_recv", "broadcast"):
        return 1.0
    return (2 if operation == "all_reduce" else 1) * (ranks - 1) / ranks


def _busbw(operation: Operation, group: RankGroup, machine: Machine) -> float:
    """A ring across nodes can use the network of every rank that it has on a node; pairs use their own."""
    if not group.is_across:
        is_whole = group.per_node == machine.gpus
        return (
            machine.inside_all_reduce_bytes_per_s
            if operation == "all_reduce" and is_whole
            else machine.inside_bytes_per_s
        )
    if operation in ("all_to_all", "send_recv"):
        return machine.across_bytes_per_s
    return min(machine.inside_bytes_per_s, group.per_node * machine.across_bytes_per_s)


def _latency(operation: Operation, group: RankGroup) -> float:
    if operation == "send_recv":
        return _BASE_S + (_NETWORK_HOP_S if group.is_across else _HOP_S)
    across = math.ceil(math.log2(group.nodes))
    tree = 2 * ((group.per_node - 1) * _HOP_S + across * _NETWORK_HOP_S)
    if operation == "all_reduce":
        return _BASE_S + tree
    over_network = group.nodes - 1
    return _BASE_S + (group.ranks - 1 - over_network) * _HOP_S + over_network * _NETWORK_HOP_S


def _steps(operation: Operation, group: RankGroup) -> float:
    if operation == "send_recv":
        return 1.0
    return math.log2(group.ranks) if operation == "all_reduce" else group.ranks - 1.0


def _steps_of(measured: MeasuredCollective) -> float:
    return _steps(measured.operation, RankGroup(ranks=measured.ranks, per_node=measured.ranks)) or 1.0
