"""How long does it take to make one run of the logs of 10,000 ranks? Yardstick: json.loads of the same lines.

Simulated: 1250 nodes of 8 ranks run the default sweep, and their logs come as `kubectl logs --prefix --timestamps`
shows those of several pods, mixed by time. Once all is well; once a rank is killed at half of the way, the others
fail in the collective, and the log of node 0 ends there, so that the culprit is found from what the ranks said.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import extent
from benchmarks.startup import NCCLTOOL
from nccltool.launch import events
from nccltool.launch.events import Event, RankFacts
from nccltool.launch.printed_events import StreamEnd, Teller
from nccltool.probe import collectives, plan
from nccltool.probe.events import Result, Samples
from nccltool.probe.job import ProbeJob
from nccltool.probe.run import ProbeBegun

NODES, RANKS_OF_NODE = extent.of(1250, 4), 8
TARGET_S = 10.0
MOST_MIB = 300
VICTIM = extent.of(4321, 21)
_RUN = "20250102T030405Z-{:08x}"
_SAMPLES = 100
_BEATS_EVERY = 4


def main() -> bool:
    """Print three lines; whether the targets are met."""
    with tempfile.TemporaryDirectory() as folder:
        good = [_collected(Path(folder), killed, code) for killed, code in ((False, 0), (True, 3))]
    return all(good)


def _collected(folder: Path, killed: bool, code: int) -> bool:
    file = folder / "pods.log"
    lines = _write(file, killed)
    yardstick_s = _seconds_to_load(file)
    begin = time.perf_counter()
    argv = [NCCLTOOL, "collect", str(file), "--run-dir", str(folder / str(code)), "--format", "json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        document = json.loads(process.communicate()[0])
        seconds = time.perf_counter() - begin
    mib = _most_resident_mib()
    found = [finding["subject"]["name"] for finding in document["findings"] if finding["code"] == "rank-died"]
    right = (process.returncode, found) == (code, [str(VICTIM)] if killed else [])
    good = right and seconds <= TARGET_S and mib <= MOST_MIB
    print(
        f"{NODES * RANKS_OF_NODE} ranks, {lines} lines, {'one killed' if killed else 'all well'}: {seconds:.1f} s"
        f" (at most {TARGET_S:.0f}), {seconds / yardstick_s:.1f} of json.loads of each line; {mib:.0f} MiB"
        f" (at most {MOST_MIB}){'' if right else f'; WRONG: exit {process.returncode}, {found}'}"
        f" {'ok' if good else 'MISSED'}",
        flush=True,
    )
    return good


def _most_resident_mib() -> float:
    """Of the children that have ended: the generator and the yardstick run in this process."""
    import resource

    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _seconds_to_load(file: Path) -> float:
    begin = time.perf_counter()
    with file.open("rb") as lines:
        for line in lines:
            json.loads(line[line.index(b"{") :])
    return time.perf_counter() - begin


@dataclass
class _Node:
    rank: int
    killed: bool
    steps: tuple[plan.Step, ...]

    def stream(self) -> Iterator[Event | None]:
        """Its events; None where the other nodes' turn is."""
        ranks = range(self.rank * RANKS_OF_NODE, (self.rank + 1) * RANKS_OF_NODE)
        yield from (events.Spawned(rank=rank, node_rank=self.rank, host=self.host, pid=rank + 1) for rank in ranks)
        yield None
        yield from (events.Hello(facts=self._facts(rank)) for rank in ranks)
        yield from (events.Met(rank=rank, run_id=_RUN.format(0)) for rank in ranks if self.rank)
        if self.rank == 0:
            yield self._world()
        for number, step in enumerate(self.steps):
            yield None
            yield from (events.Enter(rank=r, step=number, op=step.op, bytes=step.layout.bytes) for r in ranks)
            if self.killed and number == len(self.steps) // 2:
                yield from self._end_of_killed(ranks)
                return
            yield from self._step(number, step, ranks)
        yield None
        yield from (events.Bye(rank=rank) for rank in ranks)
        yield from (events.Exited(rank=rank, code=0) for rank in ranks)

    @property
    def host(self) -> str:
        return f"n{self.rank:04}"

    def _step(self, number: int, step: plan.Step, ranks: range) -> Iterator[Event]:
        if number % _BEATS_EVERY == 0:
            yield from (events.Beat(rank=r, phase="timing", step=number, calls=41, state="S") for r in ranks)
        if self.rank == 0:
            yield Samples(step=number, ns=tuple(10**6 + 977 * n % 10**5 for n in range(_SAMPLES)))
            yield self._result(number, step)

    def _end_of_killed(self, ranks: range) -> Iterator[Event | None]:
        yield None
        if VICTIM in ranks:
            yield events.Exited(rank=VICTIM, code=-9)
        yield None
        for rank in ranks:
            if rank != VICTIM:
                yield events.Failed(rank=rank, in_collective=True, text="RuntimeError: Connection closed by peer")
                yield events.Exited(rank=rank, code=1)

    def _facts(self, rank: int) -> RankFacts:
        return RankFacts(
            rank=rank,
            node_rank=self.rank,
            local_rank=rank % RANKS_OF_NODE,
            world_size=NODES * RANKS_OF_NODE,
            host=self.host,
            host_id=f"boot-{self.rank} net:[1]",
            pid=rank + 1,
            python="3.11.4",
            torch="2.13.0",
            nccl="2.29.7",
            nccltool="0.1.0",
            gpu=f"GPU-{rank}",
            gpu_name="NVIDIA H200",
            host_addresses=("192.0.2.1",),
        )

    def _world(self) -> Event:
        return events.World(
            world_size=NODES * RANKS_OF_NODE,
            emulated=False,
            backend="nccl",
            backend_version="2.29.7",
            backend_reason="every rank has a GPU and NCCL",
            steps=len(self.steps),
        )

    def _result(self, number: int, step: plan.Step) -> Event:
        return Result(
            step=number,
            op=step.op,
            count=step.layout.count,
            bytes=step.layout.bytes,
            bytes_per_rank=step.layout.bytes_per_rank,
            dtype="float32",
            reduce_op="sum",
            placement=step.placement,
            cadence="stream",
            noisy=False,
            wrong=0,
        )


