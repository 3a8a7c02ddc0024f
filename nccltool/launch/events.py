"""The event stream: what ranks and their supervisors tell the runner over standard output.

An event is one line: RS (0x1e), a JSON object, a newline (RFC 7464), in one `write` of at most PIPE_BUF bytes:
lines do not mix. Every other line is log text. Events cross ssh, srun, mpirun and kubectl as they are.
"""

import contextlib
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from nccltool.core.findings import Finding
from nccltool.hosts.counters import Growth, Peer
from nccltool.launch.stopped import StoppedProcess

RECORD_SEPARATOR = b"\x1e"
MAX_LINE = 4096
"""PIPE_BUF on Linux: a write up to this size is atomic."""
MOST_EVIDENCE = 24
"""Lines in a finding of a worker."""


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", omit_defaults=True):
    """Base of all events."""

    awaits_saving: ClassVar[bool] = False
    """Whether who said it waits until it is on disk."""


class Node(Event, frozen=True, tag="node"):
    """A node process on another host is there; nothing is imported yet."""

    node: int
    """Its number in the launcher's list."""
    host: str
    host_id: str
    nccltool: str
    gpus: int | None
    """None = there are some, and only their driver knows how many."""
    addresses: tuple[str, ...]
    """Its own, without those that lead to no other host, the likeliest first."""
    port: int
    """Where it would serve the store; 0 = it could not listen there."""
    data_port: int
    """Any other port of it, as those are through which ranks talk."""
    problem: str = ""
    """Why it could not."""
    python: str = ""
    missing: tuple[str, ...] = ()
    """Packages that ranks need, and this Python does not have."""


LargeLost = Literal["", "from-goal", "to-goal"]
"""In which direction of a call large packets are lost, though small ones arrive; "" = none was seen lost."""


class Reached(Event, frozen=True, tag="reached"):
    """How a node can reach a port of another one."""

    node: int
    goal: int
    port: int
    addresses: tuple[str, ...]
    """Where it was reached; empty = nowhere."""
    failures: tuple[str, ...]
    """`address: reason` of the others."""
    large_packets_lost: str = ""
    """The first of them where small packets arrived, and large ones did not."""
    large_lost: LargeLost = ""
    """In which direction."""
    unanswered: bool = False
    """At one of the addresses nothing came back at all, not even a refusal."""


class Starting(Event, frozen=True, tag="starting"):
    """A node process still imports what it needs to speak, and gets on (nccltool.worker.starting)."""


class HalfOpen(Event, frozen=True, tag="half-open"):
    """Calls that came to a node while all called each other again, and whose callers do not hear its answers."""

    node: int
    callers: tuple[str, ...]
    """Their addresses."""


class Counted(Event, frozen=True, tag="counted"):
    """How a host's network counters grew, and what each peer was sent, from a process beside the agents."""

    host: str
    addresses: tuple[str, ...]
    """Its own."""
    seconds: float
    """Since the ranks began."""
    growth: tuple[Growth, ...]
    peers: tuple[Peer, ...]
    """Those first to which most was sent again."""
    unread: tuple[str, ...]
    """What could not be read, and why."""


class Refused(Event, frozen=True, tag="refused"):
    """Connections came to a port of the run and did not have its secret."""

    connections: int
    """Since the last of these events."""
    addresses: tuple[str, ...]
    """Where the most of them came from."""


class FactsPiece(Event, frozen=True, tag="facts"):
    """A piece of the snapshot of a node's host; see nccltool.launch.fact_pieces."""

    node: int
    number: int
    of: int
    text: str


class Spawned(Event, frozen=True, tag="spawned"):
    """A supervisor started the process of a rank."""

    rank: int
    node_rank: int
    host: str
    pid: int


