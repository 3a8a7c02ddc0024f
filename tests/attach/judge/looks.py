"""Looks at jobs, made of the stacks that were taken of real ones and of the counters that belong to them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nccltool.attach.seen.job import HostLook, HostSample, JobLook, RankSample
from nccltool.attach.seen.process import CgroupState, ProcessState, SocketSeen, StackFrame, ThreadStack
from nccltool.attach.seen.ranks import RankFound
from tests.attach.phases.captured import stacks

SPAN_S = 2.0
WAITS = ("ddp-sleep", "0")
SLEEPS = ("ddp-sleep", "1")
COMPUTES = ("busy", "1")
OWN_FILE = "/home/me/train.py"


@dataclass(frozen=True, kw_only=True)
class R:
    """One rank in two samples."""

    stack: tuple[str, str] | None = WAITS
    """A captured job and one of its ranks; None = its stack was not read."""
    then: tuple[str, str] | None = None
    """In the second sample, if it is another one."""
    frames: tuple[tuple[str, str, int], ...] = ()
    """Instead of `stack`."""
    state: str = "S"
    cpu: float = 0.0
    switches: int | None = 0
    wrote: int = 0
    idle_s: float = 60.0
    """Since its last data to or from a rank."""
    delay: float = 0.0
    throttled: float = 0.0
    frozen: bool = False
    oom: int = 0
    gone: bool = False
    tracer: int = 0
    children: tuple[ProcessState, ...] = ()
    child_stacks: tuple[ThreadStack, ...] = ()
    threads: tuple[str, ...] = ("python", "pt_gloo_runloop")
    backoff: int = 0
    connected: bool = True
    own_store: bool = False
    """It has both ends of a connection to the store."""
    waits_on: str = ""
    host: str = "n1"
    age_s: float | None = None
    syscall: str = ""
    world: int | None = None
    more: dict[str, Any] = field(default_factory=dict)
    """Of HostLook."""


def look(*ranks: R, samples: int = 2, span_s: float = SPAN_S, world: int | None = None, **more: Any) -> JobLook:
    """Ranks 0, 1, ... on their hosts, all connected with each other."""
    size = world or len(ranks)
    hosts = sorted({one.host for one in ranks})
    return JobLook(hosts=tuple(_host(name, ranks, samples, span_s, size, more) for name in hosts))


def pid_of(rank: int) -> int:
    return 1000 + rank


def _host(name: str, ranks: Sequence[R], samples: int, span_s: float, size: int, more: dict[str, Any]) -> HostLook:
    here = [(number, one) for number, one in enumerate(ranks) if one.host == name]
    first = here[0][0]
    found = tuple(
        RankFound(
            host=name,
            pid=pid_of(number),
            inner_pids=(pid_of(number), 4700 + number),
            rank=number,
            world_size=size,
            local_rank=number - first,
            local_world_size=more.get("local", len(here)),
            master="10.0.0.1:29500",
            started_at_s=None if one.age_s is None else 1e9 - one.age_s,
            addresses=(f"10.0.0.{hosts_number(name)}",),
        )
        for number, one in here
    )
    taken = tuple(
        HostSample(
            at_s=100 + span_s * place / max(samples - 1, 1),
            wall_s=1e9,
            ranks=tuple(_sample(number, one, place, samples, span_s, ranks) for number, one in here),
        )
        for place in range(samples)
    )
    rest = {key: value for key, value in more.items() if key != "local"}
    own = {key: value for _, one in here for key, value in one.more.items()}
    return HostLook(host=name, ranks=found, samples=taken, **{**rest, **own})


def hosts_number(name: str) -> int:
    return int(name.removeprefix("n"))


def _sample(number: int, one: R, place: int, samples: int, span_s: float, ranks: Sequence[R]) -> RankSample:
    part = place / max(samples - 1, 1)
    last = place == samples - 1
    if one.gone and last:
        return RankSample(pid=pid_of(number), process=None)
    process = ProcessState(
        pid=pid_of(number),
        name="python",
        state=one.state,
        parent=1,
        tracer_pid=one.tracer,
        main_cpu_s=10 + one.cpu * span_s * part,
        main_voluntary_switches=None if one.switches is None else int(500 + one.switches * part),
        run_delay_s=one.delay * span_s * part,
        wchar=int(10_000 + one.wrote * part),
        write_bytes=int(5_000 + one.wrote * part),
        waits_on=one.waits_on,
        syscall=one.syscall,
        threads=one.threads,
    )
    cgroup = CgroupState(
        path="/job",
        version=2,
        frozen=one.frozen,
        throttled_s=one.throttled * span_s * part,
        oom_kills=int(one.oom * part),
    )
    return RankSample(
        pid=pid_of(number),
        process=process,
        cgroup=cgroup,
        children=one.children,
        stacks=(*_stacks(number, one, last), *one.child_stacks),
        sockets=tuple(_sockets(number, one, ranks)),
    )


def _stacks(number: int, one: R, last: bool) -> tuple[ThreadStack, ...]:
    if one.frames:
        frames = tuple(StackFrame(name=name, file=file, line=line) for name, file, line in one.frames)
        return (ThreadStack(pid=pid_of(number), name="MainThread", trains=True, frames=frames, active=False),)
    chosen = one.then if last and one.then else one.stack
    return () if chosen is None else tuple(replace(part, pid=pid_of(number)) for part in stacks(*chosen))


def _sockets(number: int, one: R, ranks: Sequence[R]) -> list[SocketSeen]:
    found = []
    if one.own_store:
        store, client = "10.0.0.1:29500", "10.0.0.1:40000"
        found += [
            SocketSeen(local=a, peer=b, state="ESTAB", last_sent_ms=3)
            for a, b in ((store, client), (client, store))
        ]
    for other, peer in enumerate(ranks):
        if other != number and one.connected and peer.connected:
            found.append(
                SocketSeen(
                    local=f"10.0.0.{hosts_number(one.host)}:{_port(number, other)}",
                    peer=f"10.0.0.{hosts_number(peer.host)}:{_port(other, number)}",
                    state="ESTAB",
                    last_sent_ms=int(one.idle_s * 1000),
                    last_received_ms=int(one.idle_s * 1000),
                    send_queue_bytes=4096 if one.backoff else 0,
                    backoff=one.backoff,
                    retransmissions=one.backoff,
                )
            )
    return found


def _port(number: int, other: int) -> int:
    return 20_000 + 100 * number + other


def loader(rank: int, *, state: str = "S", on: str = "", stack: bool = False) -> dict[str, Any]:
    """A loader worker of a rank, and its stack."""
    pid = 5000 + rank
    process = ProcessState(pid=pid, name="pt_data_worker", state=state, parent=pid_of(rank), waits_on=on)
    frames = (
        StackFrame(name="Samples.__getitem__", file=OWN_FILE, line=36),
        StackFrame(name="fetch", file="/v/site-packages/torch/utils/data/_utils/fetch.py", line=54),
        StackFrame(name="_worker_loop", file="/v/site-packages/torch/utils/data/_utils/worker.py", line=1),
        StackFrame(name="<module>", file=OWN_FILE, line=231),
    )
    taken = (ThreadStack(pid=pid, name="MainThread", trains=True, frames=frames),) if stack else ()
    return {"children": (process,), "child_stacks": taken}
