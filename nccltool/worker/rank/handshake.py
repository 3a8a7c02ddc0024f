"""Before anything is timed: every rank says hello in the store, rank 0 judges, and all learn the decision.

The store answers while a rank is missing, where a collective would hang.
"""

import os
import platform
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import torch
from torch.distributed import PrefixStore

from nccltool import __version__
from nccltool.core import versions
from nccltool.core.findings import Finding, Subject
from nccltool.core.text import named
from nccltool.hosts import link_rates, nvlink, reader, usable_network
from nccltool.hosts.nccl import settings
from nccltool.hosts.nccl.host import NcclHost
from nccltool.hosts.sources import net
from nccltool.hosts.usable_network import UsableNetwork
from nccltool.launch import backend_choice, rank_agreement
from nccltool.launch.events import RankFacts
from nccltool.launch.finding_kinds import INTERFACE_UNUSABLE
from nccltool.launch.inside import RankPlace
from nccltool.launch.job import Job
from nccltool.probe import memory, plan
from nccltool.probe.job import ProbeJob
from nccltool.probe.split import FormedGroups, SplitGroup, formed
from nccltool.worker import memory as own_memory
from nccltool.worker.rank import own_gpu
from nccltool.worker.rank.own_gpu import OwnGpu

_RESOLVE_S = 0.5
_KEYS_OF_A_CALL = 1000
"""The facts of a rank have 1.2 KB."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Greeting:
    """What a rank puts into the store; other versions of nccltool read it, which is how they are told apart."""

    facts: RankFacts
    own_address: str | None
    """Its address on the way to the store's host."""
    dialled: str | None
    """The address at which it reaches the store's host."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What rank 0 answers."""

    run_id: str
    """Of the command of rank 0: the id under which the run is kept."""
    go: bool
    backend: str
    reason: str
    one_host: bool
    leader_host_id: str
    leader_address: str | None
    """An address of rank 0's host that another host has used; None when there is no other host."""
    bytes_for_step: int | None = None
    """Memory that every rank has for a step of a measurement; None = not known."""
    groups: tuple[SplitGroup, ...] = ()
    """Into which the ranks are divided; empty = they are not."""


def facts_of(place: RankPlace, own: OwnGpu) -> RankFacts:
    """The facts of this rank."""
    host = socket.gethostname()
    return RankFacts(
        rank=place.rank,
        node_rank=place.node_rank,
        local_rank=place.local_rank,
        world_size=place.world_size,
        host=host,
        host_id=net.host_id(),
        pid=os.getpid(),
        python=platform.python_version(),
        torch=str(torch.__version__),
        nccl=own_gpu.nccl_version(),
        nccltool=__version__,
        gpu=own.gpu,
        gpu_name=own.gpu_name,
        gpu_free_bytes=own_memory.free_before_start(own.index),
        host_free_bytes=own_memory.free(torch.device("cpu")),
        gpus=own.gpus,
        gpus_of_host=own.gpus_of_host,
        gpu_problem=own.gpu_problem,
        permits_shared_gpus=own.permits_shared_gpus,
        host_addresses=net.resolve(host, _RESOLVE_S),
        has_rccl=torch.version.hip is not None,
    )


def meet(
    job: Job, place: RankPlace, store: PrefixStore, facts: RankFacts
) -> tuple[Decision, tuple[Finding, ...], tuple[RankFacts, ...]]:
    """Exchange greetings: (decision; and on rank 0 the findings and everybody's facts)."""
    own, dialled = net.local_address_towards(place.store_host, place.store_port) or (None, None)
    greeting = Greeting(facts=facts, own_address=own, dialled=dialled)
    store.set(f"greeting/{place.rank}", msgspec.json.encode(greeting))
    if place.rank:
        decision = msgspec.json.decode(_get(store, ["decision"])[0], type=Decision)
        return decision, (), ()
    greetings = _greetings(store, range(place.world_size))
    ranks = rank_agreement.numbered([greeting.facts for greeting in greetings])
    decision, findings = _judged(job, ranks, [greeting.dialled for greeting in greetings])
    store.set("decision", msgspec.json.encode(decision))
    return decision, findings, ranks


def _judged(
    job: Job, ranks: Sequence[RankFacts], dialled: Sequence[str | None]
) -> tuple[Decision, tuple[Finding, ...]]:
    """Whether to go on, and over what. `dialled`: the address at which each reaches the store's host."""
    backend, reason = backend_choice.choose_backend(job, ranks)
    room = memory.least(backend, ranks, job.ops) if isinstance(job, ProbeJob) else None
    divided = formed(job.split, ranks) if isinstance(job, ProbeJob) and job.split else FormedGroups()
    sizes = [len(group.ranks) for group in divided.groups] or [len(ranks)]
    findings = (
        *rank_agreement.check(job, ranks),
        *backend_choice.problems(job, backend, ranks),
        *divided.findings,
        *(plan.before_start(job, backend, sizes, room) if isinstance(job, ProbeJob) else ()),
    )
    leader = ranks[0].host_id
    others = [address for facts, address in zip(ranks, dialled, strict=True) if facts.host_id != leader]
    decision = Decision(
        run_id=job.run_id,
        go=not any(finding.is_error for finding in findings),
        backend=backend,
        reason=reason,
        one_host=not others,
        leader_host_id=leader,
        bytes_for_step=room.for_step if room else None,
        groups=divided.groups,
        leader_address=next((address for address in others if address and not net.is_loopback(address)), None),
    )
    return decision, findings


