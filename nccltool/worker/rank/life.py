"""The life of one rank: hello, meet, connect, probe, bye."""

import os
import sys
import traceback
from collections.abc import Sequence
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore

from nccltool.core import processes
from nccltool.core.plugins import PluginFailed
from nccltool.core.text import listed, named
from nccltool.hosts import gpu
from nccltool.hosts.usable_network import UsableNetwork
from nccltool.launch import allowances, backend_choice, events, fault_injection, rank_agreement
from nccltool.launch.events import RankFacts
from nccltool.launch.inside import RankPlace
from nccltool.launch.job import Job
from nccltool.launch.run_state import LOOKING_AT_GPU
from nccltool.localize.pairs.job import PairsJob
from nccltool.probe import collectives, plan, transport
from nccltool.probe.events import Grouped, MeasuredWorld
from nccltool.probe.job import ProbeJob
from nccltool.probe.transport import Limits
from nccltool.train.job import TrainJob
from nccltool.worker.agreement import Agreement, CollectiveFailed
from nccltool.worker.channel import Channel
from nccltool.worker.node.rendezvous import connect, of_place
from nccltool.worker.pairs import meeting, rail_choice
from nccltool.worker.pairs.rounds import Rounds
from nccltool.worker.probe.groups import GroupProber
from nccltool.worker.probe.step import Prober, ToRunner
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank import contact, handshake, nccl_log, own_gpu
from nccltool.worker.rank.contact import Contact
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.own_gpu import OwnGpu
from nccltool.worker.rank.tools import RankTools

_MESSAGE = 600
_NO_LIMITS: tuple[str, ...] = ()
"""Of what is not measured over all ranks, no limit is worked out."""
_TRACE = 1800
_SOURCES = 2
"""Of limits that differ between groups."""


def main(job: Job, place: RankPlace, slot: ProgressPage, channel: Channel) -> int:
    """Run one rank to its end; 0 when it did all that was asked."""
    try:
        _live(job, place, slot, channel)
    except Exception as error:  # noqa: BLE001 - whatever it is, the runner must hear of it before we go
        in_collective = isinstance(error, CollectiveFailed)
        cause = error.__cause__ if in_collective else error
        of_plugin = isinstance(cause, PluginFailed)
        text, trace = str(cause) if of_plugin else f"{type(cause).__name__}: {cause}", traceback.format_exc()
        sys.stderr.write(trace)
        channel.emit(
            events.Failed(
                rank=place.rank,
                in_collective=in_collective and not of_plugin,
                of_plugin=of_plugin,
                text=text[:_MESSAGE],
                trace=trace[-_TRACE:],
            )
        )
        return 1
    channel.emit(events.Bye(rank=place.rank, peak_rss_bytes=processes.peak_rss_bytes()))
    return 0