GpuCause = Literal["torch", "driver", "hidden", "cuda"]
"""torch: it is built for CPUs, or for GPUs of another maker; driver: torch finds none, or one that is too old;
hidden: a variable hides all GPUs from the rank; cuda: CUDA's own error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuProblem:
    """Why a rank cannot use a GPU though its host has some."""

    cause: GpuCause
    text: str
    """In torch's words where it has any."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankFacts:
    """What one rank says of itself before anything is measured."""

    rank: int
    node_rank: int
    """-1: the launcher does not number the nodes."""
    local_rank: int
    world_size: int
    host: str
    host_id: str
    """Boot id and network namespace: equal for ranks that share one network stack."""
    pid: int
    python: str
    torch: str
    nccl: str | None
    """None = this torch has no NCCL. Of RCCL: the release of NCCL that it says it has."""
    nccltool: str
    gpu: str | None
    """UUID or PCI address of the rank's GPU; None = it has none, or --backend gloo needs none."""
    gpu_name: str | None = None
    gpu_free_bytes: int | None = None
    """Of the rank's GPU, which others may share; None = not known, or it has none."""
    host_free_bytes: int | None = None
    """Of its host or cgroup, which others may share; None = not known."""
    gpus: int | None = None
    """GPUs that are counted on the host and shown to this rank; None = not known, or nobody asked."""
    gpus_of_host: int | None = None
    """The same with those that are hidden from it."""
    gpu_problem: GpuProblem | None = None
    permits_shared_gpus: bool = False
    """NCCL is told here to take several ranks on one GPU, and is a release that does."""
    host_addresses: tuple[str, ...] | None = None
    """What the host's own name resolves to; None = it does not resolve."""
    has_rccl: bool = False
    """Its torch is built for GPUs of AMD: what torch calls NCCL is RCCL there."""

    @property
    def library(self) -> str:
        """What carries its bytes over GPUs, by its own name."""
        return "RCCL" if self.has_rccl else "NCCL"


class Hello(Event, frozen=True, tag="hello"):
    """A rank is up and says what it is."""

    facts: RankFacts


class Met(Event, frozen=True, tag="met"):
    """A rank learned of rank 0, whose command has another run id, which run it belongs to."""

    rank: int
    run_id: str


class World(Event, frozen=True, tag="world"):
    """Rank 0: everybody came and the checks before the start are passed."""

    world_size: int
    emulated: bool
    backend: Annotated[str, msgspec.Meta(pattern=r"^(?:gloo|nccl)\Z")]
    backend_version: str
    backend_reason: str
    steps: int
    set_in_ranks: tuple[str, ...] = ()
    """Variables of libraries that nccltool set there, as NAME=value."""


class Enter(Event, frozen=True, tag="enter"):
    """A rank begins a step."""

    rank: int
    step: int
    op: str
    bytes: int
    label: str = ""
    """What to call the step, where it is no operation at a size."""
    within: tuple[tuple[str, str], ...] = ()
    """Phase and what a rank waits for in it, where the phase alone does not say."""


class Anew(Event, frozen=True, tag="anew"):
    """The runner: all ranks have ended, and are started anew; what follows comes from others."""

    attempt: int


class Reported(Event, frozen=True, tag="finding"):
    """A finding made by a worker."""

    finding: Finding

    @classmethod
    def of(cls, finding: Finding) -> "Reported":
        """With as much of the evidence as an event has room for."""
        lines = finding.evidence
        if len(lines) > MOST_EVIDENCE:
            kept, left_out = lines[: MOST_EVIDENCE - 1], len(lines) - MOST_EVIDENCE + 1
            finding = replace(finding, evidence=(*kept, f"and {left_out} more lines"))
        return cls(finding=finding)


class Failed(Event, frozen=True, tag="error"):
    """A rank caught an exception."""

    rank: int
    in_collective: bool
    """Raised by a collective or by setting the group up: then it may only echo another rank's death."""
    text: str
    trace: str = ""
    of_plugin: bool = False
    """Raised by a plug-in, which the text names."""


class Beat(Event, frozen=True, tag="beat"):
    """How far a rank is, as its supervisor sees it from outside."""

    rank: int
    phase: str
    step: int
    calls: int
    """Communication calls entered plus calls left in this phase: odd = inside a call."""
    state: str
    """Process state as in /proc/<pid>/stat: R, S, D, T (stopped), Z, or '' when it cannot be read."""
    allowance_s: float = 0.0
    """How long nothing may move there, beyond --timeout (nccltool.launch.allowances)."""
    flowed: bool = False
    """Data of the call in which it is came or went since the last beat."""


