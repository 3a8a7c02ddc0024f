"""How long a collective takes on a device that does not exist, counted as nccl-tests counts bus bandwidth."""

from typing import Any

import torch
import torch.distributed as dist

from tests.papergpu.machine import PaperMachine

_TWICE, _PARTS = ("ALLREDUCE", "ALLREDUCE_COALESCED"), ("GATHER", "SCATTER", "ALLTOALL")


def share_on_wires(op: str, ranks: int) -> float:
    """Of the size of a call: what a rank sends and receives."""
    if op in _TWICE:
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if any(part in op for part in _PARTS) else 1.0


def takes_ns(op: str, size: int, ranks: int, machine: PaperMachine) -> int | None:
    """None where it takes as long as it takes here."""
    if machine.bus_bytes_per_s is None:
        return None
    return round((machine.latency_s + size * share_on_wires(op, ranks) / machine.bus_bytes_per_s) * 1e9)


def begun_by_all(gloo: Any, begin: int) -> int:
    """When the last rank began; the clocks of the processes of one host are one."""
    latest = torch.tensor([begin], dtype=torch.int64)
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp.MAX
    gloo.allreduce([latest], options).wait()
    return int(latest[0])