def _live(job: Job, place: RankPlace, slot: ProgressPage, channel: Channel) -> None:
    injector = FaultInjector(fault_injection.parse(job.fault), place.rank, job.attempt)
    injector.at("start")
    own = _own_gpu(job, place, slot)
    facts = handshake.facts_of(place, own)
    slot.phase("joining")
    channel.emit(events.Hello(facts=facts))
    injector.at("hello")
    _require_operations(job, facts.host)
    store = PrefixStore("nccltool/ranks", connect(of_place(job, place), job.join_timeout_s))
    store.set_timeout(_net(job))
    decision, findings, ranks = slot.watched(lambda: handshake.meet(job, place, store, facts))()
    if decision.run_id != job.run_id:
        channel.emit(events.Met(rank=place.rank, run_id=decision.run_id))
    channel.report(*findings)
    if not decision.go:
        return
    problem = handshake.interface_problem(decision, facts, os.environ.get("GLOO_SOCKET_IFNAME", ""))
    if problem is not None:
        channel.report(problem)
        return
    device = _device(job, decision, own, facts, slot, channel)
    if device is None:
        return
    slot.phase("connecting", allowance_s=allowances.of_first_contact(decision.backend, place.world_size))
    interface = handshake.interface(decision, place, facts)
    set_here = nccl_log.ask_for_warnings(decision.backend, facts.nccl, os.environ)
    slot.watched(lambda: _connect(job, place, store, decision, interface, device))()
    clocks = slot.watched(lambda: handshake.clocks(place, store))()
    networks = slot.watched(lambda: handshake.networks(place, store, decision, facts, ranks))()
    if place.rank == 0:
        channel.report(*rank_agreement.clock_findings(ranks, clocks))
        of_groups = _limits_of_groups(job, decision, ranks, networks)
        for number, (group, limited) in enumerate(zip(decision.groups, of_groups, strict=True)):
            channel.emit(*Grouped.of(number, group, limited.rows))
        channel.emit(_world(job, decision, ranks, networks, set_here, of_groups))
    tools = RankTools(device, slot, channel, injector)
    tools.large_files = job.large_files
    tools.contact = _contact(job, decision, place, facts, tools.group)
    if isinstance(job, PairsJob):
        Rounds(job, tools, PrefixStore("pairs", store), decision.backend, ranks).run()
    else:
        _work(job, decision, tools)
    slot.phase("leaving")
    meeting.leave()


def _require_operations(job: Job, host: str) -> None:
    """Raises PluginFailed where a package is not installed on this host that the runner's host has."""
    if isinstance(job, ProbeJob) and (lacking := sorted(op for op in job.ops if not collectives.is_known(op))):
        raise PluginFailed(
            None, f"the plug-in of {listed(lacking)} is not installed on {host} or does not work there"
        )


def _own_gpu(job: Job, place: RankPlace, slot: ProgressPage) -> OwnGpu:
    """Over Gloo, what the driver does not answer is nobody's business."""
    if job.backend == "gloo":
        return OwnGpu()
    slot.phase(LOOKING_AT_GPU, allowance_s=allowances.of_driver(job, gpu.at_least()))
    return own_gpu.look(place)


def _device(
    job: Job,
    decision: handshake.Decision,
    own: OwnGpu,
    facts: RankFacts,
    slot: ProgressPage,
    channel: Channel,
) -> torch.device | None:
    """What the ranks compute on; None where it turned out to be of no use, which is then said."""
    if decision.backend != "nccl" or own.index is None:
        return torch.device("cpu")
    slot.phase(LOOKING_AT_GPU, allowance_s=allowances.of_driver(job, own.gpus or 1))
    try:
        return own_gpu.take(own.index)
    except RuntimeError as error:
        channel.report(backend_choice.unusable(facts, own_gpu.problem_of(error)))
        return None


def _work(job: Job, decision: handshake.Decision, tools: RankTools) -> None:
    if isinstance(job, TrainJob):
        from nccltool.worker.train.loop import Trainer  # the first optimizer costs 0.7 s

        Trainer(job.train, tools).run()
        return
    assert isinstance(job, ProbeJob)
    if decision.groups:
        GroupProber(job, tools, decision.groups, decision.backend).run(
            plan.rounds(job, decision.backend, _sizes(decision), decision.bytes_for_step)
        )
        return
    prober = Prober(job, tools, ToRunner(job, tools))
    for step in plan.steps(job, decision.backend, tools.group.size, decision.bytes_for_step):
        prober.run(step)


def _sizes(decision: handshake.Decision) -> list[int]:
    return [len(group.ranks) for group in decision.groups]


def _rows(job: ProbeJob, decision: handshake.Decision, ranks: int) -> int:
    """How many there will be."""
    backend, room = decision.backend, decision.bytes_for_step
    if not decision.groups:
        return len(plan.steps(job, backend, ranks, room))
    rounds = plan.rounds(job, backend, _sizes(decision), room)
    return sum(step is not None for one in rounds for step in one.steps)