def _write(file: Path, killed: bool) -> int:
    """All logs in one file; how many lines."""
    job = ProbeJob(
        run_id="", ops=collectives.NAMES, nodes=NODES, nproc_per_node=RANKS_OF_NODE, endpoint="n0000:29500"
    )
    steps = plan.steps(job, "nccl", NODES * RANKS_OF_NODE)
    count = 0
    with file.open("w", buffering=2**20) as log:

        def put(text: str) -> None:
            nonlocal count
            count += 1
            log.write(f"[pod/probe-{node}-abcde/probe] 2025-01-02T03:04:05.123456789Z {text}")

        streams, tellers = {}, {}
        for node in range(NODES):
            tellers[node] = Teller(put, _RUN.format(node), node)
            tellers[node].begin(_begun(job, node))
            streams[node] = _Node(node, killed, steps).stream()
        while streams:
            for node in list(streams):
                for event in streams[node]:
                    if event is None:
                        break
                    tellers[node].tell(events.encode(event)[1:])
                else:
                    del streams[node]
                    if not (killed and node == 0):
                        ended = StreamEnd(findings=(), interrupted=False, nodes=NODES, ranks_seen=RANKS_OF_NODE)
                        tellers[node].end(ended)
    return count


def _begun(job: ProbeJob, node: int) -> ProbeBegun:
    from dataclasses import replace

    return ProbeBegun(
        job=replace(job, run_id=_RUN.format(node), node_ranks=(node,)),
        leads=node == 0,
        part=node,
        parts=NODES,
        ranks_seen=NODES * RANKS_OF_NODE if node == 0 else RANKS_OF_NODE,
        command=("nccltool", "probe", "--events"),
        started="2025-01-02T03:04:05Z",
        nccltool="0.1.0",
        torch="2.13.0",
    )