class Exited(Event, frozen=True, tag="exit"):
    """The process of a rank has ended."""

    rank: int
    code: int
    """Exit code, or minus the signal's number."""
    told: bool = False
    """Its supervisor had been told to end it: by the agent, a launcher, a scheduler."""
    ended_by: str = ""
    """Which signal its supervisor got from a process that has no part in the run."""
    node_rank: int = -1
    host: str = ""
    """Said by the agent, where the supervisor was killed, perhaps before it said anything."""


class AgentKilled(Event, frozen=True, tag="agent-killed"):
    """The agent of a node was ended by a signal, and the kernel ended its ranks with it."""

    node_rank: int
    host: str
    code: int
    """Minus the signal's number."""


class Stopped(Event, frozen=True, tag="stopped"):
    """Which processes above the ranks are stopped; those that an earlier one of this host named, and this one does
    not, run again."""

    node: int
    """Its number in the launcher's list."""
    host: str
    processes: tuple[StoppedProcess, ...] = ()
    watcher: Literal["", "supervisor"] = ""
    """Who has looked, where there are several: of each, the last word counts."""


class Log(Event, frozen=True, tag="log"):
    """Text that a rank's process wrote."""

    rank: int
    text: str


class Stack(Event, frozen=True, tag="stack"):
    """Where a rank that makes no progress is."""

    rank: int
    text: str


class Bye(Event, frozen=True, tag="bye"):
    """A rank is done, in order."""

    rank: int
    peak_rss_bytes: int | None = None
    """Most memory that was resident at once; None when it cannot be read."""


EVERYWHERE: tuple[type[Event], ...] = (
    *(Starting, Node, Reached, HalfOpen, Counted, Refused, FactsPiece, Spawned, Hello, Met, World, Enter, Anew),
    *(Reported, Failed, Beat, Exited, AgentKilled, Stopped, Log, Stack, Bye),
)
"""What is said in runs of all kinds; what the ranks of a product say besides, that product knows."""

_SHORTEST_CUT = 16
"""Longer than the words that must stay whole: kinds of events, operations, types."""

_encoder = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    """The line of an event; texts that would not fit are cut at their beginning."""
    with contextlib.suppress(UnicodeEncodeError):  # half a surrogate pair: a file name that is not UTF-8
        if len(line := _line(event)) <= MAX_LINE:
            return line
    plain = _each_text(msgspec.to_builtins(event), lambda text: text.encode(errors="replace").decode())
    limit = MAX_LINE
    while len(line := _line(plain)) > MAX_LINE:
        limit //= 2
        # a kind with a tuple that grows with ranks is sent in pieces: see the test of 10,000 ranks
        assert limit >= _SHORTEST_CUT, "an event without long text fits"
        plain = _each_text(plain, partial(_cut, most=limit))
    return line


def _line(event: Any) -> bytes:
    return RECORD_SEPARATOR + _encoder.encode(event) + b"\n"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else "..." + text[3 - most :]


def _each_text(plain: Any, change: Callable[[str], str]) -> Any:
    if isinstance(plain, dict):
        return {key: _each_text(value, change) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_each_text(value, change) for value in plain]
    return change(plain) if isinstance(plain, str) else plain


class EventReader:
    """Reads events of these kinds. One that has the tag of an earlier one takes its place."""

    def __init__(self, *kinds: type[Event]) -> None:
        by_tag = {kind.__struct_config__.tag: kind for kind in kinds}
        self._decoder = msgspec.json.Decoder(reduce(operator.or_, by_tag.values()))

    def from_json(self, text: bytes) -> Event | None:
        """The event, or None when it is damaged or of another kind."""
        try:
            event: Event = self._decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return event

    def decode(self, line: bytes) -> Event | None:
        """The event of a line, or None for log text."""
        return self.from_json(line[1:]) if line.startswith(RECORD_SEPARATOR) else None


decode = EventReader(*EVERYWHERE).decode
"""Of runs in which no ranks are started."""