def _world(
    job: Job,
    decision: handshake.Decision,
    ranks: tuple[RankFacts, ...],
    networks: dict[str, UsableNetwork],
    set_in_ranks: tuple[str, ...],
    of_groups: Sequence[Limits],
) -> MeasuredWorld:
    if isinstance(job, PairsJob):
        ops, steps = _NO_LIMITS, job.pairs.most_rounds
    elif isinstance(job, ProbeJob):
        ops, steps = job.ops, _rows(job, decision, len(ranks))
    else:
        assert isinstance(job, TrainJob)
        ops, steps = _NO_LIMITS, len(job.train.strategies) * (job.train.steps + 1)
    limited = _together(of_groups) if of_groups else transport.limits(ops, decision.backend, ranks, networks)
    carrier, nics = transport.between_ranks(decision.backend, ranks, networks)
    return MeasuredWorld(
        world_size=len(ranks),
        emulated=rank_agreement.is_emulated(ranks),
        backend=decision.backend,
        backend_version=(ranks[0].nccl if decision.backend == "nccl" else None) or ranks[0].torch,
        backend_reason=decision.reason,
        set_in_ranks=set_in_ranks,
        steps=steps,
        limits=limited.rows,
        limit_source=limited.source,
        limit_unknown_reason=limited.unknown_reason,
        transport=carrier,
        nics=nics,
    )


def _limits_of_groups(
    job: Job, decision: handshake.Decision, ranks: Sequence[RankFacts], networks: dict[str, UsableNetwork]
) -> list[Limits]:
    ops = job.ops if isinstance(job, ProbeJob) else ()
    return [
        transport.limits(ops, decision.backend, [ranks[rank] for rank in group.ranks], networks)
        for group in decision.groups
    ]


def _together(of_groups: Sequence[Limits]) -> Limits:
    """Where the limits of the groups come from."""
    sources = dict.fromkeys(one.source for one in of_groups if one.source)
    reasons = dict.fromkeys(one.unknown_reason for one in of_groups if one.unknown_reason)
    return Limits(
        source=named(sources, _SOURCES, "; ") or None, unknown_reason=named(reasons, _SOURCES, "; ") or None
    )


def _net(job: Job) -> timedelta:
    return timedelta(seconds=allowances.of_libraries(job.deadline_s))


def _contact(
    job: Job, decision: handshake.Decision, place: RankPlace, facts: RankFacts, group: Agreement
) -> Contact:
    return Contact(
        backend=decision.backend,
        ranks=place.world_size,
        ranks_per_host=1 if decision.one_host else place.local_world_size,
        rate=contact.slowest_rate(group),
        retries_s=contact.retries_s(decision.backend, decision.one_host, facts.nccl),
        net_s=allowances.of_libraries(job.deadline_s),
    )


def _connect(
    job: Job,
    place: RankPlace,
    store: PrefixStore,
    decision: handshake.Decision,
    interface: str | None,
    device: torch.device,
) -> None:
    """Set up the process group, and make the first contact."""
    if interface is not None and "GLOO_SOCKET_IFNAME" not in os.environ:
        os.environ["GLOO_SOCKET_IFNAME"] = interface
    if isinstance(job, PairsJob) and decision.backend == "nccl" and job.pairs.rails:
        os.environ.update(rail_choice.variables(job.pairs.rails[0], decision.backend))
    try:
        dist.init_process_group(
            decision.backend,
            store=PrefixStore("group", store),
            rank=place.rank,
            world_size=place.world_size,
            # the runner acts before, and names the culprit; this only frees ranks that lost it
            timeout=_net(job),
        )
        # not barrier(): on Gloo it can raise an earlier collective's error on one rank only
        dist.all_reduce(torch.zeros(1, device=device))
        if device.type == "cuda":
            torch.cuda.synchronize()
    except Exception as error:
        raise CollectiveFailed("while the group was being set up") from error
