"""What the first contact of the ranks says of the way between them: how slow it may be."""

import os
import time
import warnings
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist

from nccltool.core import versions
from nccltool.hosts.facts import NotKnown
from nccltool.hosts.nccl import ib_retries, settings
from nccltool.hosts.nccl.host import NcclHost
from nccltool.hosts.reader import network_facts
from nccltool.launch import allowances
from nccltool.probe.longest_call import SLOWEST_RATE
from nccltool.worker.agreement import Agreement

_SIZES = (2**16, 2**20)
"""Bytes: the first takes half a second at 1 Mbit/s, the second 70 us at 100 Gbit/s."""
_LONGEST_S = 1.0
"""A larger size is only tried where it will not take longer."""
_SLOWER = 2.0
"""How many times slower than it was seen the network may become: a link that others share now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contact:
    """How slow the way between the ranks may be."""

    backend: str = "gloo"
    ranks: int = 1
    ranks_per_host: int = 1
    """That share the network of a host; 1 on one host, where there is none between ranks."""
    rate: float = SLOWEST_RATE
    """Bytes per second: slower than that is no network that works."""
    retries_s: float = 0.0
    """How long an adapter may repeat a packet."""
    net_s: float | None = None
    """The time-out of process groups; None = what torch takes."""

    @property
    def first_call_s(self) -> float:
        """What the first call of an operation may take to connect."""
        return allowances.of_first_call(self.backend, self.ranks)


def slowest_rate(group: Agreement) -> float:
    """The rate that every rank may count on, bytes per second each way. All ranks get the same."""
    slowest = SLOWEST_RATE
    for size in _SIZES if group.size > 1 else ():
        tensor = torch.zeros(size, dtype=torch.uint8, device=group.device)
        group.add_up(tensor)  # the first of a size may set something up
        begin = time.perf_counter_ns()
        group.add_up(tensor)
        took_s = group.maximum([time.perf_counter_ns() - begin])[0] / 1e9
        seen = 2 * (group.size - 1) / group.size * size / took_s
        slowest = min(SLOWEST_RATE, seen / _SLOWER)
        if took_s * _SIZES[-1] / size > _LONGEST_S:
            break
    return slowest


def retries_s(backend: str, one_host: bool, nccl: str | None) -> float:
    """How long the adapters of this host may repeat a packet; 0 where NCCL uses none."""
    if backend != "nccl" or one_host:
        return 0.0
    found, version = network_facts(os.environ), versions.parse(nccl or "")
    host = NcclHost(settings=settings.of(found, version), facts=found)
    try:
        if host.network_kind == "Socket":
            return 0.0
    except NotKnown:  # then there may be adapters
        pass
    return ib_retries.seconds(host.integer("NCCL_IB_TIMEOUT"), host.integer("NCCL_IB_RETRY_CNT"), version)


def let_groups_wait(seconds: float | None) -> None:
    """As long as the group of all ranks: those that a library made have its own time-out, which may be shorter."""
    if seconds is None:
        return
    for group in dist.distributed_c10d._world.pg_map:
        with warnings.catch_warnings(category=UserWarning, action="ignore"):  # a backend that has none
            dist.distributed_c10d._set_pg_timeout(timedelta(seconds=seconds), group)
