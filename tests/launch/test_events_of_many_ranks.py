"""Ten thousand ranks: every kind of event fits one write and loses nothing, and findings stay short."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import msgspec
import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.hosts.counters import Growth, Peer
from nccltool.hosts.sources import tcp_table
from nccltool.hosts.usable_network import UsableNetwork
from nccltool.launch import (
    backend_choice,
    blame,
    events,
    fact_pieces,
    instructions,
    printed_events,
    rank_agreement,
)
from nccltool.launch.events import MAX_LINE, Event, EventReader, GpuProblem, RankFacts
from nccltool.launch.run_state import RunState
from nccltool.launch.stopped import MOST, StoppedProcess
from nccltool.probe import late_rank, transport
from nccltool.probe.collectives import NAMES
from nccltool.probe.events import OF_PROBES, Grouped, MeasuredWorld, PluginRaised, Result, Samples, WrongData
from nccltool.probe.job import ProbeJob
from nccltool.probe.split import SplitGroup
from nccltool.probe.traffic import UnevenTraffic
from nccltool.probe.transport import Limit
from nccltool.train import divergence
from nccltool.train import events as of_train
from nccltool.train.events import OF_TRAININGS
from nccltool.train.result import ModelShape, RankStarved
from nccltool.train.strategies.base import EXPERTS
from nccltool.worker.node import counting
from tests.captured_hosts import healthy
from tests.samples import facts

RANKS, OF_NODE = 10_000, 8
NODES = RANKS // OF_NODE
LAST = RANKS - 1
NS = 10**18
"""31 years: no number of nanoseconds is longer."""
BYTES = 10**15
MESSAGE = 600
"""Characters of a finding that people still read."""


def rank(number: int) -> RankFacts:
    node = number // OF_NODE
    return replace(
        facts(0),
        rank=number,
        node_rank=node,
        local_rank=number % OF_NODE,
        world_size=RANKS,
        host=f"ip-10-{node // 256}-{node % 256}-17.eu-central-1.compute.internal",
        host_id=f"6f3c0f1a-8d1c-4b1e-9d3b-0d6a3f{node:06} net:[4026531840]",
        gpu=f"GPU-8f1c2d3e-0000-0000-0000-{number:012}",
        host_addresses=tuple(f"2001:db8::{node:x}:{n:x}" for n in range(32)),
    )


DEAD = GpuProblem(cause="cuda", text="CUDA error: " + "x" * 300)
WORLD = tuple(rank(number) for number in range(RANKS))
HOSTS = tuple(one.host for one in WORLD[::OF_NODE])
ADDRESSES = tuple(f"2001:0db8:0000:0000:0000:0000:{n:04x}:1234" for n in range(32))


def measured_world() -> MeasuredWorld:
    """As rank 0 makes it, of hosts no two of which have the same network."""
    networks = {
        facts.host_id: UsableNetwork(
            bytes_per_s=5e10 + facts.node_rank,
            text=f"8 x {400 + facts.node_rank} Gb/s InfiniBand (/sys/class/infiniband/*/ports/*/rate)",
            transport="infiniband",
            devices=f"8 x {400 + facts.node_rank} Gb/s InfiniBand",
        )
        for facts in WORLD
    }
    limits = transport.limits(tuple(NAMES), "nccl", WORLD, networks)
    carrier, nics = transport.between_ranks("nccl", WORLD, networks)
    assert limits.rows
    return MeasuredWorld(
        world_size=RANKS,
        emulated=False,
        backend="nccl",
        backend_version="2.29.7",
        backend_reason="every rank has a GPU and NCCL",
        steps=10**6,
        limits=limits.rows,
        limit_source=limits.source,
        limit_unknown_reason=limits.unknown_reason,
        transport=carrier,
        nics=nics,
    )


def diverged() -> of_train.Diverged:
    """Two micro-batches of each rank, and all weights are off."""
    return of_train.Diverged(
        rank=LAST,
        step=10**6,
        strategy="deepspeed",
        number=10**6,
        what="parameters",
        got=repr(-1 / 3e300),
        expected=repr(-1 / 3e300),
        error=repr(1 / 3e300),
        tolerance=1 / 3e300,
        shares=of_train.Shares.of([-1000.1234 - n / 3 for n in range(2 * RANKS)]),
    )


def begun() -> Iterator[Event]:
    """As a command prints it."""
    lines: list[str] = []
    job = ProbeJob(run_id="20250102T030405Z-beef", ops=tuple(NAMES), nodes=NODES, node_ranks=tuple(range(NODES)))
    teller = printed_events.Teller(lines.append, job.run_id, 0)
    teller.begin(
        printed_events.Begun(
            job=job,
            leads=True,
            part=0,
            parts=NODES,
            ranks_seen=RANKS,
            command=("nccltool", "probe", "--hosts", ",".join(facts.host for facts in WORLD[::OF_NODE])),
            started="2025-01-02T03:04:05Z",
            nccltool="0.1.0",
            torch="2.13.0",
        )
    )
    reader = EventReader(printed_events.Begin)
    for line in lines:
        assert len(line.encode()) <= MAX_LINE
        told = printed_events.read(line.encode(), reader)
        assert told is not None
        assert told.event is not None
        yield told.event


def ended() -> Iterator[Event]:
    (finding,) = versions()
    yield printed_events.End(text=finding.message, more=False)


EXAMPLES: dict[type[Event], Callable[[], Event | Iterator[Event]]] = {
    events.Node: lambda: events.Node(
        node=NODES - 1,
        host=WORLD[LAST].host,
        host_id=WORLD[LAST].host_id,
        nccltool="0.1.0",
        gpus=OF_NODE,
        addresses=ADDRESSES,
        port=65535,
        data_port=65535,
    ),
    events.Reached: lambda: events.Reached(
        node=NODES - 1,
        goal=NODES - 2,
        port=65535,
        addresses=ADDRESSES[:8],
        failures=tuple(
            f"{one}: no answer within 5 s: a firewall drops the packets, or there is no route"
            for one in ADDRESSES[8:]
        ),
    ),
    events.Starting: lambda: events.Starting(),
    events.HalfOpen: lambda: events.HalfOpen(node=NODES - 1, callers=(ADDRESSES[0],) * tcp_table.MOST),
    events.Counted: lambda: events.Counted(
        host=WORLD[LAST].host,
        addresses=ADDRESSES[: counting.ADDRESSES],
        seconds=3600.123456,
        growth=(Growth("mlx5_15:1", "excessive_buffer_overrun_errors", 2**31, 2**31),) * counting.MOST,
        peers=(Peer(ADDRESSES[0], 2**32, 2**32, 2**40, 1234.123456),) * counting.MOST,
        unread=(),
    ),
    events.Refused: lambda: events.Refused(connections=10**6, addresses=ADDRESSES[:4]),
    events.FactsPiece: lambda: fact_pieces.pieces(NODES - 1, healthy("ib")),
    events.Spawned: lambda: events.Spawned(rank=LAST, node_rank=NODES - 1, host=WORLD[LAST].host, pid=2**22),
    events.Hello: lambda: events.Hello(facts=WORLD[LAST]),
    events.Met: lambda: events.Met(rank=LAST, run_id="20250102T030405Z-beef"),
    MeasuredWorld: measured_world,
    events.Enter: lambda: events.Enter(
        rank=LAST,
        step=10**6,
        op="tp_fsdp",
        bytes=BYTES,
        label="the timed steps of tp_fsdp",
        within=tuple((f"phase {n}", "all_gather of the parameters, all_reduce and more" * 3) for n in range(6)),
    ),
    events.Anew: lambda: events.Anew(attempt=100),
    events.Reported: lambda: map(events.Reported.of, versions()),
    events.Failed: lambda: events.Failed(rank=LAST, in_collective=True, text="x" * 900, trace="y" * 2500),
    events.Beat: lambda: events.Beat(rank=LAST, phase="saving a checkpoint", step=10**6, calls=2**63, state="S"),
    events.Exited: lambda: events.Exited(rank=LAST, code=-64),
    events.AgentKilled: lambda: events.AgentKilled(node_rank=NODES - 1, host=WORLD[LAST].host, code=-9),
    events.Stopped: lambda: events.Stopped(
        node=NODES - 1,
        host=WORLD[LAST].host,
        processes=(StoppedProcess(pid=2**22, role="node process", below=(2**22,) * MOST),) * MOST,
    ),
    events.Log: lambda: events.Log(rank=LAST, text="x" * 4000),
    events.Stack: lambda: events.Stack(rank=LAST, text="x" * 4000),
    events.Bye: lambda: events.Bye(rank=LAST, peak_rss_bytes=BYTES),
    Grouped: lambda: Grouped.of(
        NODES - 1,
        SplitGroup(name="leaf " + "x" * 64, ranks=tuple(range(RANKS)), nodes=HOSTS),
        tuple(Limit(op=op, busbw_bytes_per_s=math.pi * 1e11, may_be_exceeded=True) for op in NAMES),
    ),
    Samples: lambda: Samples.of(10**6, [NS] * 1000),
    Result: lambda: Result(
        step=10**6,
        op="reduce_scatter",
        count=BYTES,
        bytes=BYTES,
        bytes_per_rank=BYTES,
        dtype="float32",
        reduce_op="sum",
        placement="out-of-place",
        cadence="isolated",
        noisy=True,
        wrong=BYTES,
        late_rank=LAST,
        late_s=1 / 3e300,
        late_ranks=((LAST, 1 / 3e300),) * late_rank.MOST_NAMED,
        traffic=UnevenTraffic(
            skew="zipf:" + "9" * 20,
            imbalance=1 / 3e300,
            busiest_rank=LAST,
            slowest_destination=LAST,
            slowest_ratio=1 / 3e300,
            unknown_reason="x" * 100,
        ),
    ),
    PluginRaised: lambda: PluginRaised(rank=LAST, op="reduce_scatter", bytes=BYTES, text="9" * 300),
    WrongData: lambda: WrongData(
        rank=LAST,
        step=10**6,
        op="reduce_scatter",
        bytes=BYTES,
        elements=BYTES,
        first_index=BYTES,
        got="1" * 300,
        expected="1" * 300,
        source="from rank " + "9" * 300,
    ),
    of_train.Built: lambda: of_train.Built(
        strategy="deepspeed",
        shape=ModelShape(
            layers=BYTES,
            width=BYTES,
            heads=BYTES,
            context=BYTES,
            vocabulary=BYTES,
            batch=BYTES,
            grown=("layers", "width", "heads", "context", "vocabulary", "batch"),
            ranks=RANKS,
            replicas=RANKS,
        ),
    ),
    of_train.TrainedStep: lambda: of_train.TrainedStep(
        step=10**6,
        strategy="deepspeed",
        number=10**6,
        loss=repr(1 / 3),
        reference_loss=repr(1 / 3),
        gradient_norm=repr(1 / 3e300),
        reference_gradient_norm=repr(1 / 3e300),
        ns=NS,
    ),
    of_train.Diverged: diverged,
    of_train.Compared: lambda: of_train.Compared(
        rank=LAST,
        strategy="deepspeed",
        micro_batches=2 * RANKS,
        errors=tuple((what, repr(1 / 3e300), 1 / 3e300) for what in ("parameters", "loss", "gradient", "update")),
        rule="step x 64 x 1.19e-07 (float32) + 2 x 0.00781 (bfloat16)" * 3,
    ),
    of_train.OfRanks: lambda: of_train.OfRanks.of(
        "deepspeed", 10**6, [NS] * RANKS, [BYTES] * RANKS, slowest_in=[10**6] * RANKS
    ),
    of_train.TimedSteps: lambda: of_train.TimedSteps(
        step=10**6,
        strategy="deepspeed",
        sequences=BYTES,
        tokens=BYTES,
        without_sync_ns=NS,
        alone_ns=NS,
        late_ranks=((LAST, 1 / 3e300),) * late_rank.MOST_NAMED,
        starved=RankStarved(rank=LAST, share=1 / 3e300, others=1 / 3e300),
        moving_ns=NS,
        launch_ns=NS,
        late_calls_ns=NS,
    ),
    of_train.InputDealt: lambda: of_train.InputDealt(
        strategy="deepspeed", sequences=BYTES, epoch_steps=BYTES, left_out=BYTES
    ),
    of_train.InputTimed: lambda: of_train.InputTimed.of("deepspeed", 10**6, [NS] * RANKS, [NS] * RANKS),
    of_train.InputWrong: lambda: of_train.InputWrong(
        strategy="deepspeed",
        rank=LAST,
        number=10**6,
        what="of an earlier epoch",
        got=(BYTES,) * of_train.MOST_SHOWN,
        expected=(BYTES,) * of_train.MOST_SHOWN,
    ),
    of_train.Flowed: lambda: of_train.Flowed(
        strategy="pipeline",
        ranks=RANKS,
        micro_batches=2 * RANKS,
        stages=2,
        computing_ns=NS * RANKS // 1000,
        running_ns=NS * RANKS // 1000,
    ),
    of_train.Passed: lambda: of_train.Passed(
        strategy="pipeline",
        rank=LAST,
        passes=((2, 2 * RANKS, 2 * RANKS, NS * RANKS // 1000, NS * RANKS // 1000),) * of_train.PASSES_PER_EVENT,
    ),
    of_train.MemorySeen: lambda: of_train.MemorySeen.of("deepspeed", 10**6, [(BYTES,) * 4] * 10**4),
    of_train.VariantTried: lambda: of_train.VariantTried(
        strategy="deepspeed",
        number=10**6,
        name="x" * 100,
        setting="x" * 200,
        is_exact=False,
        reason="x" * 1000,
        wrong=True,
        without_sync_ns=NS,
        exposed_between=(1 / 3, 2 / 3),
    ),
    of_train.VariantTimed: lambda: of_train.VariantTimed.of("deepspeed", 10**6, [NS] * 10**4),
    of_train.Routed: lambda: of_train.Routed(strategy="deepspeed", tokens=(BYTES,) * EXPERTS, choices=BYTES),
    of_train.NotCompared: lambda: of_train.NotCompared(strategy="deepspeed", rank=LAST, reason="x" * 1000),
    of_train.NotTrained: lambda: of_train.NotTrained(strategy="tensor", reason="x" * 1000),
    of_train.NotCompared: lambda: of_train.NotCompared(strategy="tensor", rank=RANKS, reason="x" * 1000),
    of_train.CheckpointSaved: lambda: of_train.CheckpointSaved(
        strategy="deepspeed", number=10**6, bytes=BYTES, ns=NS
    ),
    of_train.Resumed: lambda: of_train.Resumed(
        strategy="deepspeed", number=10**6, folder="/x" * 1000, ranks_then=RANKS, sequences=BYTES, ns=NS
    ),
    printed_events.Begin: begun,
    printed_events.End: ended,
}
SAID: tuple[type[Event], ...] = (
    *(*events.EVERYWHERE, *OF_PROBES, *OF_TRAININGS),
    *(printed_events.Begin, printed_events.End),
)
KINDS = set(SAID) - {events.World}
"""World itself is only the base of MeasuredWorld."""


def test_every_kind_is_tried() -> None:
    assert EXAMPLES.keys() == KINDS


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
def test_an_event_of_ten_thousand_ranks_fits_and_loses_nothing(kind: type[Event]) -> None:
    made = EXAMPLES[kind]()
    pieces = [made] if isinstance(made, Event) else list(made)
    reader = EventReader(*KINDS)
    for event in pieces:
        line = events.encode(event)
        assert len(line) <= MAX_LINE
        assert type(event) is kind
        assert reader.decode(line) == event


def test_what_is_said_of_each_rank_is_whole_again() -> None:
    ns, peaks = [NS - n for n in range(RANKS)], [None if n % 7 == 0 else BYTES - n for n in range(RANKS)]
    for_timed, without_times = (list(of_train.OfRanks.of("ddp", 7, times, peaks)) for times in (ns, []))
    assert [n for piece in for_timed for n in piece.ns] == ns
    assert [n for piece in without_times for n in piece.ns] == []
    for pieces in (for_timed, without_times):
        assert [n for piece in pieces for n in piece.peak_bytes] == peaks
        assert [piece.first for piece in pieces] == list(range(0, RANKS, of_train.RANKS_PER_EVENT))


def test_a_command_line_of_ten_thousand_ranks_is_whole_again() -> None:
    text = "".join(event.text for event in begun() if isinstance(event, printed_events.Begin))
    assert all(facts.host in text for facts in WORLD[::OF_NODE])


@pytest.mark.parametrize("instruction", ["try", "go"])
def test_what_a_node_is_told_does_not_grow_with_their_number(instruction: str) -> None:
    goals = tuple(instructions.Goal(node=n, port=65535, addresses=ADDRESSES) for n in range(14))
    all_of_it: instructions.Instruction = instructions.Try(goals=dict.fromkeys(range(NODES), goals))
    if instruction == "go":
        places = {n: (n, "[2001:db8::1]:29500") for n in range(NODES)}
        all_of_it = instructions.Go(nodes=NODES, places=places, nproc_per_node=OF_NODE)
    told = instructions.for_nodes(all_of_it, (NODES - 1,))
    assert len(instructions.encode(told)) < 32 * 1024
    assert instructions.decode(instructions.encode(told)) == told


# ---- findings


def versions() -> Sequence[Finding]:
    """No two hosts have the same."""
    ranks = [replace(facts, torch=f"2.13.0+git{facts.node_rank:07}") for facts in WORLD]
    return [one for one in rank_agreement.check(_job(), ranks) if one.code == "version-mismatch"]


def _job(nodes: int = NODES) -> ProbeJob:
    return ProbeJob(run_id="20250102T030405Z-beef", ops=("all_reduce",), nodes=nodes, nproc_per_node=OF_NODE)


def same_gpu() -> Sequence[Finding]:
    ranks = [replace(facts, host_id="a", gpu="GPU-0") for facts in WORLD]
    return backend_choice.problems(_job(), "nccl", ranks)


def no_gpu_usable() -> Sequence[Finding]:
    return backend_choice.problems(_job(), "nccl", [replace(facts, gpus=8, gpu_problem=DEAD) for facts in WORLD])


def one_gpu_of_each_host_dead() -> Sequence[Finding]:
    ranks = [replace(one, gpus=8, gpu_problem=None if one.local_rank else DEAD) for one in WORLD]
    return backend_choice.problems(_job(), "nccl", ranks)


def half_of_one_host_dead() -> Sequence[Finding]:
    ranks = [
        replace(facts, host="a", host_id="a", gpus=RANKS, gpu_problem=DEAD if facts.rank % 2 else None)
        for facts in WORLD
    ]
    return backend_choice.problems(_job(), "nccl", ranks)


def too_few() -> Sequence[Finding]:
    return rank_agreement.check(_job(nodes=2 * NODES), WORLD)


def loopback() -> Sequence[Finding]:
    addresses = tuple(f"127.0.1.{n}" for n in range(250))
    return rank_agreement.check(_job(), [replace(facts, host_addresses=addresses) for facts in WORLD])


def skewed() -> Sequence[Finding]:
    return rank_agreement.clock_findings(WORLD, [1e9 + 100.0 * facts.node_rank for facts in WORLD])


def _run(*said: Event) -> RunState:
    state = RunState(_job(), RANKS, now=0.0)
    for event in said:
        state.apply(event, 1.0)
    return state


SPAWNED = [events.Spawned(rank=one.rank, node_rank=one.node_rank, host=one.host, pid=one.rank) for one in WORLD]
HELLO = [events.Hello(facts=one) for one in WORLD]
ENTERED = [events.Enter(rank=one.rank, step=0, op="all_reduce", bytes=2**20) for one in WORLD]


def beats(ranks: Sequence[RankFacts], calls: int, state: str = "S") -> list[Event]:
    return [events.Beat(rank=one.rank, phase="timing", step=0, calls=calls, state=state) for one in ranks]


def half_never_came() -> Sequence[Finding]:
    return [blame.after_timeout(_run(*SPAWNED[::2]), 30.0)]


def half_hang() -> Sequence[Finding]:
    said = [*beats(WORLD[::2], 8), *beats(WORLD[1::2], 7)]
    return [blame.after_timeout(_run(*SPAWNED, *HELLO, *ENTERED, *said), 30.0)]


def all_stopped() -> Sequence[Finding]:
    return [blame.after_timeout(_run(*SPAWNED, *HELLO, *ENTERED, *beats(WORLD, 7, "T")), 30.0)]


def all_hang() -> Sequence[Finding]:
    return [blame.after_timeout(_run(*SPAWNED, *HELLO, *ENTERED, *beats(WORLD, 7)), 30.0)]


def all_but_one_echo() -> Sequence[Finding]:
    said = [
        events.Failed(rank=one.rank, in_collective=True, text="Connection closed by peer") for one in WORLD[1:]
    ]
    found = blame.after_fault(_run(*SPAWNED, *HELLO, *ENTERED, *beats(WORLD[:1], 7, "T"), *said))
    assert found is not None
    assert found.subject == Subject(kind="rank", name="0")
    return [found]


def all_died() -> Sequence[Finding]:
    found = blame.after_fault(
        _run(*SPAWNED, *HELLO, *ENTERED, *(events.Exited(rank=one.rank, code=-9) for one in WORLD))
    )
    return [found] if found else []


def an_agent_died() -> Sequence[Finding]:
    ranks = [replace(one, node_rank=0) for one in WORLD]
    spawned = [events.Spawned(rank=one.rank, node_rank=0, host=one.host, pid=one.rank) for one in ranks]
    found = blame.after_fault(_run(*spawned, events.AgentKilled(node_rank=0, host="alpha", code=-9)))
    return [found] if found else []


def half_differ() -> Sequence[Finding]:
    one = diverged()
    wrong = [msgspec.structs.replace(one, rank=facts.rank) for facts in WORLD[::2]]
    return [divergence.finding("ddp", wrong, RANKS, RANKS, 2 * RANKS, False)]


FINDINGS = (
    *(versions, same_gpu, too_few, loopback, skewed, half_never_came, half_hang, all_stopped, all_hang),
    *(no_gpu_usable, one_gpu_of_each_host_dead, half_of_one_host_dead),
    *(all_but_one_echo, all_died, an_agent_died, half_differ),
)


@pytest.mark.parametrize("make", FINDINGS, ids=lambda make: make.__name__)
def test_a_finding_of_ten_thousand_ranks_can_be_read(make: Callable[[], Sequence[Finding]]) -> None:
    found = make()
    assert found
    for one in found[:20]:
        assert len(one.message) <= MESSAGE, one.message
        assert len(one.subject.name) <= MESSAGE
        assert len("".join(one.evidence)) <= 4 * MESSAGE
        reported = events.Reported.of(one)
        assert events.decode(events.encode(reported)) == reported


def test_a_part_of_one_rank_that_is_lost_is_found_among_ten_thousand() -> None:
    """Its weights are told by a few: the first that are off, how many are, and the last."""
    weights = [1.0] * 2 * RANKS
    weights[2 * 7777] = weights[2 * 7777 + 1] = 0.0
    shares = of_train.Shares.of(weights)
    one = msgspec.structs.replace(diverged(), what="gradient", expected="1.0", shares=shares)
    wrong = [msgspec.structs.replace(one, rank=facts.rank) for facts in WORLD]
    found = divergence.finding("ddp", wrong, RANKS, RANKS, 2 * RANKS, False)
    assert found.subject == Subject(kind="rank", name="7777")
    assert (
        "micro-batch 15554 counts 0 times, micro-batch 15555 counts 0 times; the others count "
        "once" in found.evidence[1]
    )