def interface(decision: Decision, place: RankPlace, facts: RankFacts) -> str | None:
    """The interface for Gloo, or None when it cannot be told and Gloo must choose.

    Gloo would take the address that the host's own name resolves to, which is often 127.0.1.1.
    """
    if decision.one_host:
        return "lo"
    address = decision.leader_address  # at which other hosts reach this one
    if facts.host_id != decision.leader_host_id:
        address, _ = net.local_address_towards(place.store_host, place.store_port) or (None, None)
    return net.interface_with(address) if address else None


def interface_problem(decision: Decision, facts: RankFacts, wanted: str) -> Finding | None:
    """Why the interfaces that GLOO_SOCKET_IFNAME names cannot be used here; None when they can."""
    there = [name for _, name in socket.if_nameindex()]
    for name in wanted.split(",") if wanted and decision.backend == "gloo" else ():
        if name not in there:
            reason = f"it has {named(there, 8)}"
        elif not decision.one_host and all(net.is_loopback(address) for address in net.addresses_of(name)):
            reason = "other hosts cannot reach its addresses"
        else:
            continue
        return INTERFACE_UNUSABLE.finding(
            subject=Subject(kind="variable", name="GLOO_SOCKET_IFNAME"),
            message=f"rank {facts.rank} on {facts.host} cannot use GLOO_SOCKET_IFNAME={wanted}: {name}: {reason}",
            remedy="unset GLOO_SOCKET_IFNAME (nccltool finds the interface to the other hosts), "
            "or name that interface",
        )
    return None


def clocks(place: RankPlace, store: PrefixStore) -> list[float]:
    """Every rank's wall clock, read right after a collective; on rank 0, elsewhere empty."""
    store.set(f"clock/{place.rank}", str(time.time()))
    if place.rank:
        return []
    return [float(clock) for clock in _get(store, [f"clock/{rank}" for rank in range(place.world_size)])]


def networks(
    place: RankPlace, store: PrefixStore, decision: Decision, facts: RankFacts, ranks: Sequence[RankFacts]
) -> dict[str, UsableNetwork]:
    """The networks between hosts, by host id; on rank 0, elsewhere empty. The first rank of a host looks."""
    if decision.one_host:
        return {}
    if place.local_rank == 0:
        gpus = gpus_here(place, store, facts) if decision.backend == "nccl" else None
        found = _network(decision.backend, facts, gpus)
        store.set(f"network/{place.rank}", msgspec.json.encode(found))
    if place.rank:
        return {}
    first = {facts.host_id: facts.rank for facts in reversed(ranks) if facts.local_rank == 0}
    networks = _get(store, [f"network/{rank}" for rank in first.values()])
    return {
        host: msgspec.json.decode(network, type=UsableNetwork)
        for host, network in zip(first, networks, strict=True)
    }


def gpus_here(place: RankPlace, store: PrefixStore, facts: RankFacts) -> frozenset[str] | None:
    """The GPUs of the ranks of this host, which are numbered one after another; None = they are not."""
    if place.rank + place.local_world_size > place.world_size:
        return None
    ranks = range(place.rank, place.rank + place.local_world_size)
    theirs = [greeting.facts for greeting in _greetings(store, ranks)]
    gpus = {one.gpu for one in theirs if one.host_id == facts.host_id and one.gpu is not None}
    return frozenset(gpus) if len(gpus) == len(ranks) else None


def _network(backend: str, facts: RankFacts, gpus: frozenset[str] | None) -> UsableNetwork:
    """The network of this host, as `backend` uses it now that the group is set up."""
    if backend == "gloo":
        return usable_network.of_gloo(os.environ.get("GLOO_SOCKET_IFNAME", ""), link_rates.ethernet())
    link = nvlink.nvlink(facts.gpu_name)
    in_a_rack = link is not None and link.between_hosts
    found = reader.network_facts(os.environ, fabric_s=reader.SECONDS if in_a_rack else 0.0)
    host = NcclHost(settings=settings.of(found, versions.parse(own_gpu.nccl_version() or "")), facts=found)
    network = usable_network.of_nccl(host, link_rates.ethernet(), link_rates.rdma(), gpus)
    return replace(network, domain=nvlink.domain(found.nvidia, host.settings)) if in_a_rack else network


def _greetings(store: PrefixStore, ranks: range) -> list[Greeting]:
    found = _get(store, [f"greeting/{rank}" for rank in ranks])
    return [msgspec.json.decode(greeting, type=Greeting) for greeting in found]


def _get(store: PrefixStore, keys: Sequence[str]) -> list[bytes]:
    """What ranks put there, however long it takes: the runner ends the run and names the culprit before the store
    gives up."""
    calls = (keys[first : first + _KEYS_OF_A_CALL] for first in range(0, len(keys), _KEYS_OF_A_CALL))
    return [bytes(value) for call in calls for value in store.multi_get(call)]
